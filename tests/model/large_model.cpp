// Catalogues of 100 million pets and more, of which only a few exist: the
// bounded cost of one call, and the largest id.
#include <map>
#include <random>
#include <set>

#include "as_text.h"
#include "catch.h"
#include "create_one.h"
#include "e2e/support/redis_server.h"
#include "e2e/support/sparse_catalogue.h"
#include "redis_connection.h"
#include "store/damage.h"
#include "store/failure.h"
#include "store/pets/pet_commands.h"
#include "unit/known_ids.h"

using namespace petstore;
using api::PetId;
using api::Status;
using e2e::RedisServer;
using e2e::SparseCatalogue;

namespace {

constexpr PetId kPets = 100'000'000;
constexpr PetId kSpan = 8'388'608;  // bits per call

struct Fixture {
    const redis::Reply& send(const redis::Command& command)
    {
        connection.append(command);
        return connection.get();
    }
    const redis::Reply& call(const redis::Command& script)
    {
        return send(as_text(script));
    }

    // Calls `between` after each script call but the last.
    template <class Between>
    store::PageReader::Page read(const store::PageQuery& query, Between between)
    {
        store::PageReader reader(query);
        calls = 0;
        for (std::optional next(query); next;) {
            const auto& reply = call(catalogue.list_by_status(*next, count));
            INFO(reply.text());
            REQUIRE(reader.add(static_cast<std::size_t>(calls), reply));
            ++calls;
            next = reader.rest(count);
            if (next) {
                between();
            }
        }
        return reader.finish(one_segment(), store::PageReader::Form::lines);
    }
    store::PageReader::Page read(const store::PageQuery& query)
    {
        return read(query, [] {});
    }

    // DUMP of every key.
    std::map<std::string, std::string> contents() const
    {
        std::map<std::string, std::string> all;
        for (const auto& name : redis.command({"KEYS", "*"}).items) {
            all[name.text] = redis.command({"DUMP", name.text}).text;
        }
        return all;
    }

    RedisServer redis{{"appendonly no"}};
    RedisConnection connection{redis.socket()};
    const store::Schema schema{"petstore"};
    const store::PetCommands catalogue{schema};
    PetId count = kPets;
    int calls = 0;
};

store::PageQuery sold(PetId after, int limit)
{
    store::PageQuery query;
    query.status = Status::sold;
    query.after = after;
    query.limit = limit;
    return query;
}

// One line for each pet.
std::string lines_of(const std::set<PetId>& pets, const store::PageQuery& query)
{
    std::string lines;
    int left = query.limit;
    for (auto id = pets.upper_bound(query.after); id != pets.end() && left > 0;
         ++id, --left) {
        lines += "{\"id\":" + std::to_string(*id)
                 + ",\"name\":\"x\",\"categoryId\":1,\"status\":\"sold\"}\n";
    }
    return lines;
}

// The number of bits that each BITPOS scans.
std::vector<PetId> searched(e2e::Monitor& monitor)
{
    std::vector<PetId> bits;
    for (const auto& command : monitor.commands()) {
        // "BITPOS" "…" "1" "6" "8388615" "BIT"
        const auto words = e2e::split(command.line, '"');
        if (command.name == "BITPOS" && words.size() > 11) {
            bits.push_back(std::stoll(words.at(9)) - std::stoll(words.at(7))
                           + 1);
        } else if (command.name == "BITPOS") {
            // The last byte.
            REQUIRE(words.at(7) == "-1");
            REQUIRE(words.at(9) == "-1");
        }
    }
    return bits;
}

}  // namespace

TEST_CASE("model: a rare status of a large catalogue takes bounded calls")
{
    Fixture f;
    SparseCatalogue sparse(f.redis, kPets);
    std::set<PetId> pets;
    int expected = 1;
    SECTION("none, and no bitmap") {}
    SECTION("one at the start")
    {
        pets = {5};
    }
    SECTION("a bitmap whose last byte is full")
    {
        pets = {8, 9, 10, 11, 12, 13, 14, 15};
    }
    SECTION("one at the very end")
    {
        pets = {kPets};
        expected = 12;
    }
    SECTION("none any more")
    {
        sparse.place(kPets);
        f.redis.command({"SETBIT", SparseCatalogue::key("status:sold"),
                         std::to_string(kPets), "0"});
        expected = 12;
    }
    SECTION("around the end of a call")
    {
        for (PetId id = kSpan - 3; id < kSpan + 20; ++id) {
            pets.insert(id);
        }
        expected = 2;
    }
    SECTION("in every second call")
    {
        for (PetId id = 1; id < kPets; id += 2 * kSpan) {
            pets.insert(id);
        }
        expected = 10;
    }
    for (const PetId id : pets) {
        sparse.place(id);
    }
    for (const int limit : {100, 20}) {
        const auto query = sold(0, limit);
        e2e::Monitor monitor(f.redis);
        const auto page = f.read(query);
        CHECK(page.body == lines_of(pets, query));
        CHECK(page.more == (pets.size() > std::size_t(limit)));
        // A full page may end the search early.
        CHECK((limit == 100 ? f.calls == expected : f.calls <= expected));
        for (const PetId bits : searched(monitor)) {
            CHECK(bits <= kSpan + 7);
        }
    }
}

