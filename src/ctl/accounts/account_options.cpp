#include "account_options.h"

#include "../command_line/values.h"
#include "../exit.h"

namespace petstore::ctl {

void AccountOptions::add_to(CLI::App& command, const char* external_id_option)
{
    external_id_option_ = external_id_option;
    add_value(
        command, external_id_option, "ID", external_id,
        "The customer's id in your own system: 1 to 128 visible ASCII characters (none: remove it)");
    plan.add_to(command);
    add_value(command, "--label", "TEXT", label,
              "Text to recognise the account by");
}

void AccountOptions::check() const
{
    api::AccountRecord scratch;
    apply(scratch);
}

void AccountOptions::apply(api::AccountRecord& record) const
{
    if (external_id) {
        if (!api::is_external_id(*external_id)) {
            throw UsageError(
                std::string(external_id_option_)
                + " must be 1 to 128 visible ASCII characters, or none");
        }
        record.external_id = *external_id == "none" ? "" : *external_id;
    }
    plan.apply(record);
    if (label) {
        check_label(*label);
        record.label = *label;
    }
}

}  // namespace petstore::ctl
