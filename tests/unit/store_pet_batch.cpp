#include "catch.h"

#include <string>

#include "store/pets/pet_batch.h"
#include "store/scripts.h"
#include "store_replies.h"

using namespace petstore;
using store::CreatedPets;
using store::PetBatch;
using Result = CreatedPets::Created::Result;
using Words = std::vector<std::string>;

namespace {

const store::Schema kSchema("shop");
const api::NewPet kRex{"Rex", 7, api::Status::sold};
const api::NewPet kTom{"Tom", -1, api::Status::available};

store::Idempotency idempotency(unsigned char key, unsigned char body)
{
    store::Idempotency result;
    result.key.fill(key);
    result.body.fill(body);
    return result;
}

std::string error(const std::string& text)
{
    return "-" + text + "\r\n";
}

// The outcome that next() returns for each pet.
struct Outcome {
    Result result;
    api::PetId id;
    std::string error;
};
bool operator==(const Outcome& a, const Outcome& b)
{
    return a.result == b.result && a.id == b.id && a.error == b.error;
}

std::vector<Outcome> outcomes(const std::string& reply, std::size_t pets,
                              bool once)
{
    Replies replies;
    CreatedPets created(replies(reply), pets, once);
    std::vector<Outcome> all;
    for (std::size_t i = 0; i < pets; ++i) {
        const auto next = created.next();
        all.push_back({next.result, next.id,
                       next.error != nullptr ? std::string(next.error->text())
                                             : std::string()});
    }
    return all;
}

// Stands for the replication id, which only a Pipeline knows.
const std::string kAnyServer(40, '?');

}  // namespace

TEST_CASE("pet batch: one call creates all pets", "[store]")
{
    PetBatch batch(kSchema);
    batch.add(kRex);
    batch.add(kTom);
    batch.add(kRex);
    CHECK(batch.size() == 3);
    CHECK_FALSE(batch.full());
    // Each status's bitmap once, in the order of their first pets.
    CHECK(words(batch.create())
          == Words{"EVALSHA", store::scripts().create_pets.sha1, "5",
                   "shop:{shop:pets}:count", "shop:{shop:pets}:changes",
                   "shop:{shop:pets}:segments", "shop:{shop:pets}:status:sold",
                   "shop:{shop:pets}:status:available", "shop:{shop:pets}:", "",
                   "s7:Rex", "a-1:Tom", "s7:Rex", kAnyServer});
    // A durable link changes nothing: all of these write.
    CHECK(words(batch.create(true)) == words(batch.create()));
}

TEST_CASE("pet batch: pets with an Idempotency-Key bring its record", "[store]")
{
    PetBatch batch(kSchema);
    CHECK(batch.add(kRex, "a1", idempotency(0x11, 0x22)));
    CHECK(batch.add(kTom, "a2", idempotency(0x11, 0x44)));
    const std::string name = "shop:{shop:pets}:idempotency:";
    Words expected = {"EVALSHA",
                      store::scripts().create_pets.sha1,
                      "7",
                      "shop:{shop:pets}:count",
                      "shop:{shop:pets}:changes",
                      "shop:{shop:pets}:segments",
                      "shop:{shop:pets}:status:sold",
                      "shop:{shop:pets}:status:available",
                      name + "a1:" + std::string(64, '1'),
                      name + "a2:" + std::string(64, '1'),
                      "shop:{shop:pets}:",
                      "86400",
                      "s7:Rex",
                      std::string(64, '2'),
                      "a-1:Tom",
                      std::string(64, '4'),
                      kAnyServer};
    CHECK(words(batch.create()) == expected);
    expected.insert(expected.end() - 1, "1");
    CHECK(words(batch.create(true)) == expected);
    // An Idempotency-Key that is already in the batch must be answered first.
    CHECK_FALSE(batch.add(kTom, "a1", idempotency(0x11, 0x55)));
    CHECK(batch.size() == 2);
}

