#include "scan_tasks.h"

#include "../redis/scan.h"
#include "call.h"

namespace petstore::store {

Task<std::map<std::string, std::string>> read_hash(redis::Link& link,
                                                   const std::string& key)
{
    std::map<std::string, std::string> fields;
    auto scan = redis::Scan::of_hash(key);
    while (!scan.done()) {
        const redis::Reply& reply = co_await ask(link, scan.next());
        const redis::Reply* const entries = scan.take(reply);
        if (entries == nullptr) {
            throw damaged("unexpected reply of Redis to HSCAN");
        }
        for (std::size_t i = 0; i + 1 < entries->size(); i += 2) {
            fields.emplace((*entries)[i].text(), (*entries)[i + 1].text());
        }
    }
    co_return fields;
}

Task<std::set<std::string>> read_set(redis::Link& link, const std::string& key)
{
    std::set<std::string> members;
    auto scan = redis::Scan::of_set(key);
    while (!scan.done()) {
        const redis::Reply& reply = co_await ask(link, scan.next());
        const redis::Reply* const some = scan.take(reply);
        if (some == nullptr) {
            throw damaged("unexpected reply of Redis to SSCAN");
        }
        for (std::size_t i = 0; i < some->size(); ++i) {
            members.emplace((*some)[i].text());
        }
    }
    co_return members;
}

}  // namespace petstore::store
