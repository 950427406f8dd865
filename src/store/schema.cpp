#include "schema.h"

#include "../api/text.h"

namespace petstore::store {

CatalogueNames::CatalogueNames(const std::string& prefix)
    : catalogue_(prefix + ":{" + prefix + ":pets}:")
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
    return prefix() + ":key:" + api::to_hex(api::bytes_of(digest));
}

std::string Schema::account_record(std::string_view account) const
{
    return prefix() + ":account:" + std::string(account);
}

std::string Schema::account_keys(std::string_view account) const
{
    return prefix() + ":account-keys:" + std::string(account);
}

// The digest, because an external id may contain any visible character, among
// them the braces that choose a hash slot.
std::string Schema::external_id(std::string_view external_id) const
{
    return prefix() + ":external-id:"
           + api::to_hex(api::bytes_of(api::sha256(external_id)));
}

std::string Schema::admin_request(std::string_view account,
                                  const api::Digest& key) const
{
    return prefix() + ":admin-request:" + std::string(account) + ':'
           + api::to_hex(api::bytes_of(key));
}

std::string AccountNames::account(std::string_view account,
                                  const char* suffix) const
{
    std::string name;
    name.reserve(prefix_.size() + account.size() + 12);
    name.append(prefix_).append(":{").append(account).append("}:");
    return name.append(suffix);
}

std::string AccountNames::account_probe(std::string_view account) const
{
    return this->account(account, "probe");
}

std::string AccountNames::account_state(std::string_view account) const
{
    return this->account(account, "state");
}

std::string AccountNames::strikes(std::string_view account) const
{
    return this->account(account, "strikes");
}

std::string AccountNames::bans(std::string_view account) const
{
    return this->account(account, "bans");
}

// Scripts also build this name.
std::string AccountNames::usage(std::string_view account, int year,
                                int month) const
{
    std::string name = this->account(account, "usage:");
    api::append_int(name, std::int64_t{year} * 100 + month);
    return name;
}

std::string AccountNames::moving_state(std::string_view account) const
{
    return this->account(account, "moving");
}

std::optional<Schema::AccountKey>
Schema::parse_account_key(std::string_view name) const noexcept
{
    const std::size_t start = prefix().size() + 2;
    const std::size_t end = name.find("}:");
    if (end == std::string_view::npos || end < start
        || name.substr(0, prefix().size()) != prefix()
        || name.substr(prefix().size(), 2) != ":{"
        || name.substr(0, catalogue().size()) == catalogue()) {
        return std::nullopt;
    }
    return AccountKey{name.substr(start, end - start), name.substr(end + 2)};
}

std::string CatalogueNames::bucket(std::int64_t number) const
{
    return catalogue_ + "bucket:" + std::to_string(number);
}

std::string CatalogueNames::status_bitmap(api::Status status) const
{
    return catalogue_ + "status:" + std::string(api::to_string(status));
}

std::string CatalogueNames::idempotency(std::string_view account,
                                        const api::Digest& key) const
{
    return catalogue_ + "idempotency:" + std::string(account) + ":"
           + api::to_hex(api::bytes_of(key));
}

}  // namespace petstore::store
