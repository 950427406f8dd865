#include "pet_commands.h"

#include <memory>

#include "../../api/pet.h"
#include "../../api/text.h"
#include "../../store/pets/pet_commands.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "pet_export.h"
#include "pet_import.h"

namespace petstore::ctl {

namespace {

void set_status(Context& context, const std::string& id_text,
                const std::string& status_text)
{
    const auto id = api::parse_int64(id_text);
    if (!id || *id < 1) {
        throw UsageError("ID must be the number of a pet");
    }
    const auto status = api::parse_status(status_text);
    if (!status) {
        throw UsageError("STATUS must be available, pending or sold");
    }

    const store::PetCommands commands(context.schema());
    const auto changed = context.pets(Access::change)
                             .run(commands.set_status(*id, *status))
                             .integer();
    if (changed < 0) {
        throw Failure("there is no pet " + id_text, Failure::Kind::not_found);
    }
    if (context.json()) {
        print_json(
            {{"id", *id}, {"status", status_text}, {"changed", changed == 1}});
    } else {
        say("Pet " + id_text + (changed == 1 ? " is now " : " was already ")
            + status_text + ".");
    }
}

}  // namespace

void add_pet_commands(CLI::App& app, Action& action)
{
    CLI::App& pet = *app.add_subcommand("pet", "Pets");
    pet.require_subcommand(1);

    CLI::App* command = pet.add_subcommand(
        "import", "Create a pet for each line of a file of NDJSON");
    const auto source = std::make_shared<std::string>();
    command->add_option("FILE", *source, "- is standard input")->required();
    const auto keep_ids = std::make_shared<bool>(false);
    command->add_flag(
        "--keep-ids", *keep_ids,
        "Give the pets the ids of the file, which must ascend; the catalogue must be empty");
    command->callback([&action, source, keep_ids] {
        action = [source, keep_ids](Context& context) {
            import_pets(context, *source, *keep_ids);
        };
    });

    command =
        pet.add_subcommand("export", "Write all pets as NDJSON, ids ascending");
    const auto target = std::make_shared<std::string>("-");
    command->add_option("FILE", *target, "- is standard output")
        ->capture_default_str();
    command->callback([&action, target] {
        action = [target](Context& context) { export_pets(context, *target); };
    });

    command = pet.add_subcommand("set-status", "Change the status of a pet");
    const auto id = std::make_shared<std::string>();
    const auto status = std::make_shared<std::string>();
    command->add_option("ID", *id, "Id of the pet")->required();
    command->add_option("STATUS", *status, "available, pending or sold")
        ->required();
    command->callback([&action, id, status] {
        action = [id, status](Context& context) {
            set_status(context, *id, *status);
        };
    });
}

}  // namespace petstore::ctl
