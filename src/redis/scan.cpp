#include "scan.h"

#include <utility>

namespace petstore::redis {

Scan::Scan(Kind kind, std::string what) : kind_(kind), what_(std::move(what)) {}

Scan Scan::of_keys(std::string pattern)
{
    return {Kind::keys, std::move(pattern)};
}

Scan Scan::of_hash(std::string key)
{
    return {Kind::hash, std::move(key)};
}

Scan Scan::of_set(std::string key)
{
    return {Kind::set, std::move(key)};
}

Scan Scan::from(Scan scan, std::uint64_t cursor)
{
    scan.cursor_ = std::to_string(cursor);
    return scan;
}

Command Scan::next() const
{
    if (kind_ == Kind::keys) {
        Command command("SCAN");
        command.own(cursor_).arg("MATCH").own(what_).arg("COUNT").arg(kCount);
        return command;
    }
    Command command(kind_ == Kind::hash ? "HSCAN" : "SSCAN");
    command.key(what_).own(cursor_).arg("COUNT").arg(kCount);
    return command;
}

const Reply* Scan::take(const Reply& reply)
{
    const bool valid = reply.size() == 2 && reply[0].is(Type::string)
                       && !reply[0].text().empty() && reply[1].is(Type::array)
                       && (kind_ != Kind::hash || reply[1].size() % 2 == 0);
    cursor_ = valid && reply[0].text() != "0" ? reply[0].text() : "";
    return valid ? &reply[1] : nullptr;
}

}  // namespace petstore::redis
