// The first step of admission.
#include "find_key.h"

#include <algorithm>
#include <memory>
#include <string>

#include "../api/bearer.h"
#include "../api/text.h"

namespace petstore::service {

namespace {

FoundKey refused(api::KeyRefusal refusal)
{
    return {nullptr, store::RefusedKey{refusal, nullptr}};
}

}  // namespace

const SentKey& read_key(const Request& request, const Settings& settings,
                        RequestState& state)
{
    if (!state.sent_key) {
        SentKey& sent = state.sent_key.emplace();
        const std::string& name = settings.key_header;
        const auto header = name.empty() ? std::nullopt : request.header(name);
        if (header) {
            sent = {api::trimmed(header->value), name, header->repeated};
        } else {
            sent.header_name = "Authorization";
            if (const auto value = request.header("Authorization")) {
                sent.text = api::bearer_token(value->value)
                                .value_or(std::string_view());
            }
        }
    }
    return *state.sent_key;
}

FoundKey find_key(const SentKey& sent, store::Storage& storage,
                  api::Digest& digest)
{
    if (sent.repeated) {
        return refused(api::KeyRefusal::repeated);
    }
    if (sent.text.empty()) {
        return refused(api::KeyRefusal::missing);
    }
    // Look up known keys first: checking the form costs as much as the lookup.
    if (sent.text.size() <= api::kMaxKeyLength) {
        digest = api::sha256(sent.text);
        if (auto key = storage.keys.find(digest)) {
            storage.lookups.key.add(true);
            return {std::move(key), std::nullopt};
        }
    }
    if (api::key_form(sent.text, storage.schema.prefix())
        == api::KeyForm::malformed) {
        return refused(api::KeyRefusal::malformed);
    }
    const auto* known =
        storage.keys.find_refused(digest, storage.clock.monotonic());
    storage.lookups.key.add(known != nullptr);
    return known == nullptr ? FoundKey() : FoundKey{nullptr, *known};
}

FoundKey find_newer_key(const api::Digest& digest,
                        const store::Ref<store::CachedKey>& key,
                        std::int64_t epoch, store::Storage& storage)
{
    auto current = storage.keys.find(digest);
    if (current != nullptr && current != key && current->epoch >= epoch) {
        return {std::move(current), std::nullopt};
    }
    storage.keys.erase(digest, *key);
    return {};
}

store::RefusedKey forget_key(const api::Digest& digest,
                             const store::CachedKey* key,
                             store::Monotonic asked, store::Storage& storage)
{
    store::RefusedKey refused{api::KeyRefusal::unknown, nullptr};
    if (key != nullptr) {
        storage.keys.erase(digest, *key);
        refused.refusal = key->record.disabled ? api::KeyRefusal::disabled
                                               : api::KeyRefusal::expired;
        refused.id = std::make_shared<const std::string>(key->record.id());
    }
    store::Monotonic until = asked + store::KeyCache::kRefusedFor;
    if (refused.refusal == api::KeyRefusal::expired) {
        until = std::min(until, storage.redis_clock.confirmed_until(*key));
    }
    storage.keys.put_refused(digest, refused, until);
    return refused;
}

}  // namespace petstore::service
