// "1 <request> pending <attempt> <id> <account>" or
// "1 <request> done <status> <location> <body>", where "-" is no location.
#include "admin_claim.h"

#include <algorithm>

#include "../api/key.h"
#include "../api/text.h"

namespace petstore::store {

namespace {

constexpr std::string_view kVersion = "1";
constexpr std::size_t kDigestHex = 64;

std::string_view take_word(std::string_view& text)
{
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return word;
}

}  // namespace

std::string claim_text(const AdminClaim& claim)
{
    std::string text(kVersion);
    text.append(" ").append(claim.request);
    if (claim.status == 0) {
        return text.append(" pending ")
            .append(claim.attempt)
            .append(" ")
            .append(claim.id)
            .append(" ")
            .append(claim.account);
    }
    api::append_int(text.append(" done "), claim.status);
    return text.append(" ")
        .append(claim.location.empty() ? "-" : claim.location)
        .append(" ")
        .append(claim.body);
}

std::optional<AdminClaim> parse_claim(std::string_view text)
{
    AdminClaim claim;
    if (take_word(text) != kVersion) {
        return std::nullopt;
    }
    claim.request = take_word(text);
    const std::string_view state = take_word(text);
    if (claim.request.size() != kDigestHex) {
        return std::nullopt;
    }
    if (state == "pending") {
        claim.attempt = take_word(text);
        claim.id = take_word(text);
        claim.account = take_word(text);
        const bool valid = api::is_id(claim.attempt) && api::is_id(claim.id)
                           && api::is_id(claim.account);
        return valid ? std::optional(std::move(claim)) : std::nullopt;
    }
    const auto status = api::parse_int64(take_word(text));
    if (state != "done" || !status || *status < 200 || *status > 299) {
        return std::nullopt;
    }
    claim.status = static_cast<int>(*status);
    claim.location = take_word(text);
    if (claim.location == "-") {
        claim.location.clear();
    }
    claim.body = text;
    return claim;
}

}  // namespace petstore::store
