#include "pet_batch.h"

#include "../scripts.h"
#include "record.h"

namespace petstore::store {

redis::Command PetBatch::create(const std::vector<api::NewPet>& pets) const
{
    redis::Command command(scripts::create_pets(), 5);
    command.use_script_text();
    command.key(schema_.last_pet_id())
        .key(schema_.changes())
        .key(schema_.status_bitmap(api::Status::available))
        .key(schema_.status_bitmap(api::Status::pending))
        .key(schema_.status_bitmap(api::Status::sold))
        .arg(schema_.catalogue());
    for (const api::NewPet& pet : pets) {
        command.own(encode_record(pet));
    }
    return command;
}

std::optional<PetBatch::Created> PetBatch::parse(const redis::Reply& reply,
                                                 std::size_t sent)
{
    if (reply.size() < 1 || !reply[0].is(redis::Type::integer)
        || reply[0].integer() < 0) {
        return std::nullopt;
    }
    Created created;
    created.count = static_cast<std::size_t>(reply[0].integer());
    if (reply.size() > 1) {
        created.error = reply[1].text();
    }
    const bool complete = created.error.empty();
    if (complete ? created.count != sent : created.count >= sent) {
        return std::nullopt;
    }
    return created;
}

}  // namespace petstore::store
