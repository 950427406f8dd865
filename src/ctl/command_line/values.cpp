#include "values.h"

#include "../../api/account.h"
#include "../../api/text.h"
#include "../exit.h"

namespace petstore::ctl {

namespace {

// Like CLI11's own checks, but with a message that may be shown.
template <class IsValid>
CLI::Option* check(CLI::Option* option, IsValid is_valid, const char* problem)
{
    return option->check([=, name = option->get_name()](
                             const std::string& value) -> std::string {
        if (!is_valid(value)) {
            throw UsageError(name + ' ' + problem);
        }
        return {};
    });
}

}  // namespace

CLI::Option* refuse_empty(CLI::Option* option)
{
    return check(
        option, [](const std::string& value) { return !value.empty(); },
        "must not be empty");
}

CLI::Option* check_external_id(CLI::Option* option)
{
    return check(option, api::is_external_id,
                 "must be 1 to 128 visible ASCII characters");
}

std::int64_t number_option(const char* name, const std::string& value,
                           std::int64_t most, const char* others)
{
    const auto number = api::parse_int64(value);
    if (!number || *number < 1 || *number > most) {
        throw UsageError(std::string(name) + " must be a number from 1 to "
                         + std::to_string(most) + others);
    }
    return *number;
}

}  // namespace petstore::ctl
