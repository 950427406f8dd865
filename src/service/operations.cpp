// Which class handles an operation. docs/architecture.md, "A new operation",
// lists all places that a new one needs.
#include <stdexcept>

#include "create_pet.h"
#include "pet_read.h"

namespace petstore::service {

void make_handler(api::Operation operation, ApiRequest& request,
                  HandlerSlot& slot)
{
    switch (operation) {
    case api::Operation::list_pets:
        return slot.emplace<PetRead>(request, page_of);
    case api::Operation::create_pet:
        return slot.emplace<CreatePet>(request);
    case api::Operation::get_pet:
        return slot.emplace<PetRead>(request, pet_of);
    default:
        throw std::logic_error("no handler of this operation");
    }
}

}  // namespace petstore::service
