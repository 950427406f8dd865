#include "version.h"

#include "../../api/text.h"

namespace petstore::store {

namespace {

std::int64_t counter_of(std::string_view value) noexcept
{
    const auto number = api::parse_int64(value);
    return number && *number >= 0 ? *number : -1;
}

std::int64_t counter_of(const redis::Reply& value) noexcept
{
    return value.is(redis::Type::nil) ? 0 : counter_of(value.text());
}

}  // namespace

Version Version::parse(const redis::Reply& last_id,
                       const redis::Reply& changes) noexcept
{
    return {counter_of(last_id), counter_of(changes)};
}

Version Version::parse(std::string_view last_id,
                       std::string_view changes) noexcept
{
    return {counter_of(last_id), counter_of(changes)};
}

Version::Damage Version::damage() const noexcept
{
    if (last_id < 0 || (last_id == 0 && changes > 0)) {
        return Damage::last_id;
    }
    return changes < 0 || (last_id > 0 && changes == 0) ? Damage::changes
                                                        : Damage::none;
}

}  // namespace petstore::store
