#include "schema.h"

#include <utility>

#include "../api/text.h"

namespace petstore::store {

Schema::Schema(std::string prefix)
    : prefix_(std::move(prefix)),
      catalogue_(prefix_ + ":{" + prefix_ + ":pets}:")
{}

const char* Schema::prefix_problem(std::string_view prefix) noexcept
{
    constexpr std::size_t kMaxPrefix = 32;
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    if (prefix.empty() || prefix.size() > kMaxPrefix) {
        return "must have 1 to 32 characters";
    }
    if (prefix.find_first_not_of(kAllowed) != std::string_view::npos) {
        return "must consist of letters, digits, \"_\", \"-\" and \".\"";
    }
    return nullptr;
}

std::string Schema::key_record(const api::Digest& digest) const
{
    return prefix_ + ":key:" + api::to_hex(api::bytes_of(digest));
}

std::string Schema::key_index() const
{
    return prefix_ + ":keys";
}

// Scripts also build this name, from that of an account's key.
std::string Schema::limits() const
{
    return prefix_ + ":limits";
}

bool Schema::limits_elsewhere(std::string_view value) noexcept
{
    constexpr std::string_view kElsewhere = "elsewhere";
    return value.substr(0, kElsewhere.size()) == kElsewhere;
}

std::string Schema::limits_probe() const
{
    return prefix_ + ":limits-probe";
}

std::string Schema::account(std::string_view account, const char* suffix) const
{
    std::string name;
    name.reserve(prefix_.size() + account.size() + 12);
    name.append(prefix_).append(":{").append(account).append("}:");
    return name.append(suffix);
}

std::string Schema::account_probe(std::string_view account) const
{
    return this->account(account, "probe");
}

std::string Schema::catalogue_probe() const
{
    return catalogue_ + "probe";
}

std::string Schema::account_state(std::string_view account) const
{
    return this->account(account, "state");
}

std::string Schema::strikes(std::string_view account) const
{
    return this->account(account, "strikes");
}

std::string Schema::bans(std::string_view account) const
{
    return this->account(account, "bans");
}

std::string Schema::moving_state(std::string_view account) const
{
    return this->account(account, "moving");
}

std::string Schema::account_pattern() const
{
    return prefix_ + ":{*}:*";
}

std::optional<Schema::AccountKey>
Schema::parse_account_key(std::string_view name) const noexcept
{
    const std::size_t start = prefix_.size() + 2;
    const std::size_t end = name.find("}:");
    if (end == std::string_view::npos || end < start
        || name.substr(0, prefix_.size()) != prefix_
        || name.substr(prefix_.size(), 2) != ":{"
        || name.substr(0, catalogue_.size()) == catalogue_) {
        return std::nullopt;
    }
    return AccountKey{name.substr(start, end - start), name.substr(end + 2)};
}

std::string Schema::last_pet_id() const
{
    return catalogue_ + "last-id";
}

std::string Schema::changes() const
{
    return catalogue_ + "changes";
}

std::string Schema::change_log() const
{
    return catalogue_ + "change-log";
}

std::string Schema::bucket(std::int64_t number) const
{
    return catalogue_ + "bucket:" + std::to_string(number);
}

std::string Schema::status_bitmap(api::Status status) const
{
    return catalogue_ + "status:" + std::string(api::to_string(status));
}

std::string Schema::idempotency(std::string_view account,
                                const api::Digest& key) const
{
    return catalogue_ + "idempotency:" + std::string(account) + ":"
           + api::to_hex(api::bytes_of(key));
}

}  // namespace petstore::store
