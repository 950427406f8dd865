#include "catch.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "store/pets/pet_commands.h"
#include "store/pets/pet_ids.h"

using namespace petstore;
using store::PetIds;
using store::Position;

namespace {

using Segments = std::vector<std::pair<Position, api::PetId>>;

std::string padded(std::int64_t number, std::size_t digits)
{
    const std::string text = std::to_string(number);
    return std::string(digits - text.size(), '0') + text;
}

std::string value_of(const Segments& segments)
{
    std::string value;
    for (const auto& [first, id] : segments) {
        value += padded(first, 10) + ":" + padded(id, 16) + " ";
    }
    return value + std::string(40, 'a');
}

PetIds ids_of(const Segments& segments)
{
    auto ids = PetIds::parse(value_of(segments));
    REQUIRE(ids);
    CHECK(ids->segments() == segments.size());
    return std::move(*ids);
}

}  // namespace

TEST_CASE("pet ids: without a gap, they are the positions", "[store]")
{
    const PetIds ids = ids_of({{1, 1}});
    for (const std::int64_t n : {1, 2, 128, 129, 1000}) {
        CHECK(ids.position_of(n, 1000) == n);
        CHECK(ids.last_until(n) == n);
        CHECK(PetIds::Walk(ids).id_at(n) == n);
    }
    CHECK(ids.position_of(1001, 1000) == 0);
    CHECK(ids.position_of(1, 0) == 0);
    CHECK(ids.position_of(0, 1000) == 0);
    CHECK(ids.position_of(-1, 1000) == 0);
    CHECK(ids.last_until(0) == 0);
    CHECK(ids.last_until(5000) == 5000);  // the pets may come
    constexpr auto kMost = std::numeric_limits<api::PetId>::max();
    CHECK(ids.last_until(kMost) >= store::kMaxPets);
    CHECK(ids.position_of(kMost, store::kMaxPets) == 0);
}

TEST_CASE("pet ids: those in gaps name no pet", "[store]")
{
    constexpr api::PetId kClock = 1'764'000'000'000'000;
    const PetIds ids = ids_of({{1, 5}, {4, 20}, {6, kClock}});
    const std::vector<api::PetId> all = {5, 6, 7, 20, 21, kClock, kClock + 1};
    const auto count = static_cast<Position>(all.size());

    PetIds::Walk walk(ids);
    for (Position at = 1; at <= count; ++at) {
        const api::PetId id = all[static_cast<std::size_t>(at - 1)];
        CHECK(walk.id_at(at) == id);
        CHECK(PetIds::Walk(ids).id_at(at) == id);
        CHECK(ids.position_of(id, count) == at);
        CHECK(ids.position_of(id, at - 1) == 0);
        CHECK(ids.last_until(id) == at);
    }
    for (const auto& [id, before] :
         Segments{{1, 0}, {4, 0}, {8, 3}, {19, 3}, {22, 5}, {kClock - 1, 5}}) {
        CHECK(ids.position_of(id, count) == 0);
        CHECK(ids.last_until(id) == before);
    }
    CHECK(ids.position_of(kClock + 2, count) == 0);
}

TEST_CASE("pet ids: a walk may start anywhere and skip segments", "[store]")
{
    const PetIds ids = ids_of({{1, 1}, {2, 10}, {3, 20}, {100, 1000}});
    PetIds::Walk walk(ids);
    CHECK(walk.id_at(2) == 10);
    CHECK(walk.id_at(99) == 116);
    CHECK(walk.id_at(100) == 1000);
    CHECK(walk.id_at(101) == 1001);
    PetIds::Walk from_the_end(ids);
    CHECK(from_the_end.id_at(500) == 1400);
}

TEST_CASE("pet ids: a segment without pets yet is valid", "[store]")
{
    const PetIds ids = ids_of({{1, 1}, {4, 20}});
    CHECK(ids.position_of(3, 3) == 3);
    CHECK(ids.position_of(20, 3) == 0);
    CHECK(ids.position_of(4, 3) == 0);
}

TEST_CASE("pet ids: a damaged value is refused", "[store]")
{
    for (const Segments& wrong :
         {Segments{}, Segments{{2, 1}}, Segments{{0, 1}}, Segments{{1, 0}},
          Segments{{1, 1}, {1, 7}}, Segments{{1, 1}, {5, 4}},
          Segments{{1, 7}, {5, 10}}, Segments{{1, 1}, {5, 9}, {4, 20}},
          Segments{{1, PetIds::kMaxId + 1}}}) {
        CAPTURE(value_of(wrong));
        CHECK_FALSE(PetIds::parse(value_of(wrong)));
    }
    CHECK(PetIds::parse(value_of({{1, PetIds::kMaxId}})));
    CHECK(PetIds::parse(value_of({{1, 7}, {5, 11}})));  // no id is skipped

    const std::string valid = value_of({{1, 1}, {5, 9}});
    CHECK_FALSE(PetIds::parse(""));
    CHECK_FALSE(PetIds::parse(valid + " "));
    CHECK_FALSE(PetIds::parse(valid.substr(1)));
    for (std::size_t i = 0; i < valid.size() - 40; ++i) {
        for (const char c : {'x', '-', ' ', ':', '\0', '/'}) {
            std::string damaged = valid;
            damaged[i] = c;
            CAPTURE(i, c);
            CHECK(PetIds::parse(damaged).has_value() == (damaged == valid));
        }
    }
}
