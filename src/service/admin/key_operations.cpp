#include <map>
#include <utility>

#include "../../api/administration_json.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/accounts/account_tasks.h"
#include "../../store/keys/key_administration.h"
#include "../../store/keys/key_rotation.h"
#include "admin_operations.h"

namespace petstore::service {

namespace {

// By their ids; those that are damaged have none.
using Accounts = std::map<std::string, std::optional<api::AccountRecord>>;

// A key of an account that does not exist any more shows an empty one.
store::Task<api::AccountRecord> read_account(const AdminStore& store,
                                             const std::string& id)
{
    const store::AccountName name{id, {}};
    auto found = co_await if_any(store::find_account(store.links, name),
                                 store::Refusal::account_not_found);
    co_return found ? std::move(*found) : api::AccountRecord();
}

std::string object_of(const store::StoredKey& key,
                      const api::AccountRecord& account, api::UnixTime now,
                      std::string_view secret)
{
    const api::PlanTable plans;
    const std::string_view state =
        api::key_state(key.record, key.unfinished, account, now);
    return api::key_json(key.record, account, plans, state, secret);
}

store::Task<std::string> key_object(const AdminStore& store,
                                    const store::StoredKey& key,
                                    api::UnixTime now, std::string_view secret)
{
    const auto account = co_await read_account(store, key.record.account);
    co_return object_of(key, account, now, secret);
}

// `replayed`: another attempt has made the key, and its secret is lost.
AdminTask created(const AdminStore& store, const store::StoredKey& key,
                  api::UnixTime now, std::string_view secret, bool replayed)
{
    AdminResponse response;
    response.status = 201;
    response.replayed = replayed;
    response.body = co_await confirmed(key_object(store, key, now, secret));
    response.location = "/keys/" + key.record.id;
    co_return response;
}

store::Task<> read_into(const AdminStore& store, const std::string& id,
                        std::optional<api::AccountRecord>& account)
{
    account = co_await if_any(read_account(store, id), store::Refusal::damaged);
}

// Skips keys of damaged accounts.
store::Task<> append_keys(const AdminStore& store,
                          const std::vector<store::StoredKey>& keys,
                          AdminResponse& list)
{
    Accounts accounts;
    for (const store::StoredKey& key : keys) {
        accounts.try_emplace(key.record.account);
    }
    const auto read_one = [&](const auto& entry) {
        return read_into(store, entry.first, accounts[entry.first]);
    };
    co_await store::ForEach(accounts, store::KeyListing::kAtOnce, read_one);
    const api::UnixTime now = co_await store::redis_time(store.links.accounts);
    for (const store::StoredKey& key : keys) {
        if (const auto& account = accounts[key.record.account]) {
            append(list, object_of(key, *account, now, {}));
        }
    }
}

// By its digest there is at most one.
store::Task<std::vector<store::StoredKey>> find_by_digest(const AdminCall& call,
                                                          AdminStore& store)
{
    auto key = co_await store::find_optional(store.links, *call.query.sha256);
    std::vector<store::StoredKey> all;
    if (key) {
        all.push_back(std::move(*key));
    }
    co_return all;
}

// The account that a list is of; nullopt if it does not exist, and empty for
// all.
store::Task<std::optional<std::string>> account_of_list(const AdminCall& call,
                                                        AdminStore& store)
{
    const api::AdminQuery& query = call.query;
    if (query.external_id.empty()) {
        co_return query.account.empty() || api::is_id(query.account)
            ? std::optional(query.account)
            : std::nullopt;
    }
    const store::AccountName name{{}, query.external_id};
    const auto account = co_await if_any(store::find_account(store.links, name),
                                         store::Refusal::account_not_found);
    co_return account && (query.account.empty() || query.account == account->id)
        ? std::optional(account->id)
        : std::nullopt;
}

store::Failed no_such_owner(const api::AdminBody& body)
{
    return invalid({api::ErrorCode::invalid_field,
                    body.account
                        ? "account must be the id of an existing account."
                        : "external_id must be that of an existing account."});
}

// The account that the body of a new key names; nullopt for a new one.
store::Task<std::optional<store::AccountName>>
owner_of(const AdminCall& call, const AdminStore& store,
         api::AccountRecord& account)
{
    const api::AdminBody& body = call.body;
    if (!body.account && !body.external_id) {
        co_return std::nullopt;
    }
    store::AccountName name;
    name.id = body.account.value_or("");
    name.external_id = body.external_id.value_or("");
    auto found = co_await if_any(store::find_account(store.links, name),
                                 store::Refusal::account_not_found);
    if (!found) {
        throw no_such_owner(body);
    }
    account = std::move(*found);
    name.id = account.id;
    co_return name;
}

// Gives the key its digest: that of the key that another attempt has `made`, of
// the imported one, or of a new secret. Returns that secret, else nothing.
std::string set_digest(const AdminCall& call, const AdminStore& store,
                       const std::optional<store::StoredKey>& made,
                       store::StoredKey& key)
{
    if (made) {
        key.digest = made->digest;
        key.unfinished = true;
        key.record.last4 = made->record.last4;
        return "";
    }
    if (call.body.sha256) {
        key.digest = *call.body.sha256;
        return "";
    }
    return store::give_secret(key, store.schema.prefix());
}

store::Task<store::StoredKey>
store_key(const AdminCall& call, const AdminStore& store,
          const store::StoredKey& key,
          const std::optional<store::AccountName>& owner)
{
    try {
        co_return co_await store::store_key(store.links, key, owner);
    } catch (const store::Failed& failed) {
        if (failed.failure.refusal != store::Refusal::account_not_found) {
            throw;
        }
        if (owner) {
            throw no_such_owner(call.body);
        }
        throw overtaken();  // by an attempt that removes what others made
    }
}

// Accounts that attempts have made for keys that they have not stored.
store::Task<> remove_earlier(AdminStore& store, const Attempt& attempt)
{
    for (const store::AdminClaim::Made& made : attempt.earlier) {
        const store::AccountName name{made.account, {}};
        try {
            co_await store::delete_account(store.links, name);
        } catch (const store::Failed& failed) {
            const store::Refusal refusal = failed.failure.refusal;
            if (refusal != store::Refusal::account_not_found
                && refusal != store::Refusal::account_in_use) {
                throw;
            }
        }
    }
}

// Waits while another rotation has a claim.
store::Task<store::StoredKey> begin_rotation(const AdminCall& call,
                                             AdminStore& store,
                                             const Attempt& attempt,
                                             const store::StoredKey& next)
{
    store::WatchedClaim watched;
    for (;;) {
        auto key = co_await store::begin_rotation(store.links, call.id, next,
                                                  store.clock, watched);
        if (key) {
            co_return std::move(*key);
        }
        co_await Pause(store.pauses);
        const bool gives_way = co_await is_overtaken(store, attempt);
        if (gives_way) {
            throw overtaken();
        }
    }
}

}  // namespace

AdminTask list_keys(const AdminCall& call, AdminStore& store)
{
    AdminResponse response = empty_list();
    const auto account = co_await account_of_list(call, store);
    std::vector<store::StoredKey> found;
    if (account && call.query.sha256) {
        found = co_await find_by_digest(call, store);
        std::erase_if(found, [&](const store::StoredKey& key) {
            return !account->empty() && key.record.account != *account;
        });
    } else if (account) {
        store::KeyPage page = co_await store::list_some_keys(
            store.links, *account, call.query.place,
            static_cast<std::size_t>(call.query.limit));
        if (!page.listing.unread.empty()) {
            throw unread();
        }
        found = std::move(page.listing.keys);
        link_to(page.next, call, response);
    }
    co_await append_keys(store, found, response);
    co_return response;
}

AdminTask create_key(const AdminCall& call, AdminStore& store,
                     const Attempt& attempt)
{
    co_await remove_earlier(store, attempt);
    const auto made = co_await find_made_key(call, store, attempt);
    const api::UnixTime now = co_await store::redis_time(store.links.accounts);
    if (made && !made->unfinished) {
        co_return co_await created(store, *made, now, "", true);
    }
    store::StoredKey key;
    api::KeyRecord& record = key.record;
    record.id = attempt.made.id;
    record.created = made ? made->record.created : now;
    if (auto error = call.body.apply(record, record.created)) {
        throw invalid(std::move(*error));
    }
    api::AccountRecord account;
    auto owner = co_await owner_of(call, store, account);
    co_await check_plan(call, store, record, account);
    record.account = owner ? owner->id : attempt.made.account;
    const std::string secret = set_digest(call, store, made, key);
    key = co_await store_key(call, store, key, owner);
    const bool gives_way = co_await confirmed(is_overtaken(store, attempt));
    if (gives_way) {
        co_await confirmed(store::discard_key(store.links, key));
        throw overtaken();
    }
    const auto origin = call.body.sha256 ? store::SecretOrigin::imported
                                         : store::SecretOrigin::generated;
    co_await confirmed(store::enable_key(store.links, key, origin));
    key.unfinished = false;
    co_return co_await created(store, key, now, secret, made.has_value());
}

AdminTask get_key(const AdminCall& call, AdminStore& store)
{
    const store::StoredKey key = co_await store::find_key(store.links, call.id);
    const api::UnixTime now = co_await store::redis_time(store.links.accounts);
    AdminResponse response;
    response.body = co_await key_object(store, key, now, "");
    co_return response;
}

AdminTask update_key(const AdminCall& call, AdminStore& store)
{
    if (call.id == call.caller_key_id) {
        throw own_key();
    }
    const bool names_limits = call.body.names_limits();
    for (store::Rounds rounds;; rounds.next()) {
        store::StoredKey key = co_await store::find_key(store.links, call.id);
        const api::UnixTime now =
            co_await store::redis_time(store.links.accounts);
        if (auto error = call.body.apply(key.record, now)) {
            throw invalid(std::move(*error));
        }
        api::AccountRecord account;
        if (names_limits) {
            account = co_await read_account(store, key.record.account);
            co_await check_plan(call, store, key.record, account);
        }
        const bool may_lack =
            !names_limits || lacks_numbers(key.record, account);
        const store::KeyChange change = [&](api::KeyRecord& record) {
            static_cast<void>(call.body.apply(record, now));  // as above
            if (!may_lack && lacks_numbers(record, account)) {
                throw Outdated();
            }
        };
        auto changed = co_await if_current(
            store::update_key(store.links, call.id, change));
        if (changed) {
            key.record = std::move(*changed);
            key.unfinished = false;
            AdminResponse response;
            response.body = co_await confirmed(key_object(store, key, now, ""));
            co_return response;
        }
    }
}

AdminTask delete_key(const AdminCall& call, AdminStore& store)
{
    if (call.id == call.caller_key_id) {
        throw own_key();
    }
    co_await store::remove_key(store.links, call.id);
    co_return no_content();
}

AdminTask rotate_key(const AdminCall& call, AdminStore& store,
                     const Attempt& attempt)
{
    const api::UnixTime now = co_await store::redis_time(store.links.accounts);
    store::StoredKey next;
    std::string secret;
    auto made = co_await find_made_key(call, store, attempt);
    const bool replayed = made.has_value();
    if (made && !made->unfinished) {
        const auto old = co_await store::find_optional(store.links, call.id);
        if (!old) {
            co_return co_await created(store, *made, now, "",
                                       true);  // and deleted
        }
    }
    if (made) {
        next = std::move(*made);
    } else {
        next.record.id = attempt.made.id;
        next.record.created = now;
        secret = store::give_secret(next, store.schema.prefix());
    }
    next = co_await begin_rotation(call, store, attempt, next);
    const bool gives_way = co_await confirmed(is_overtaken(store, attempt));
    if (gives_way) {
        co_await confirmed(store::abandon_rotation(store.links, call.id, next));
        throw overtaken();
    }
    co_await confirmed(store::finish_rotation(store.links, call.id, next,
                                              call.body.grace_seconds));
    next.unfinished = false;
    co_return co_await created(store, next, now, secret, replayed);
}

}  // namespace petstore::service
