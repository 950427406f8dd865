#include "page.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "text.h"

namespace petstore::api {
namespace {

constexpr char kCursorVersion = 1;
constexpr char kNoFilter = '*';
constexpr std::size_t kCursorPayload = 10;  // version, filter, id
constexpr std::size_t kCursorBytes = kCursorPayload + 4;
constexpr std::size_t kCursorText = (kCursorBytes * 4 + 2) / 3;

void append_big_endian(std::string& out, std::uint64_t value, int bytes)
{
    while (bytes-- > 0) {
        out.push_back(static_cast<char>(value >> (bytes * 8) & 0xFF));
    }
}

std::uint64_t big_endian(std::string_view bytes) noexcept
{
    std::uint64_t value = 0;
    for (const char c : bytes) {
        value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
}

std::uint64_t crc_of(std::string_view bytes) noexcept
{
    return crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
                 static_cast<uInt>(bytes.size()));
}

char filter_letter(std::optional<Status> status) noexcept
{
    return status ? static_cast<char>(*status) : kNoFilter;
}

struct Cursor {
    PetId after;
    char filter;
};

std::optional<Cursor> decode_cursor(std::string_view text)
{
    if (text.size() != kCursorText) {
        return std::nullopt;
    }
    const auto decoded = base64url_decode(text);
    if (!decoded) {
        return std::nullopt;
    }
    const std::string_view bytes = *decoded;
    const std::string_view payload = bytes.substr(0, kCursorPayload);
    const Cursor cursor{static_cast<PetId>(big_endian(payload.substr(2))),
                        payload[1]};
    const bool valid =
        payload[0] == kCursorVersion && cursor.after > 0
        && big_endian(bytes.substr(kCursorPayload)) == crc_of(payload);
    return valid ? std::optional(cursor) : std::nullopt;
}

Error invalid(std::string_view name, std::string_view problem)
{
    std::string message(name);
    message.append(" ").append(problem).append(".");
    return {ErrorCode::invalid_parameter, std::move(message)};
}

struct Parameter {
    std::string_view name;
    std::optional<std::string> value{};
};

}  // namespace

std::variant<ListQuery, Error> parse_list_query(std::string_view query)
{
    ListQuery result;
    if (query.empty()) {
        return result;
    }

    Parameter limit{"limit"};
    Parameter status{"status"};
    Parameter cursor{"cursor"};
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        const std::size_t equals = std::min(pair.find('='), pair.size());
        const auto name = form_decode(pair.substr(0, equals));
        for (Parameter* known : {&limit, &status, &cursor}) {
            if (name != known->name) {
                continue;
            }
            if (known->value) {
                return invalid(known->name, "must not be given twice");
            }
            known->value =
                form_decode(pair.substr(std::min(equals + 1, pair.size())));
            if (!known->value) {
                return invalid(known->name, "is not correctly encoded");
            }
        }
    }

    if (limit.value) {
        const auto number = parse_int64(*limit.value);
        if (!number || *number < 1 || *number > kMaxPageLimit) {
            return invalid(limit.name, "must be an integer from 1 to 100");
        }
        result.limit = static_cast<int>(*number);
    }
    if (status.value) {
        result.status = parse_status(*status.value);
        if (!result.status) {
            return invalid(status.name, "must be available, pending or sold");
        }
    }
    if (cursor.value) {
        const auto decoded = decode_cursor(*cursor.value);
        if (!decoded) {
            return invalid(cursor.name, "must be one from a Link header");
        }
        if (decoded->filter != filter_letter(result.status)) {
            return invalid(cursor.name,
                           "belongs to a list with another status");
        }
        result.after = decoded->after;
    }
    return result;
}

std::string encode_cursor(PetId after, std::optional<Status> status)
{
    std::string bytes{kCursorVersion, filter_letter(status)};
    append_big_endian(bytes, static_cast<std::uint64_t>(after), 8);
    append_big_endian(bytes, crc_of(bytes), 4);
    return base64url_encode(bytes);
}

std::string page_links(std::string_view base, const ListQuery& query,
                       PetId last)
{
    std::string out;
    out.reserve(2 * base.size() + 160);
    out.append("<").append(base).append("/pets?limit=");
    append_int(out, query.limit);
    if (query.status) {
        out.append("&status=").append(to_string(*query.status));
    }
    const std::size_t first = out.size();
    out.append("&cursor=").append(encode_cursor(last, query.status));
    out.append(">; rel=\"next\", ");
    out.append(out, 0, first).append(">; rel=\"first\"");
    return out;
}

}  // namespace petstore::api
