#include "values.h"

#include <string>

#include "../../api/account.h"
#include "../exit.h"

namespace petstore::ctl {

CLI::Option* refuse_empty(CLI::Option* option)
{
    return option->check(
        [name = option->get_name()](const std::string& value) -> std::string {
            if (value.empty()) {
                throw UsageError(name + " must not be empty");
            }
            return {};
        });
}

CLI::Option* check_external_id(CLI::Option* option)
{
    return option->check(
        [name = option->get_name()](const std::string& value) -> std::string {
            if (!api::is_external_id(value)) {
                throw UsageError(
                    name + " must be 1 to 128 visible ASCII characters");
            }
            return {};
        });
}

}  // namespace petstore::ctl
