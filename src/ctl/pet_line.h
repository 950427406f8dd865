#pragma once

#include <string_view>
#include <variant>

#include "../api/error.h"
#include "../api/pet.h"

namespace petstore::ctl {

// One line of an import: what createPet takes as its body. An `id`, as export
// writes it, is taken too and means nothing: the service assigns ids.
std::variant<api::NewPet, api::Error> parse_pet_line(std::string_view line);

}  // namespace petstore::ctl
