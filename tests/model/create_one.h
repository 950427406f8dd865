#pragma once

#include "as_text.h"
#include "store/pets/pet_batch.h"

// Creates a pet in a separate call.
inline petstore::redis::Command
create_one(const petstore::store::Schema& schema,
           const petstore::api::NewPet& pet)
{
    petstore::store::PetBatch batch(schema);
    batch.add(pet);
    return as_text(batch.create()).owned();
}

inline petstore::store::CreatedPets::Created
created_one(const petstore::redis::Reply& reply)
{
    return petstore::store::CreatedPets(reply, 1, false).next();
}
