#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "../command_line/context.h"

namespace petstore::ctl {

// The commands of `pet` that are not in pet_commands.cpp.

struct PetImport {
    std::string file;  // "-": standard input
    bool keep_ids = false;

    void add_to(CLI::App& command)
    {
        command.add_option("FILE", file, "- is standard input")->required();
        command.add_flag(
            "--keep-ids", keep_ids,
            "Give the pets the ids of the file, which must ascend; the catalogue must be empty");
    }
};

// Creates a pet for each NDJSON line of the file, in order. Accepts what
// createPet accepts, and "id", which export writes: ignores it, or with
// `keep_ids`, into an empty catalogue, gives the pet this id. Stops at the
// first invalid line, at a signal, and if Redis refuses a pet or the connection
// breaks. Reports how many pets were created.
void import_pets(Context& context, const PetImport& options);

struct PetExport {
    std::string file = "-";  // standard output

    void add_to(CLI::App& command)
    {
        command.add_option("FILE", file, "- is standard output")
            ->capture_default_str();
    }
};

// Writes all pets as NDJSON, in ascending id order.
void export_pets(Context& context, const PetExport& options);

}  // namespace petstore::ctl
