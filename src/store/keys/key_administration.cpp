#include "key_administration.h"

#include <utility>

namespace petstore::store {

namespace {

class Find final : public Operation<KeySteps, StoredKey> {
public:
    Find(Waiter<StoredKey>& waiter, const KeyServers& servers, std::string id)
        : Operation(waiter, servers), id_(std::move(id))
    {}

private:
    void start() override
    {
        find_or_refuse(id_, [this](StoredKey key) { finish(std::move(key)); });
    }

    const std::string id_;
};

class FindByDigest final
    : public Operation<KeySteps, std::optional<StoredKey>> {
public:
    FindByDigest(Waiter<std::optional<StoredKey>>& waiter,
                 const KeyServers& servers, const api::Digest& digest)
        : Operation(waiter, servers), digest_(digest)
    {}

private:
    void start() override
    {
        find_optional(digest_, [this](std::optional<StoredKey> key) {
            finish(std::move(key));
        });
    }

    const api::Digest digest_;
};

// An operation on one key, with the key as its result.
class KeyOperation : public Operation<KeySteps, StoredKey> {
public:
    KeyOperation(Waiter<StoredKey>& waiter, const KeyServers& servers,
                 StoredKey key)
        : Operation(waiter, servers), key_(std::move(key))
    {}

protected:
    void enable_and_announce(const char* overtaken)
    {
        enable(key_, [this, overtaken](bool enabled) {
            if (!enabled) {
                return refuse(Refusal::overtaken, api::ErrorCode::bad_request,
                              overtaken);
            }
            announce(key_.record.account, key_.record.epoch,
                     [this] { finish(std::move(key_)); });
        });
    }

    StoredKey key_;
};

class Store final : public KeyOperation {
public:
    using KeyOperation::KeyOperation;

private:
    void start() override
    {
        store(key_, [this] { finish(std::move(key_)); });
    }
};

class Enable final : public KeyOperation {
public:
    using KeyOperation::KeyOperation;

private:
    void start() override
    {
        enable_and_announce("another command has changed the new key");
    }
};

class Add final : public KeyOperation {
public:
    using KeyOperation::KeyOperation;

private:
    void start() override
    {
        store(key_, [this] {
            enable_and_announce("another command is adding this key");
        });
    }
};

class Discard final : public Operation<KeySteps, Done> {
public:
    Discard(Waiter<Done>& waiter, const KeyServers& servers,
            const StoredKey& key)
        : Operation(waiter, servers), id_(key.record.id), digest_(key.digest)
    {}

private:
    void start() override
    {
        discard(id_, digest_, [this] { finish(Done{}); });
    }

    const std::string id_;
    const api::Digest digest_;
};

class Restore final : public Operation<KeySteps, bool> {
public:
    Restore(Waiter<bool>& waiter, const KeyServers& servers, StoredKey key)
        : Operation(waiter, servers), wanted_(key.record), key_(std::move(key))
    {}

private:
    void start() override
    {
        read_index(wanted_.id, [this](const auto& other) {
            if (other && *other != key_.digest) {
                return refuse(Refusal::key_exists, api::ErrorCode::bad_request,
                              "another key has the id " + wanted_.id);
            }
            find_optional(key_.digest,
                          [this](const auto& there) { compare(there); });
        });
    }

    void compare(const std::optional<StoredKey>& there)
    {
        if (there && there->record.id != wanted_.id) {
            return refuse(Refusal::key_exists, api::ErrorCode::bad_request,
                          "this key exists already, its id is "
                              + there->record.id);
        }
        if (there && !there->unfinished) {
            return finish(false);
        }
        store(key_, [this] { complete(); });
    }

    void complete()
    {
        if (key_.record.id != wanted_.id
            || key_.record.account != wanted_.account) {
            return overtaken();
        }
        key_.record.disabled = wanted_.disabled;
        key_.unfinished = false;
        write(key_, [this](bool written) {
            written ? announce(wanted_.account, key_.record.epoch,
                               [this] { finish(true); })
                    : overtaken();
        });
    }

    void overtaken()
    {
        refuse(Refusal::overtaken, api::ErrorCode::bad_request,
               "another command is adding this key");
    }

    const api::KeyRecord wanted_;
    StoredKey key_;
};

class Update final : public Operation<KeySteps, api::KeyRecord> {
public:
    Update(Waiter<api::KeyRecord>& waiter, const KeyServers& servers,
           std::string id, KeyAdministration::Change change)
        : Operation(waiter, servers), id_(std::move(id)),
          change_(std::move(change))
    {}

private:
    void start() override
    {
        find_or_refuse(id_, [this](StoredKey key) {
            key_ = std::move(key);
            apply();
        });
    }

    void apply()
    {
        if (auto failure = change_(key_.record)) {
            return finish(std::move(*failure));
        }
        key_.unfinished = false;  // the operator manages it from now on
        write(key_, [this](bool written) {
            if (!written) {
                return start();
            }
            announce(key_.record.account, key_.record.epoch,
                     [this] { finish(std::move(key_.record)); });
        });
    }

    const std::string id_;
    const KeyAdministration::Change change_;
    StoredKey key_;
};

class Remove final : public Operation<KeySteps, Done> {
public:
    Remove(Waiter<Done>& waiter, const KeyServers& servers, std::string id)
        : Operation(waiter, servers), id_(std::move(id))
    {}

private:
    void start() override
    {
        read_index(id_, [this](const auto& digest) {
            if (!digest) {
                return refuse_unknown();
            }
            must_be_repeated_if_lost();
            discard(id_, *digest, [this] { finish(Done{}); });
        });
    }

    const std::string id_;
};

}  // namespace

void KeyAdministration::find(std::string id, Waiter<StoredKey>& waiter)
{
    run<Find>(running_, waiter, servers_, std::move(id));
}

void KeyAdministration::find(const api::Digest& digest,
                             Waiter<std::optional<StoredKey>>& waiter)
{
    run<FindByDigest>(running_, waiter, servers_, digest);
}

void KeyAdministration::list(Waiter<KeyListing>& waiter)
{
    run<ListKeys>(running_, waiter, servers_);
}

void KeyAdministration::add(StoredKey key, Waiter<StoredKey>& waiter)
{
    run<Add>(running_, waiter, servers_, std::move(key));
}

void KeyAdministration::store(StoredKey key, Waiter<StoredKey>& waiter)
{
    run<Store>(running_, waiter, servers_, std::move(key));
}

void KeyAdministration::enable(StoredKey key, Waiter<StoredKey>& waiter)
{
    run<Enable>(running_, waiter, servers_, std::move(key));
}

void KeyAdministration::discard(const StoredKey& key, Waiter<Done>& waiter)
{
    run<Discard>(running_, waiter, servers_, key);
}

void KeyAdministration::restore(StoredKey key, Waiter<bool>& waiter)
{
    run<Restore>(running_, waiter, servers_, std::move(key));
}

void KeyAdministration::update(std::string id, Change change,
                               Waiter<api::KeyRecord>& waiter)
{
    run<Update>(running_, waiter, servers_, std::move(id), std::move(change));
}

void KeyAdministration::remove(std::string id, Waiter<Done>& waiter)
{
    run<Remove>(running_, waiter, servers_, std::move(id));
}

}  // namespace petstore::store
