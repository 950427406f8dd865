#include "catch.h"

#include <string>

#include "store/pets/pet_batch.h"
#include "store/scripts.h"
#include "store_replies.h"

using namespace petstore;
using store::PetBatch;

namespace {

std::string count_and_error(long long count, const std::string& error)
{
    return array({integer(count), bulk(error)});
}

}  // namespace

TEST_CASE("a batch of pets is one script sent as text", "[store]")
{
    const store::Schema schema("shop");
    const std::vector<api::NewPet> pets = {{"Rex", 7, api::Status::sold},
                                           {"Tom", -1, api::Status::available}};
    const auto command = words(PetBatch(schema).create(pets));
    const std::vector<std::string> expected = {
        "EVAL",
        std::string(store::scripts::create_pets().text),
        "5",
        "shop:{shop:pets}:last-id",
        "shop:{shop:pets}:changes",
        "shop:{shop:pets}:status:available",
        "shop:{shop:pets}:status:pending",
        "shop:{shop:pets}:status:sold",
        "shop:{shop:pets}:",
        "s7:Rex",
        "a-1:Tom"};
    CHECK(command == expected);
    // It contains the script that creates a single pet.
    CHECK(command[1].find(store::scripts::create_pet().text)
          != std::string::npos);
}

TEST_CASE("the reply to a batch says how many pets were created", "[store]")
{
    Replies replies;
    const auto all = PetBatch::parse(replies(array({integer(3)})), 3);
    REQUIRE(all);
    CHECK(all->count == 3);
    CHECK(all->error.empty());

    const auto some =
        PetBatch::parse(replies(count_and_error(1, "DAMAGED b")), 3);
    REQUIRE(some);
    CHECK(some->count == 1);
    CHECK(some->error == "DAMAGED b");
    CHECK(PetBatch::parse(replies(count_and_error(0, "OOM")), 3)->count == 0);

    for (const auto& reply :
         {array({}), array({integer(2)}), array({integer(4)}),
          array({integer(-1)}), count_and_error(3, "DAMAGED b"),
          array({bulk("3")}), integer(3), kNil}) {
        CAPTURE(reply);
        CHECK_FALSE(PetBatch::parse(replies(reply), 3));
    }
}
