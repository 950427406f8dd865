#include "key_rotation.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "../../api/text.h"
#include "../exit.h"

namespace petstore::ctl {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Much longer than a rotation, which takes milliseconds.
constexpr auto kTakeOverAfter = 1s;
constexpr auto kPollInterval = 50ms;

std::string to_text(const store::StoredKey& key)
{
    return key.record.id + ':' + api::to_hex(api::bytes_of(key.digest));
}

}  // namespace

std::vector<Rotation::Successor> Rotation::parse(std::string_view successors)
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

bool Rotation::is_claimed(const store::StoredKey& old,
                          const store::StoredKey& next)
{
    const std::string& all = old.successors;
    return all.substr(0, all.find(' ')) == to_text(next);
}

void Rotation::check(const store::StoredKey& old)
{
    const api::KeyRecord& record = old.record;
    if (!record.replaced_by.empty()) {
        // The other rotation may have been interrupted before its last step.
        keys_.announce(record.account, record.epoch);
        throw Failure("key " + id_ + " was rotated before: rotate key "
                      + record.replaced_by + ", which replaced it");
    }
    if (record.expires && *record.expires <= keys_.now()) {
        throw Failure("key " + id_ + " has expired: set a new --expires first");
    }
}

std::vector<Rotation::Successor> Rotation::claim(store::StoredKey& next)
{
    std::string seen;
    auto since = Clock::now();
    for (;;) {
        store::StoredKey old = keys_.find(id_);
        check(old);
        if (old.successors != seen) {
            seen = old.successors;
            since = Clock::now();
        }
        if (!seen.empty() && Clock::now() - since < kTakeOverAfter) {
            std::this_thread::sleep_for(kPollInterval);
            continue;
        }

        const api::KeyRecord fresh = std::exchange(next.record, old.record);
        next.record.id = fresh.id;
        next.record.created = fresh.created;
        next.record.last4 = fresh.last4;
        next.record.epoch = 0;
        old.successors = to_text(next) + (seen.empty() ? "" : " ") + seen;
        if (keys_.write(old)) {
            return parse(seen);
        }
        next.record = fresh;
    }
}

void Rotation::begin(store::StoredKey& next)
{
    for (const Successor& other : claim(next)) {
        keys_.discard(other.id, other.digest);
    }
    keys_.begin(next);
    // A rotation that takes over the claim after this point finds `next` and
    // removes it. An earlier one could not.
    const auto old = keys_.look(id_);
    if (!old || !is_claimed(*old, next)) {
        displaced(next);
    }
}

void Rotation::displaced(const store::StoredKey& next)
{
    keys_.discard(next.record.id, next.digest);
    throw Failure("key " + id_ + " was rotated or deleted by another command");
}

api::KeyRecord Rotation::finish(store::StoredKey& next, std::int64_t grace)
{
    // The new key must work before the old one expires.
    if (!keys_.enable(next)) {
        displaced(next);
    }
    for (;;) {
        auto old = keys_.look(id_);
        if (!old || !is_claimed(*old, next)) {
            displaced(next);
        }
        const api::UnixTime end = keys_.now() + grace;
        api::KeyRecord& record = old->record;
        record.expires = std::min(record.expires.value_or(end), end);
        record.replaced_by = next.record.id;
        old->successors.clear();
        if (keys_.write(*old)) {
            keys_.announce(next.record.account, next.record.epoch);
            return std::move(record);
        }
    }
}

void Rotation::abandon(const store::StoredKey& next)
{
    keys_.discard(next.record.id, next.digest);
    for (;;) {
        auto old = keys_.look(id_);
        if (!old || !is_claimed(*old, next)) {
            return;
        }
        old->successors.clear();
        if (keys_.write(*old)) {
            return;
        }
    }
}

}  // namespace petstore::ctl
