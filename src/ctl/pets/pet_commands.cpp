#include "pet_commands.h"

#include "../../api/pet.h"
#include "../../api/text.h"
#include "../../store/pets/pet_commands.h"
#include "../command_line/commands.h"
#include "../exit.h"
#include "../terminal/output.h"

namespace petstore::ctl {

namespace {

struct StatusChange {
    std::string id;
    std::string status;

    void add_to(CLI::App& command)
    {
        command.add_option("ID", id, "Id of the pet")->required();
        command.add_option("STATUS", status, "available, pending or sold")
            ->required();
    }
};

void set_status(Context& context, const StatusChange& change)
{
    const auto& [id_text, status_text] = change;
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
    report(context.json(),
           {{"id", *id}, {"status", status_text}, {"changed", changed == 1}},
           "Pet " + id_text + (changed == 1 ? " is now " : " was already ")
               + status_text + ".");
}

}  // namespace

void add_pet_commands(CLI::App& app, Action& action)
{
    CLI::App& pet = add_group(app, "pet", "Pets");
    add_command(pet, "import", "Create a pet for each line of a file of NDJSON",
                action, import_pets);
    add_command(pet, "export", "Write all pets as NDJSON, ids ascending",
                action, export_pets);
    add_command(pet, "set-status", "Change the status of a pet", action,
                set_status);
}

}  // namespace petstore::ctl
