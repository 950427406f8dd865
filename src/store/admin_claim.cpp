// "1 <request> pending <attempt> <made> <earlier>…" or
// "1 <request> done <status> <location> <body>", where "-" is no location, and
// what was made is "<id>:<account>".
#include "admin_claim.h"

#include <algorithm>

#include "../api/key.h"
#include "../api/text.h"

namespace petstore::store {

namespace {

constexpr std::string_view kVersion = "1";
constexpr std::size_t kDigestHex = 64;

std::string to_text(const AdminClaim::Made& made)
{
    return made.id + ':' + made.account;
}

bool take_made(std::string_view& text, AdminClaim::Made& made)
{
    const std::string_view word = api::take_word(text);
    const std::size_t colon = std::min(word.find(':'), word.size());
    made.id = word.substr(0, colon);
    made.account = word.substr(std::min(colon + 1, word.size()));
    return api::is_id(made.id) && api::is_id(made.account);
}

}  // namespace

std::string claim_text(const AdminClaim& claim)
{
    std::string text(kVersion);
    text.append(" ").append(claim.request);
    if (claim.status == 0) {
        text.append(" pending ").append(claim.attempt);
        text.append(" ").append(to_text(claim.made));
        for (const AdminClaim::Made& made : claim.earlier) {
            text.append(" ").append(to_text(made));
        }
        return text;
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
    if (api::take_word(text) != kVersion) {
        return std::nullopt;
    }
    claim.request = api::take_word(text);
    const std::string_view state = api::take_word(text);
    if (claim.request.size() != kDigestHex) {
        return std::nullopt;
    }
    if (state == "pending") {
        claim.attempt = api::take_word(text);
        bool valid = api::is_id(claim.attempt) && take_made(text, claim.made);
        while (valid && !text.empty()) {
            valid = take_made(text, claim.earlier.emplace_back());
        }
        return valid ? std::optional(std::move(claim)) : std::nullopt;
    }
    const auto status = api::parse_int64(api::take_word(text));
    if (state != "done" || !status || *status < 200 || *status > 299) {
        return std::nullopt;
    }
    claim.status = static_cast<int>(*status);
    claim.location = api::take_word(text);
    if (claim.location == "-") {
        claim.location.clear();
    }
    claim.body = text;
    return claim;
}

}  // namespace petstore::store