TEST_CASE("model: pages of a large catalogue have the pets of a plain list")
{
    Fixture f;
    std::mt19937_64 random(20401205);
    const auto pick = [&](PetId from, PetId to) {
        return std::uniform_int_distribution<PetId>(from, to)(random);
    };
    SparseCatalogue sparse(f.redis, kPets);
    std::set<PetId> pets;
    for (int i = 0; i < 60; ++i) {
        const PetId id = pick(1, kPets);
        // Single pets, groups, and pets at the ends of calls.
        const PetId first = i % 3 ? id : id / kSpan * kSpan + pick(0, 12);
        for (PetId next = first; next < first + (i % 4) * 3 + 1; ++next) {
            if (next > 0 && next <= kPets && pets.insert(next).second) {
                sparse.place(next);
            }
        }
    }
    int calls = 0;
    for (int i = 0; i < 300; ++i) {
        const auto start = pick(0, kPets + 100);
        const auto near = start / kSpan * kSpan + pick(-9, 9);
        const auto query = sold(i % 2 ? start : std::max<PetId>(near, 0),
                                static_cast<int>(pick(1, 100)));
        INFO("after " << query.after << ", limit " << query.limit);
        const auto page = f.read(query);
        REQUIRE(page.body == lines_of(pets, query));
        const auto rest =
            std::distance(pets.upper_bound(query.after), pets.end());
        REQUIRE(page.more == (rest > query.limit));
        calls += f.calls;
    }
    CHECK(calls > 500);  // else the test would be void
}

TEST_CASE("model: a search sees changes ahead of it")
{
    Fixture f;
    SparseCatalogue sparse(f.redis, kPets);
    const PetId far = 3 * kSpan;
    sparse.place(5);
    sparse.place(far);
    sparse.place(kPets);
    sparse.need_bucket(2 * kSpan);
    int at = 0;
    const auto change = [&](PetId id, Status status) {
        REQUIRE(f.call(f.catalogue.set_status(id, status)).integer() == 1);
    };
    const auto query = sold(0, 100);
    const auto page = f.read(query, [&] {
        if (++at == 1) {
            change(5, Status::available);     // already searched
            change(2 * kSpan, Status::sold);  // not yet searched
            change(far, Status::pending);     // likewise
        }
    });
    CHECK(page.body == lines_of({5, 2 * kSpan, kPets}, query));
    // The version read before the first call is older than the change.
    CHECK(f.redis.command({"GET", f.schema.changes()}).text == "1003");
    CHECK(f.read(query).body == lines_of({2 * kSpan, kPets}, query));
}

TEST_CASE("model: ids end at 4,000,000,000")
{
    Fixture f;
    const auto pet = api::NewPet{"Rex", 7, Status::sold};
    const auto set_count = [&](PetId id) {
        f.redis.command({"FLUSHALL"});
        SparseCatalogue(f.redis, id).need_bucket(id);
    };
    for (const PetId id :
         {store::kMaxPets, store::kMaxPets + 1, PetId{9'000'000'000'000'000}}) {
        set_count(id);
        const auto before = f.contents();
        const auto& reply = f.send(create_one(f.schema, pet));
        CHECK(store::is_full(reply));
        CHECK(store::damaged_key(reply).empty());
        CHECK(
            reply.text()
            == "FULL the catalogue has 4000000000 pets, the most it can have");
        CHECK(f.contents() == before);
    }
    // The last possible id is not refused for that reason. Without SETBIT,
    // which would take 500 MB.
    set_count(store::kMaxPets - 1);
    f.redis.command({"ACL", "SETUSER", "default", "-setbit"});
    const auto& reply = f.send(create_one(f.schema, pet));
    CHECK(reply.is_error());
    CHECK_FALSE(store::is_full(reply));
}

TEST_CASE("model: proto-max-bulk-len also limits the ids")
{
    Fixture f;
    f.redis.command({"CONFIG", "SET", "proto-max-bulk-len", "1mb"});
    const auto pet = api::NewPet{"Rex", 7, Status::sold};
    const PetId bits = 8 * 1024 * 1024;
    SparseCatalogue sparse(f.redis, bits - 1);
    sparse.need_bucket(bits - 1);
    const auto before = f.contents();
    for (int i = 0; i < 2; ++i) {
        const auto& reply = f.send(create_one(f.schema, pet));
        CHECK(store::is_full(reply));
        CHECK(reply.text().find("proto-max-bulk-len") != std::string::npos);
        CHECK(f.contents() == before);
    }

    // A pet beyond the limit, from a time when the limit was higher.
    SparseCatalogue(f.redis, bits + 1).need_bucket(bits + 1);
    const auto saved = f.contents();
    const auto& reply = f.call(f.catalogue.set_status(bits + 1, Status::sold));
    CHECK(store::is_full(reply));
    CHECK(f.contents() == saved);
}
