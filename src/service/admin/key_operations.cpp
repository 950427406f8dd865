#include <map>
#include <utility>

#include "../../api/administration_json.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/keys/key_administration.h"
#include "../../store/keys/key_rotation.h"
#include "../../store/result.h"
#include "admin_operations.h"

namespace petstore::service {

namespace {

using Accounts = std::map<std::string, api::AccountRecord>;

// A key of an account that does not exist any more shows an empty one.
store::Task<> read_account(const AdminStore& store, const std::string& id,
                           api::AccountRecord& account)
{
    const store::AccountName name = with_id(id);
    auto found = co_await if_any(find_account(store, name),
                                 store::Refusal::account_not_found);
    if (found) {
        account = std::move(*found);
    }
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
    api::AccountRecord account;
    co_await read_account(store, key.record.account, account);
    co_return object_of(key, account, now, secret);
}

AdminTask created(const AdminStore& store, const store::StoredKey& key,
                  api::UnixTime now, std::string_view secret)
{
    AdminAnswer answer;
    answer.status = 201;
    answer.body = co_await confirmed(key_object(store, key, now, secret));
    answer.location = "/keys/" + key.record.id;
    co_return answer;
}

store::Task<> append_keys(const AdminStore& store,
                          const std::vector<store::StoredKey>& keys,
                          AdminAnswer& list)
{
    Accounts accounts;
    for (const store::StoredKey& key : keys) {
        accounts.try_emplace(key.record.account);
    }
    const auto read_one = [&](const auto& entry) {
        return read_account(store, entry.first, accounts[entry.first]);
    };
    co_await store::ForEach(accounts, store::KeyListing::kAtOnce, read_one);
    const api::UnixTime now = co_await now_of(store);
    for (const store::StoredKey& key : keys) {
        append(list, object_of(key, accounts[key.record.account], now, {}));
    }
}

// By its digest there is at most one.
store::Task<std::vector<store::StoredKey>> find_by_digest(const AdminCall& call,
                                                          AdminStore& store)
{
    store::KeyAdministration keys(store.servers);
    store::Result<std::optional<store::StoredKey>> found;
    keys.find(*call.query.sha256, found);
    auto key = co_await found;
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
    const store::AccountName name = with_external_id(query.external_id);
    const auto account = co_await if_any(find_account(store, name),
                                         store::Refusal::account_not_found);
    co_return account && (query.account.empty() || query.account == account->id)
        ? std::optional(account->id)
        : std::nullopt;
}

// The account that the body of a new key names; nullopt for a new one.
store::Task<store::KeyAdministration::Owner>
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
    auto found = co_await if_any(find_account(store, name),
                                 store::Refusal::account_not_found);
    if (!found) {
        throw invalid(
            {api::ErrorCode::invalid_field,
             body.account
                 ? "account must be the id of an existing account."
                 : "external_id must be that of an existing account."});
    }
    account = std::move(*found);
    name.id = account.id;
    co_return name;
}

store::KeyAdministration::Change disable()
{
    return [](api::KeyRecord& record) -> std::optional<store::Failure> {
        record.disabled = true;
        return std::nullopt;
    };
}

// Waits while another rotation has a claim.
store::Task<store::StoredKey> begin_rotation(AdminStore& store,
                                             store::KeyRotation& rotation,
                                             const store::StoredKey& next)
{
    for (;;) {
        store::Result<std::optional<store::StoredKey>> begun;
        rotation.begin(next, begun);
        auto key = co_await begun;
        if (key) {
            co_return std::move(*key);
        }
        store::Result<store::Done> pause;
        store.pauses.add(pause);
        co_await pause;
    }
}

}  // namespace

AdminTask list_keys(const AdminCall& call, AdminStore& store)
{
    AdminAnswer answer = empty_list();
    const auto account = co_await account_of_list(call, store);
    std::vector<store::StoredKey> found;
    if (account && call.query.sha256) {
        found = co_await find_by_digest(call, store);
        std::erase_if(found, [&](const store::StoredKey& key) {
            return !account->empty() && key.record.account != *account;
        });
    } else if (account) {
        store::KeyAdministration keys(store.servers);
        store::Result<store::KeyPage> listed;
        keys.list(*account, call.query.place,
                  static_cast<std::size_t>(call.query.limit), listed);
        store::KeyPage page = co_await listed;
        found = std::move(page.listing.keys);
        link_to(page.next, call, answer);
    }
    co_await append_keys(store, found, answer);
    co_return answer;
}

