#include "admin_claim_tasks.h"

#include <utility>

#include "scripts.h"

namespace petstore::store {

namespace {

constexpr std::int64_t kKeepMillis = std::int64_t{24} * 60 * 60 * 1000;

Task<bool> replace(redis::Link& link, const std::string& key,
                   const std::string& seen, const std::string& next)
{
    redis::Command command(scripts().compare_and_set, 1);
    command.key(key).own(seen).own(next);
    const redis::Reply& reply = co_await change(link, std::move(command));
    co_return reply.integer() == 1;
}

std::optional<AdminClaim> claim_of(const redis::Reply& reply,
                                   const std::string& key)
{
    if (reply.is(redis::Type::nil)) {
        return std::nullopt;
    }
    auto claim = parse_claim(reply.text());
    if (!claim) {
        throw damaged_redis_key({key});
    }
    return claim;
}

}  // namespace

Task<std::optional<AdminClaim>> find_claim(redis::Link& link,
                                           const std::string& key)
{
    redis::Command command("GET");
    command.key(key);
    co_return claim_of(co_await ask(link, std::move(command)), key);
}

// SET with NX and GET, since Redis 7.0, is one atomic step without a script.
Task<std::optional<AdminClaim>> claim_request(redis::Link& link,
                                              const std::string& key,
                                              const AdminClaim& claim)
{
    redis::Command command("SET");
    command.key(key)
        .own(claim_text(claim))
        .arg("NX")
        .arg("GET")
        .arg("PX")
        .arg(kKeepMillis);
    co_return claim_of(co_await change(link, std::move(command)), key);
}

Task<bool> replace_claim(redis::Link& link, const std::string& key,
                         const AdminClaim& seen, const AdminClaim& next)
{
    const std::string before = claim_text(seen);
    const std::string after = claim_text(next);
    co_return co_await replace(link, key, before, after);
}

Task<bool> remove_claim(redis::Link& link, const std::string& key,
                        const AdminClaim& seen)
{
    const std::string before = claim_text(seen);
    co_return co_await replace(link, key, before, "");
}

}  // namespace petstore::store
