// The table of operations. docs/architecture.md, "A new operation", lists all
// places that a new one needs.
#include "create_pet.h"
#include "get_pet.h"
#include "list_pets.h"
#include "operation.h"

namespace petstore::service {

namespace {

template <typename Handler>
void make(ApiRequest& request, HandlerSlot& slot)
{
    slot.emplace<Handler>(request);
}

struct Entry {
    api::Operation operation;
    void (*make)(ApiRequest& request, HandlerSlot& slot);
};

constexpr Entry kOperations[] = {
    {api::Operation::list_pets, make<ListPets>},
    {api::Operation::create_pet, make<CreatePet>},
    {api::Operation::get_pet, make<GetPet>},
};

}  // namespace

void make_handler(api::Operation operation, ApiRequest& request,
                  HandlerSlot& slot)
{
    for (const Entry& entry : kOperations) {
        if (entry.operation == operation) {
            return entry.make(request, slot);
        }
    }
}

}  // namespace petstore::service
