#include "pet_batch.h"

#include "record.h"
#include "script.h"

namespace petstore::store {

resp::Command PetBatch::create(const std::vector<api::NewPet>& pets) const
{
    resp::Command command = call(scripts::create_pets(), 5, true);
    command.own(schema_.last_pet_id())
        .own(schema_.changes())
        .own(schema_.status_bitmap(api::Status::available))
        .own(schema_.status_bitmap(api::Status::pending))
        .own(schema_.status_bitmap(api::Status::sold))
        .arg(schema_.catalogue());
    for (const api::NewPet& pet : pets) {
        command.own(encode_record(pet));
    }
    return command;
}

std::optional<PetBatch::Created> PetBatch::parse(const resp::Reply& reply,
                                                 std::size_t sent)
{
    if (reply.size() < 1 || !reply[0].is(resp::Type::integer)
        || reply[0].integer() < 0) {
        return std::nullopt;
    }
    Created created;
    created.count = static_cast<std::size_t>(reply[0].integer());
    if (reply.size() > 1) {
        created.error = reply[1].text();
    }
    const bool whole = created.error.empty();
    if (whole ? created.count != sent : created.count >= sent) {
        return std::nullopt;
    }
    return created;
}

}  // namespace petstore::store
