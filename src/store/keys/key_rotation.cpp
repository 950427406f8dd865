#include "key_rotation.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "../../api/text.h"

namespace petstore::store {

namespace {

struct Successor {
    std::string id;
    api::Digest digest;
};

std::string to_text(const StoredKey& key)
{
    return key.record.id + ':' + api::to_hex(api::bytes_of(key.digest));
}

std::vector<Successor> parse_successors(std::string_view successors)
{
    std::vector<Successor> parsed;
    while (!successors.empty()) {
        const std::string_view one = successors.substr(0, successors.find(' '));
        successors.remove_prefix(std::min(successors.size(), one.size() + 1));
        const std::size_t colon = one.find(':');
        if (colon != std::string_view::npos) {
            if (const auto digest = api::digest_of_hex(one.substr(colon + 1))) {
                parsed.push_back({std::string(one.substr(0, colon)), *digest});
            }
        }
    }
    return parsed;
}

// The steps of a rotation of the key `id` to the key `next_key`.
class RotationSteps : public KeySteps {
protected:
    RotationSteps(const KeyServers& servers, const std::string& id,
                  StoredKey next_key)
        : KeySteps(servers), id_(id), new_(std::move(next_key))
    {}

    // The old key, if it is still claimed for the new one.
    void find_claimed(ThenOptional next)
    {
        find_optional(
            id_, [this, next = std::move(next)](std::optional<StoredKey> old) {
                const bool claimed =
                    old
                    && old->successors.substr(0, old->successors.find(' '))
                           == to_text(new_);
                next(claimed ? std::move(old) : std::nullopt);
            });
    }

    void discard_new(Then next)
    {
        discard(new_.record.id, new_.digest, std::move(next));
    }

    void displaced()
    {
        discard_new([this] {
            refuse(Refusal::overtaken, api::ErrorCode::bad_request,
                   "key " + id_ + " was rotated or deleted by another command");
        });
    }

    const std::string id_;
    StoredKey new_;
    StoredKey old_;
};

class Begin final : public Operation<RotationSteps, std::optional<StoredKey>> {
public:
    Begin(Waiter<std::optional<StoredKey>>& waiter, const KeyServers& servers,
          const std::string& id, StoredKey next, const Clock& clock,
          KeyRotation::Watched& watched)
        : Operation(waiter, servers, id, std::move(next)), clock_(clock),
          watched_(watched), fresh_(new_.record)
    {}

private:
    void start() override
    {
        find_or_refuse(id_, [this](StoredKey old) {
            old_ = std::move(old);
            check();
        });
    }

    void check()
    {
        const api::KeyRecord& record = old_.record;
        if (!record.replaced_by.empty()) {
            // The other rotation may have been interrupted before its last
            // step.
            return announce(record.account, record.epoch, [this] {
                refuse(Refusal::already_rotated, api::ErrorCode::bad_request,
                       "key " + id_ + " was rotated before: rotate key "
                           + old_.record.replaced_by + ", which replaced it");
            });
        }
        if (!record.expires) {
            return claim();
        }
        now([this](api::Millis now) {
            if (*old_.record.expires <= now / 1000) {
                return refuse(Refusal::expired, api::ErrorCode::bad_request,
                              "key " + id_ + " has expired");
            }
            claim();
        });
    }

    void claim()
    {
        const Monotonic time = clock_.monotonic();
        if (old_.successors != watched_.successors) {
            watched_ = {old_.successors, time};
        }
        if (!old_.successors.empty()
            && time - watched_.since < KeyRotation::kTakeOverAfter) {
            return finish(std::optional<StoredKey>());
        }
        new_.record = old_.record;
        new_.record.id = fresh_.id;
        new_.record.created = fresh_.created;
        new_.record.last4 = fresh_.last4;
        new_.record.epoch = 0;
        overtaken_ = parse_successors(old_.successors);
        const std::string before =
            std::exchange(old_.successors, to_text(new_));
        if (!before.empty()) {
            old_.successors += ' ' + before;
        }
        write(old_, [this](bool written) {
            written ? discard_overtaken() : start();
        });
    }

    void discard_overtaken()
    {
        if (overtaken_.empty()) {
            return store(new_, [this] { confirm(); });
        }
        const Successor other = std::move(overtaken_.front());
        overtaken_.erase(overtaken_.begin());
        discard(other.id, other.digest, [this] { discard_overtaken(); });
    }

    // A rotation that takes over the claim after this point finds the new key
    // and removes it. An earlier one could not.
    void confirm()
    {
        find_claimed([this](const std::optional<StoredKey>& old) {
            old ? finish(std::optional(std::move(new_))) : displaced();
        });
    }

    const Clock& clock_;
    KeyRotation::Watched& watched_;
    const api::KeyRecord fresh_;
    std::vector<Successor> overtaken_;
};

class Finish final : public Operation<RotationSteps, api::KeyRecord> {
public:
    Finish(Waiter<api::KeyRecord>& waiter, const KeyServers& servers,
           const std::string& id, StoredKey next, std::int64_t grace)
        : Operation(waiter, servers, id, std::move(next)), grace_(grace)
    {}

private:
    // The new key must work before the old one expires.
    void start() override
    {
        enable(new_,
               [this](bool enabled) { enabled ? end_old() : displaced(); });
    }

    void end_old()
    {
        find_claimed([this](std::optional<StoredKey> old) {
            if (!old) {
                return displaced();
            }
            old_ = std::move(*old);
            now([this](api::Millis now) { end_old(now / 1000 + grace_); });
        });
    }

    void end_old(api::UnixTime end)
    {
        api::KeyRecord& record = old_.record;
        record.expires = std::min(record.expires.value_or(end), end);
        record.replaced_by = new_.record.id;
        old_.successors.clear();
        write(old_, [this](bool written) {
            if (!written) {
                return end_old();
            }
            announce(new_.record.account, new_.record.epoch,
                     [this] { finish(std::move(old_.record)); });
        });
    }

    const std::int64_t grace_;
};

class Abandon final : public Operation<RotationSteps, Done> {
public:
    using Operation::Operation;

private:
    void start() override
    {
        discard_new([this] { release_claim(); });
    }

    void release_claim()
    {
        find_claimed([this](std::optional<StoredKey> old) {
            if (!old) {
                return finish(Done{});
            }
            old_ = std::move(*old);
            old_.successors.clear();
            write(old_, [this](bool written) {
                written ? finish(Done{}) : release_claim();
            });
        });
    }
};

}  // namespace

KeyRotation::KeyRotation(const KeyServers& servers, const Clock& clock,
                         std::string id)
    : servers_(servers), clock_(clock), id_(std::move(id))
{}

void KeyRotation::begin(StoredKey next,
                        Waiter<std::optional<StoredKey>>& waiter)
{
    run<Begin>(running_, waiter, servers_, id_, std::move(next), clock_,
               watched_);
}

void KeyRotation::finish(StoredKey next, std::int64_t grace,
                         Waiter<api::KeyRecord>& waiter)
{
    run<Finish>(running_, waiter, servers_, id_, std::move(next), grace);
}

void KeyRotation::abandon(StoredKey next, Waiter<Done>& waiter)
{
    run<Abandon>(running_, waiter, servers_, id_, std::move(next));
}

}  // namespace petstore::store
