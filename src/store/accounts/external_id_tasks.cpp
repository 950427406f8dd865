#include "external_id_tasks.h"

#include <utility>

#include "../scripts.h"
#include "account_tasks.h"

namespace petstore::store {

Failed external_id_taken()
{
    return refused(Refusal::external_id_taken, api::ErrorCode::bad_request,
                   "another account has this external id");
}

namespace {

// Whether the account that a claim names has the external id.
Task<bool> has_external_id(const StoreLinks& links, const std::string& account,
                           const std::string& external_id)
{
    const auto record = co_await read_account(links, account);
    co_return record && record->deleted == 0
        && record->external_id == external_id;
}

Task<bool> replace_owner(const StoreLinks& links,
                         const std::string& external_id,
                         const std::string& from, const std::string& to)
{
    redis::Command command(scripts().compare_and_set, 1);
    command.key(links.schema.external_id(external_id)).own(from).own(to);
    const redis::Reply& reply = co_await change(links.main, std::move(command));
    co_return reply.integer() == 1;
}

}  // namespace

Task<std::string> read_claim(const StoreLinks& links,
                             const std::string& external_id)
{
    const std::string key = links.schema.external_id(external_id);
    const redis::Reply& reply = co_await ask(links.main, get_command(key));
    std::string account(reply.text());
    if (!account.empty() && !api::is_id(account)) {
        throw damaged_redis_key({key});
    }
    co_return account;
}

Task<> claim_external_id(const StoreLinks& links,
                         const std::string& external_id,
                         const std::string& account)
{
    Rounds rounds;
    for (bool claimed = false; !claimed; rounds.next()) {
        const std::string other = co_await read_claim(links, external_id);
        if (other == account) {
            co_return;
        }
        if (!other.empty()) {
            const bool taken =
                co_await has_external_id(links, other, external_id);
            if (taken) {
                throw external_id_taken();
            }
        }
        claimed = co_await replace_owner(links, external_id, other, account);
        if (!claimed || other.empty()) {
            continue;
        }
        // The other account's record may have been written meanwhile.
        const bool taken = co_await has_external_id(links, other, external_id);
        if (taken) {
            co_await replace_owner(links, external_id, account, other);
            throw external_id_taken();
        }
    }
}

Task<bool> confirm_external_id(const StoreLinks& links,
                               const std::string& external_id,
                               const std::string& account)
{
    try {
        co_await claim_external_id(links, external_id, account);
    } catch (const Failed& failed) {
        if (failed.failure.refusal != Refusal::external_id_taken) {
            throw;
        }
        co_return false;
    }
    co_return true;
}

Task<> release_external_id(const StoreLinks& links,
                           const std::string& external_id,
                           const std::string& account)
{
    co_await replace_owner(links, external_id, account, "");
}

}  // namespace petstore::store
