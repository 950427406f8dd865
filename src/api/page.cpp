#include "page.h"

#include <utility>

#include "cursor.h"
#include "text.h"

namespace petstore::api {
namespace {

constexpr char kCursorVersion = 1;
constexpr char kNoFilter = '*';
constexpr std::size_t kCursorBytes = 10;  // version, filter, id

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
    const auto bytes = unseal(text);
    if (!bytes || bytes->size() != kCursorBytes
        || bytes->front() != kCursorVersion) {
        return std::nullopt;
    }
    const Cursor cursor{
        static_cast<PetId>(big_endian(std::string_view(*bytes).substr(2))),
        (*bytes)[1]};
    return cursor.after > 0 ? std::optional(cursor) : std::nullopt;
}

}  // namespace

std::variant<ListQuery, Error> parse_list_query(std::string_view query)
{
    ListQuery result;
    if (query.empty()) {
        return result;
    }

    QueryParameter limit{"limit"};
    QueryParameter status{"status"};
    QueryParameter cursor{"cursor"};
    if (auto error = read_query(query, {&limit, &status, &cursor})) {
        return std::move(*error);
    }
    if (auto error = read_limit(limit, result.limit)) {
        return std::move(*error);
    }
    if (status.value) {
        result.status = parse_status(*status.value);
        if (!result.status) {
            return invalid_parameter(status.name,
                                     "must be available, pending or sold");
        }
    }
    if (cursor.value) {
        const auto decoded = decode_cursor(*cursor.value);
        if (!decoded) {
            return invalid_parameter(cursor.name,
                                     "must be one from a Link header");
        }
        if (decoded->filter != filter_letter(result.status)) {
            return invalid_parameter(cursor.name,
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
    return seal(std::move(bytes));
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
