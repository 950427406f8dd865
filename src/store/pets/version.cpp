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

Version Version::parse(const redis::Reply& count,
                       const redis::Reply& changes) noexcept
{
    return {counter_of(count), counter_of(changes)};
}

Version Version::parse(std::string_view count,
                       std::string_view changes) noexcept
{
    return {counter_of(count), counter_of(changes)};
}

Version::Damage Version::damage() const noexcept
{
    if (count < 0 || (count == 0 && changes > 0)) {
        return Damage::count;
    }
    return changes < 0 || (count > 0 && changes == 0) ? Damage::changes
                                                      : Damage::none;
}

}  // namespace petstore::store