TEST_CASE("pet batch: it is full at its bound, and can be shortened", "[store]")
{
    PetBatch batch(kSchema);
    for (std::size_t i = 0; i < PetBatch::kMaxPets; ++i) {
        CHECK_FALSE(batch.full());
        batch.add(i < 100 ? kRex : kTom);
    }
    CHECK(batch.full());
    batch.remove_first(126);
    const auto left = words(batch.create());
    CHECK(left.size() == 12);
    CHECK(left[8] == "");
    CHECK(left[9] == "a-1:Tom");
    CHECK(left[10] == "a-1:Tom");
}

TEST_CASE("pet batch: given ids replace the replication id", "[store]")
{
    PetBatch batch(kSchema);
    batch.add(kRex);
    const auto command = words(batch.create_at(129, 7'000'000'000));
    CHECK(command.back() == "=129:7000000000");
    CHECK(command.size() == words(batch.create()).size());

    Replies replies;
    CHECK(store::is_taken(replies("-TAKEN x\r\n")));
    CHECK_FALSE(store::is_taken(replies("-FULL x\r\n")));
    CHECK_FALSE(store::is_taken(replies("$7\r\nTAKEN x\r\n")));
}

TEST_CASE("pet batch: the reply has the outcome of each pet", "[store]")
{
    using O = Outcome;
    CHECK(
        outcomes(array({integer(2), integer(7)}), 2, false)
        == std::vector<O>{{Result::created, 7, ""}, {Result::created, 8, ""}});
    // A bucket that cannot take its pets.
    CHECK(outcomes(array({integer(1), integer(128), error("DAMAGED b")}), 3,
                   false)
          == std::vector<O>{{Result::created, 128, ""},
                            {Result::failed, 0, "DAMAGED b"},
                            {Result::failed, 0, "DAMAGED b"}});
    CHECK(outcomes(error("OOM x"), 2, false)
          == std::vector<O>{{Result::failed, 0, "OOM x"},
                            {Result::failed, 0, "OOM x"}});
    CHECK(outcomes(error("OOM x"), 1, true)
          == std::vector<O>{{Result::failed, 0, "OOM x"}});

    CHECK(outcomes(array({integer(2), integer(7), kNil, integer(0), integer(3),
                          integer(-1), error("DAMAGED i"), integer(0)}),
                   5, true)
          == std::vector<O>{{Result::created, 7, ""},
                            {Result::replayed, 3, ""},
                            {Result::key_reused, 0, ""},
                            {Result::failed, 0, "DAMAGED i"},
                            {Result::created, 8, ""}});
    CHECK(outcomes(array({integer(0), integer(0), error("OOM x"), integer(3),
                          integer(0)}),
                   2, true)
          == std::vector<O>{{Result::replayed, 3, ""},
                            {Result::failed, 0, "OOM x"}});
    CHECK(outcomes(array({integer(0), integer(0), kNil, integer(3)}), 1, true)
          == std::vector<O>{{Result::replayed, 3, ""}});
}

TEST_CASE("pet batch: an impossible reply leaves every outcome unclear",
          "[store]")
{
    for (const auto& reply :
         {array({}), array({integer(2)}), array({integer(3), integer(0)}),
          array({integer(3), integer(-1)}), array({integer(2), integer(7)}),
          array({integer(4), integer(7)}), array({integer(-1), integer(7)}),
          array({bulk("3"), integer(7)}), array({integer(3), bulk("7")}),
          array({integer(3), integer(7), error("DAMAGED b")}),
          array({integer(3), integer(7), kNil, integer(0)}), integer(3), kNil,
          bulk("3"), std::string("+OK\r\n")}) {
        CAPTURE(reply);
        for (const auto& outcome : outcomes(reply, 3, false)) {
            CHECK(outcome.result == Result::unclear);
        }
    }
    for (const auto& reply :
         {array({integer(2), integer(7)}),
          array({integer(2), integer(7), kNil, integer(0)}),
          array({integer(2), integer(7), kNil, integer(0), integer(-2)}),
          array({integer(2), integer(7), kNil, integer(0), bulk("0")}),
          array({integer(2), integer(7), kNil, integer(0), kNil}),
          array({integer(2), integer(7), kNil, integer(0), integer(5)}),
          array({integer(1), integer(7), kNil, integer(0), integer(0)})}) {
        CAPTURE(reply);
        for (const auto& outcome : outcomes(reply, 2, true)) {
            CHECK(outcome.result == Result::unclear);
        }
    }
}
