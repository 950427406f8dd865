#include "version.h"

#include "../../api/text.h"

namespace petstore::store {

namespace {

std::int64_t counter_of(const redis::Reply& value) noexcept
{
    if (value.is(redis::Type::nil)) {
        return 0;
    }
    const auto number = api::parse_int64(value.text());
    return number && *number >= 0 ? *number : -1;
}

}  // namespace

Version Version::parse(const redis::Reply& last_id,
                       const redis::Reply& changes) noexcept
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