// The secret of a key that an earlier attempt has made is lost.
AdminTask create_key(const AdminCall& call, AdminStore& store,
                     const Attempt& attempt)
{
    std::optional<store::StoredKey> made;
    if (attempt.repeated) {
        made = co_await find_made_key(store, attempt.id);
    }
    store::StoredKey key;
    api::KeyRecord& record = key.record;
    const api::UnixTime now = co_await now_of(store);
    record.id = attempt.id;
    record.created = now;
    if (auto error = call.body.apply(record, now)) {
        throw invalid(std::move(*error));
    }
    const bool disabled = record.disabled;
    api::AccountRecord account;
    auto owner = co_await owner_of(call, store, account);
    co_await check_plan(call, store, record, account);
    record.account = owner ? owner->id : attempt.account;
    std::string secret;
    if (made) {
        key = *made;
    } else if (call.body.sha256) {
        key.digest = *call.body.sha256;
    } else {
        secret = store::give_secret(key, store.schema.prefix());
    }
    store::KeyAdministration keys(store.servers);
    if (!made || made->unfinished) {
        store::Result<store::StoredKey> added;
        keys.add(key, owner, added);
        key = co_await added;
    }
    if (disabled) {
        store::Result<api::KeyRecord> updated;
        keys.update(key.record.id, disable(), updated);
        key.record = co_await updated;
    }
    co_return co_await created(store, key, now, secret);
}

AdminTask get_key(const AdminCall& call, AdminStore& store)
{
    const store::StoredKey key = co_await find_key(store, call.id);
    const api::UnixTime now = co_await now_of(store);
    AdminAnswer answer;
    answer.body = co_await key_object(store, key, now, "");
    co_return answer;
}

AdminTask update_key(const AdminCall& call, AdminStore& store)
{
    if (call.id == call.key) {
        throw own_key();
    }
    store::StoredKey key = co_await find_key(store, call.id);
    const api::UnixTime now = co_await now_of(store);
    if (auto error = call.body.apply(key.record, now)) {
        throw invalid(std::move(*error));
    }
    api::AccountRecord account;
    co_await read_account(store, key.record.account, account);
    co_await check_plan(call, store, key.record, account);
    store::KeyAdministration keys(store.servers);
    store::Result<api::KeyRecord> updated;
    keys.update(
        call.id,
        [&call, now](api::KeyRecord& record) -> std::optional<store::Failure> {
            static_cast<void>(call.body.apply(record, now));  // as above
            return std::nullopt;
        },
        updated);
    key.record = co_await updated;
    key.unfinished = false;
    AdminAnswer answer;
    answer.body = co_await confirmed(key_object(store, key, now, ""));
    co_return answer;
}

AdminTask delete_key(const AdminCall& call, AdminStore& store)
{
    if (call.id == call.key) {
        throw own_key();
    }
    store::KeyAdministration keys(store.servers);
    store::Result<store::Done> removed;
    keys.remove(call.id, removed);
    co_await removed;
    co_return no_content();
}

AdminTask rotate_key(const AdminCall& call, AdminStore& store,
                     const Attempt& attempt)
{
    std::optional<store::StoredKey> made;
    if (attempt.repeated) {
        made = co_await find_made_key(store, attempt.id);
    }
    const api::UnixTime now = co_await now_of(store);
    if (made && !made->unfinished) {
        const auto old = co_await find_made_key(store, call.id);
        if (!old) {
            co_return co_await created(store, *made, now,
                                       "");  // and deleted since
        }
    }
    store::KeyRotation rotation(store.servers, store.clock, call.id);
    store::StoredKey next;
    std::string secret;
    if (made) {
        next = std::move(*made);
    } else {
        next.record.id = attempt.id;
        next.record.created = now;
        secret = store::give_secret(next, store.schema.prefix());
        next = co_await begin_rotation(store, rotation, next);
    }
    store::Result<api::KeyRecord> finished;
    rotation.finish(next, call.body.grace_seconds, finished);
    co_await finished;
    if (next.unfinished) {
        next.record.disabled = false;
        next.unfinished = false;
    }
    co_return co_await created(store, next, now, secret);
}

}  // namespace petstore::service
