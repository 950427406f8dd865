#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "../command_line/context.h"

namespace petstore::ctl {

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
