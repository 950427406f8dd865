// Which class handles an operation. docs/architecture.md, "A new operation",
// lists all places that a new one needs.
#include <stdexcept>

#include "create_pet.h"
#include "get_pet.h"
#include "list_pets.h"
#include "operation.h"

namespace petstore::service {

void make_handler(api::Operation operation, ApiRequest& request,
                  HandlerSlot& slot)
{
    switch (operation) {
    case api::Operation::list_pets:
        return slot.emplace<ListPets>(request);
    case api::Operation::create_pet:
        return slot.emplace<CreatePet>(request);
    case api::Operation::get_pet:
        return slot.emplace<GetPet>(request);
    default:
        throw std::logic_error("no handler of this operation");
    }
}

}  // namespace petstore::service
