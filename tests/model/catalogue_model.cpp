// The catalogue's commands and scripts in a real Redis, compared with a plain
// list of pets in memory.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "api/text.h"
#include "as_text.h"
#include "at_once.h"
#include "catch.h"
#include "create_one.h"
#include "e2e/support/redis_server.h"
#include "redis_connection.h"
#include "store/pets/pet_commands.h"
#include "store/pets/reader.h"
#include "store/pets/record.h"
#include "unit/known_ids.h"
#include "unit/read_waiter.h"
#include "unit/recorded_damage.h"

using namespace petstore;
using api::Status;
using e2e::RedisServer;
using Page = store::PageReader::Page;
using Created = store::CreatedPets::Created;
using Result = Created::Result;

namespace {

constexpr Status kStatuses[] = {Status::available, Status::pending,
                                Status::sold};

std::mt19937 seeded()
{
    return std::mt19937(static_cast<unsigned>(
        std::atoi(e2e::env_or("PETSTORE_MODEL_SEED", "20301205").c_str())));
}

// How statuses are distributed over ids.
struct Spread {
    const char* name;
    double rare;  // share of sold
    double half;  // share of pending
    int run;      // length of runs with one status
};

constexpr Spread kSpreads[] = {
    {"all the same", 0, 0, 1},   {"thirds", 0.33, 0.33, 1},
    {"a tenth", 0.1, 0.03, 1},   {"rare", 0.002, 0.0005, 1},
    {"in runs", 0.33, 0.33, 50}, {"in long runs", 0.2, 0.2, 400},
};

// A link over a blocking connection. wait() delivers replies.
class BlockingLink final : public redis::Link {
public:
    explicit BlockingLink(RedisConnection& connection) : connection_(connection)
    {}

    void send(const redis::Command& command,
              redis::ReplyHandler& handler) noexcept override
    {
        connection_.append(command);
        handlers_.push_back(&handler);
        ++sent;
    }
    std::uint64_t
    connection_generation(std::string_view /*key*/) const noexcept override
    {
        return 1;
    }

    // Waits for the oldest reply. Returns false if no command is pending.
    bool wait()
    {
        if (handlers_.empty()) {
            return false;
        }
        auto* handler = handlers_.front();
        handlers_.pop_front();
        handler->on_reply(connection_.get());
        return true;
    }

    int sent = 0;

private:
    RedisConnection& connection_;
    std::deque<redis::ReplyHandler*> handlers_;
};

class Shop {
public:
    Shop() : connection(redis.socket()) {}

    const redis::Reply& call(const redis::Command& command)
    {
        connection.append(command);
        return connection.get();
    }

    // One name in a hundred is so long that its bucket needs several listpacks.
    api::NewPet some_pet(Status status)
    {
        const auto length = pick(1, 100) == 1 ? pick(200, 1020) : pick(1, 40);
        return {std::string(static_cast<std::size_t>(length), 'n'),
                pick(-5, 2'000'000'000), status};
    }

    void fill(int count, const Spread& spread)
    {
        auto status = Status::available;
        fill(count, [&](api::PetId id) {
            if ((id - 1) % spread.run == 0) {
                const double chance =
                    std::uniform_real_distribution<>()(random);
                status = chance < spread.rare ? Status::sold
                         : chance < spread.rare + spread.half
                             ? Status::pending
                             : Status::available;
            }
            return status;
        });
    }

    void fill(int count, const std::function<Status(api::PetId)>& status_of)
    {
        for (int i = 1; i <= count; ++i) {
            pets.push_back(some_pet(status_of(i)));
            connection.append(create_one(schema, pets.back()));
        }
        for (int i = 1; i <= count; ++i) {
            const auto created = created_one(connection.get());
            REQUIRE(created.result == Result::created);
            REQUIRE(created.id == i);
        }
    }

    void set_status(api::PetId id, Status status)
    {
        auto& pet = pets.at(static_cast<std::size_t>(id - 1));
        const bool changes = pet.status != status;
        pet.status = status;
        REQUIRE(call(as_text(catalogue.set_status(id, status))).integer()
                == changes);
    }

    Page read(const api::ListQuery& wire)
    {
        // Ids are positions, because no segment starts.
        const store::PageQuery query{wire.limit, wire.status, wire.after};
        store::PageReader reader(query);
        const auto commands =
            query.status ? std::vector{as_text(catalogue.list_by_status(query))}
                         : catalogue.list_all(query);
        for (std::size_t i = 0; i < commands.size(); ++i) {
            REQUIRE(reader.add(i, call(commands[i])));
        }
        return reader.finish(one_segment());
    }

    void add(const api::NewPet& pet)
    {
        pets.push_back(pet);
        const auto created = created_one(call(create_one(schema, pet)));
        REQUIRE(created.result == Result::created);
    }

    // The version in the limiter's reply.
    store::Version version()
    {
        const auto number = [this](const std::string& key) {
            const auto value = redis.command({"GET", key});
            return std::atoll(value.text.c_str());
        };
        return {number(schema.pet_count()), number(schema.changes())};
    }

    std::string json_of(api::PetId id) const
    {
        const auto& pet = pets.at(static_cast<std::size_t>(id - 1));
        std::string category;
        api::append_int(category, pet.category_id);
        std::string json;
        api::append_pet_json(json, {id, pet.name, category, pet.status});
        return json;
    }

    // The expected result of read().
    Page expected(const api::ListQuery& query) const
    {
        const auto end = static_cast<api::PetId>(pets.size());
        Page page;
        int rows = 0;
        for (auto id = std::min(query.after, end) + 1; id <= end; ++id) {
            const auto& pet = pets[static_cast<std::size_t>(id - 1)];
            if (query.status && pet.status != *query.status) {
                continue;
            }
            if (rows == query.limit) {
                page.more = true;
                break;
            }
            page.body += (rows++ ? "," : "") + json_of(id);
            page.last = id;
        }
        page.body = "[" + page.body + "]";
        return page;
    }

    std::int64_t pick(std::int64_t from, std::int64_t to)
    {
        return std::uniform_int_distribution<std::int64_t>(from, to)(random);
    }

    // A random page start: anywhere, at boundaries of buckets and bytes, at the
    // end or far beyond it.
    api::PetId some_start()
    {
        const auto end = static_cast<api::PetId>(pets.size());
        switch (pick(0, 5)) {
        case 0:
            return 0;
        case 1:
            return std::max<api::PetId>(pick(0, end / 8) * 8 + pick(-1, 1), 0);
        case 2:
            return std::max<api::PetId>(pick(0, end / 128) * 128 + pick(-2, 2),
                                        0);
        case 3:
            return end + pick(-1, 1) * (end > 0);
        case 4:
            return pick(0, 9) == 0
                       ? std::numeric_limits<api::PetId>::max() - pick(0, 1)
                       : (std::int64_t{1} << pick(20, 60)) + pick(-1, 1);
        default:
            return pick(0, end);
        }
    }

    api::ListQuery some_query()
    {
        api::ListQuery query;
        query.after = some_start();
        query.limit = static_cast<int>(pick(0, 2) ? pick(1, 100) : 20);
        if (pick(0, 3)) {
            query.status = kStatuses[pick(0, 2)];
        }
        return query;
    }

    // DUMP of every key.
    std::map<std::string, std::string> save()
    {
        std::map<std::string, std::string> all;
        for (const auto& name : redis.command({"KEYS", "*"}).items) {
            all[name.text] = redis.command({"DUMP", name.text}).text;
        }
        return all;
    }

    void restore(const std::map<std::string, std::string>& all)
    {
        redis.command({"FLUSHALL"});
        for (const auto& [name, value] : all) {
            REQUIRE(redis.command({"RESTORE", name, "0", value}).type
                    != e2e::Value::Type::error);
        }
    }

    // All keys, for comparison. A counter of 0 counts as missing.
    std::map<std::string, std::string> contents()
    {
        auto all = save();
        if (redis.command({"GET", schema.pet_count()}).text == "0") {
            all.erase(schema.pet_count());
        }
        return all;
    }

    std::mt19937 random = seeded();
    RedisServer redis{{"appendonly no"}};
    RedisConnection connection;
    const store::Schema schema{"petstore"};
    const store::PetCommands catalogue{schema};
    std::vector<api::NewPet> pets;
};

}  // namespace

TEST_CASE("model: pages and pets equal those of a plain list")
{
    const auto spread =
        GENERATE(from_range(std::begin(kSpreads), std::end(kSpreads)));
    const auto count = GENERATE(0, 1, 127, 128, 129, 1000, 4001);
    INFO(spread.name << ", " << count << " pets");
    Shop shop;
    shop.fill(count, spread);
    for (int i = 0; i < 400; ++i) {
        if (count && shop.pick(0, 9) == 0) {
            shop.set_status(shop.pick(1, count), kStatuses[shop.pick(0, 2)]);
        }
        const auto query = shop.some_query();
        INFO("after " << query.after << ", limit " << query.limit << ", "
                      << (query.status ? api::to_string(*query.status)
                                       : "every status"));
        const auto page = shop.read(query);
        const auto expected = shop.expected(query);
        REQUIRE(page.body == expected.body);
        REQUIRE(page.more == expected.more);
        REQUIRE(page.last == expected.last);
    }
    for (const auto id : {1, 2, 127, 128, 129, 130, 1000, 4001, 4002}) {
        const auto& reply = shop.call(shop.catalogue.get(id));
        if (id > count) {
            REQUIRE(reply.is(redis::Type::nil));
        } else {
            const auto& pet = shop.pets[static_cast<std::size_t>(id - 1)];
            REQUIRE(reply.text() == store::encode_record(pet));
        }
    }
    REQUIRE(
        shop.call(as_text(shop.catalogue.set_status(count + 1, Status::sold)))
            .integer()
        == -1);
}

namespace {

// The cost of a filtered page's script.
struct Work {
    std::int64_t calls = 0;
    std::int64_t records = 0;
};

Work work_of(const Shop& shop,
             const std::vector<e2e::Monitor::Command>& commands)
{
    Work work;
    for (const auto& command : commands) {
        if (!command.from_script) {
            continue;
        }
        ++work.calls;
        // … "LRANGE" "…bucket:7" "3" "65"
        const auto words = e2e::split(command.line, '"');
        if (command.name == "LINDEX") {
            ++work.records;
        } else if (command.name == "LRANGE") {
            const auto& name = words.at(3);
            const auto bucket = std::stoll(name.substr(name.rfind(':') + 1));
            const auto size = std::min<std::int64_t>(
                std::int64_t(shop.pets.size()) - bucket * store::kBucketSize,
                store::kBucketSize);
            work.records +=
                std::min<std::int64_t>(std::stoll(words.at(7)) + 1, size)
                - std::stoll(words.at(5));
        }
    }
    return work;
}

// Bitmaps that look dense but are not: repeated distances between pets of the
// status; 0 stands for a random distance.
const std::vector<std::vector<int>> kSteps = {
    {128},
    {1, 127},
    {1, 1, 126},
    {2, 126},
    {3, 125},
    {127, 129},
    {1, 63},
    {3, 13},
    {3, 4},
    {1, 1, 1, 61},
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 118},
    {4},
    {3},
    {1, 9},
    {0},
    {0, 1},
};

}  // namespace

TEST_CASE("model: a filtered page reads a bounded number of records")
{
    const auto steps = GENERATE(from_range(kSteps));
    const auto start = GENERATE(1, 127);
    Shop shop;
    const std::vector<int> near{1, 1, 2, 3, 4, 60, 125, 128};
    std::string shown;
    std::size_t step = 0;
    api::PetId next = start;
    constexpr int kPets = 128 * 40;
    shop.fill(kPets, [&](api::PetId id) {
        if (id != next) {
            return Status::available;
        }
        const int distance = steps[step++ % steps.size()];
        next += distance ? distance
                         : near[static_cast<std::size_t>(shop.pick(0, 7))];
        return Status::sold;
    });
    for (const int each : steps) {
        shown += std::to_string(each) + " ";
    }
    INFO("steps " << shown << "from " << start);
    e2e::Monitor monitor(shop.redis);
    for (const int limit : {1, 20, 100}) {
        for (const api::PetId after : {0, 1, 128, 1000}) {
            api::ListQuery query;
            query.after = after;
            query.limit = limit;
            query.status = Status::sold;
            monitor.commands();
            const auto page = shop.read(query);
            const auto work = work_of(shop, monitor.commands());
            INFO("after " << after << ", limit " << limit);
            CHECK(page.body == shop.expected(query).body);
            CHECK(work.calls > 0);
            CHECK(work.calls <= 2 * (limit + 1) + 1);
            CHECK(work.records <= 4 * (limit + 1) + 63);
        }
    }
}

TEST_CASE("model: a lost record fails a filtered page")
{
    Shop shop;
    shop.fill(1000, kSpreads[1]);
    // The second bucket and the end of the fourth are lost.
    const auto lost = [](api::PetId id) {
        return (id > 128 && id <= 256) || (id > 400 && id <= 512);
    };
    shop.redis.command({"DEL", shop.schema.bucket(1)});
    shop.redis.command({"LTRIM", shop.schema.bucket(3), "0", "15"});
    int damaged = 0;
    for (int i = 0; i < 1000; ++i) {
        api::ListQuery query;
        query.status = kStatuses[shop.pick(0, 2)];
        query.after = shop.pick(0, 1000);
        query.limit = static_cast<int>(shop.pick(1, 30));
        // The first lost row, including the one after the page.
        api::PetId first = 0;
        int rows = 0;
        for (auto id = query.after + 1; id <= 1000 && rows <= query.limit;
             ++id) {
            if (shop.pets[std::size_t(id - 1)].status == *query.status) {
                ++rows;
                if (first == 0 && lost(id)) {
                    first = id;
                }
            }
        }
        const store::PageQuery range{query.limit, query.status, query.after};
        const auto& reply =
            shop.call(as_text(shop.catalogue.list_by_status(range)));
        INFO(query.after << " " << query.limit << " " << first);
        if (first != 0) {
            ++damaged;
            REQUIRE(store::damaged_key(reply)
                    == shop.schema.bucket(store::bucket_of(first)));
        } else {
            store::PageReader reader(range);
            REQUIRE(reader.add(0, reply));
            REQUIRE(reader.finish(one_segment()).body
                    == shop.expected(query).body);
        }
    }
    CHECK(damaged > 100);

    store::PageQuery query;
    query.status = Status::sold;
    for (const auto& name :
         {shop.schema.status_bitmap(Status::sold), shop.schema.bucket(0)}) {
        shop.redis.command({"DEL", name});
        shop.redis.command({"HSET", name, "x", "y"});
        if (name != shop.schema.bucket(0)) {
            CHECK(store::damaged_key(
                      shop.call(as_text(shop.catalogue.list_by_status(query))))
                  == name);
            shop.redis.command({"DEL", name});
            shop.redis.command({"SETBIT", name, "5", "1"});
        } else {
            CHECK(store::damaged_key(
                      shop.call(as_text(shop.catalogue.list_by_status(query))))
                  == name);
        }
    }
    // Other errors are passed on.
    shop.redis.command({"ACL", "SETUSER", "default", "-bitpos"});
    CHECK(shop.call(as_text(shop.catalogue.list_by_status(query))).is_error());
    CHECK(store::damaged_key(
              shop.call(as_text(shop.catalogue.list_by_status(query))))
              .empty());
}

TEST_CASE("model: a pet never takes the place of another one")
{
    const auto count = GENERATE(0, 1, 127, 128, 200);
    INFO(count << " pets");
    Shop shop;
    shop.fill(count, kSpreads[1]);
    const auto bucket = shop.schema.bucket(store::bucket_of(count + 1));
    const store::Idempotency idempotency{{}, {}};
    store::PetBatch batch(shop.schema);
    batch.add({"Rex", 7, Status::sold}, "acc", idempotency);
    const auto create = [&] {
        return batch.read(shop.call(as_text(batch.create()))).next();
    };
    const auto last_id = shop.schema.pet_count();
    const auto changes = shop.schema.changes();
    const auto segments = shop.schema.segments();
    const auto sold = shop.schema.status_bitmap(Status::sold);
    const auto replay = shop.schema.idempotency("acc", idempotency.key);
    // Damages the data with `break_it`. The reply must then name `damaged`
    // (empty: any other error, as Redis versions differ), and nothing may
    // change. Restores the data.
    const auto check = [&](const std::vector<e2e::Words>& break_it,
                           const std::string& damaged) {
        INFO(break_it.back()[0] << ' ' << break_it.back()[1]);
        const auto saved = shop.save();
        for (const auto& words : break_it) {
            REQUIRE(shop.redis.command(words).type != e2e::Value::Type::error);
        }
        const auto before = shop.contents();
        for (int i = 0; i < 2; ++i) {
            const auto created = create();
            REQUIRE(created.result == Result::failed);
            CHECK(store::damaged_key(*created.error) == damaged);
            CHECK(shop.contents() == before);
        }
        shop.redis.command({"ACL", "SETUSER", "default", "+@all"});
        shop.restore(saved);
    };

    check({{"RPUSH", bucket, "a1:stray"}}, count ? bucket : last_id);
    check({{"DEL", bucket}, {"SET", bucket, "x"}}, bucket);
    if (count % 128 != 0) {
        check({{"RPOP", bucket}}, bucket);
        check({{"DEL", bucket}}, bucket);
    }
    if (count > 0) {
        // Otherwise the next id would be 1 again.
        check({{"DEL", last_id}}, last_id);
        check({{"SET", last_id, "0"}}, last_id);
        check({{"DEL", last_id}, {"DEL", shop.schema.bucket(0)}}, last_id);
        check({{"DEL", last_id}, {"DEL", changes}}, last_id);
        check({{"DEL", changes}, {"HSET", changes, "x", "y"}, {"DEL", last_id}},
              changes);
    } else {
        check({{"SET", changes, "5"}}, last_id);
        check({{"HSET", changes, "x", "y"}}, changes);
    }
    for (const char* value : {"x", "", "-7", "-1", "9223372036854775807"}) {
        check({{"SET", last_id, value}}, last_id);
    }
    check({{"DEL", last_id}, {"RPUSH", last_id, "7"}}, last_id);
    check({{"DEL", segments}, {"RPUSH", segments, "7"}}, segments);
    for (const std::string& value :
         {std::string("x"), kOneSegment.substr(1),
          "0000009000:0000000000009000 " + std::string(40, 'a'),
          "0000000001:9007199254740000 " + std::string(40, 'a')}) {
        check({{"SET", segments, value}}, count ? segments : last_id);
    }
    if (count > 0) {
        check({{"DEL", segments}}, segments);
        // Another history, but its start would raise these.
        for (const char* value : {"x", "", "-7", "9223372036854775807"}) {
            check({{"SET", segments, kOneSegment}, {"SET", changes, value}},
                  changes);
        }
        check({{"SET", segments, kOneSegment}, {"DEL", changes}}, changes);
    }
    check({{"DEL", sold}, {"HSET", sold, "x", "y"}}, sold);
    check({{"SET", replay, "x"}}, replay);
    check({{"RPUSH", replay, "x"}}, replay);
    check({{"ACL", "SETUSER", "default", "-rpush"}}, "");
    check({{"ACL", "SETUSER", "default", "-setbit"}}, "");

    const auto created = create();
    CHECK(created.result == Result::created);
    CHECK(created.id == count + 1);
}

// Batches of every size at every place in a bucket, with pets created before,
// and with buckets that cannot take them.
TEST_CASE("model: pets created together equal those created one by one")
{
    Shop together;
    Shop alone;
    std::map<std::string, std::pair<api::PetId, std::string>> known;
    int replayed = 0;
    int reused = 0;
    int failed = 0;
    for (int round = 0; round < 400; ++round) {
        // Mostly small.
        const auto size = together.pick(1, together.pick(0, 4) ? 20 : 128);
        const bool once = together.pick(0, 1) == 1;
        const bool damage = together.pick(0, 9) == 0;
        const auto last = static_cast<api::PetId>(together.pets.size());
        // A stray record prevents its bucket from taking pets.
        const auto stray = together.schema.bucket(store::bucket_of(last + 1)
                                                  + together.pick(0, 1));
        if (damage) {
            together.redis.command({"RPUSH", stray, "a1:stray"});
        }
        store::PetBatch batch(together.schema);
        std::vector<api::NewPet> pets;
        std::vector<std::string> keys;
        for (int i = 0; i < size; ++i) {
            auto pet = together.some_pet(kStatuses[together.pick(0, 2)]);
            if (!once) {
                batch.add(pet);
                keys.emplace_back();
            } else {
                auto key = std::to_string(together.pick(1, 3000));
                // Sometimes repeats the earlier request.
                if (known.count(key) && together.pick(0, 1)) {
                    pet.name = known[key].second;
                }
                if (!batch.add(pet, "acc",
                               {api::sha256(key), api::sha256(pet.name)})) {
                    continue;
                }
                keys.push_back(key);
            }
            pets.push_back(pet);
        }
        INFO("round " << round << ": " << pets.size() << " pets from "
                      << last + 1 << (once ? ", once" : "")
                      << (damage ? ", damaged " + stray : ""));
        auto created = batch.read(together.call(as_text(batch.create(true))));
        REQUIRE(created.valid());
        api::PetId next = last + 1;
        bool stopped = false;
        for (std::size_t i = 0; i < pets.size(); ++i) {
            const auto outcome = created.next();
            const auto before = known.find(keys[i]);
            if (once && before != known.end()) {
                const bool same = before->second.second == pets[i].name;
                REQUIRE(outcome.result
                        == (same ? Result::replayed : Result::key_reused));
                REQUIRE(outcome.id == (same ? before->second.first : 0));
                (same ? replayed : reused) += 1;
                continue;
            }
            stopped =
                stopped
                || (damage
                    && stray == together.schema.bucket(store::bucket_of(next)));
            if (stopped) {
                REQUIRE(outcome.result == Result::failed);
                REQUIRE(store::damaged_key(*outcome.error)
                        == (next == 1 ? together.schema.pet_count() : stray));
                ++failed;
                continue;
            }
            REQUIRE(outcome.result == Result::created);
            REQUIRE(outcome.id == next++);
            together.pets.push_back(pets[i]);
            alone.add(pets[i]);
            if (once) {
                known[keys[i]] = {outcome.id, pets[i].name};
            }
        }
        if (damage) {
            together.redis.command({"RPOP", stray});
        }
    }
    CHECK(replayed > 100);
    CHECK(reused > 100);
    CHECK(failed > 100);

    auto left = together.contents();
    auto right = alone.contents();
    for (const auto& key : known) {
        left.erase(together.schema.idempotency("acc", api::sha256(key.first)));
    }
    for (auto* all : {&left, &right}) {
        all->erase(together.schema.changes());   // derived from the time
        all->erase(together.schema.segments());  // has the server's id
    }
    CHECK(left == right);
}

TEST_CASE("model: a status changes completely or not at all")
{
    Shop shop;
    shop.fill(200, kSpreads[1]);
    const auto available = shop.schema.status_bitmap(Status::available);
    const auto sold = shop.schema.status_bitmap(Status::sold);
    const auto last_id = shop.schema.pet_count();
    const auto changes = shop.schema.changes();
    shop.set_status(150, Status::available);
    const auto bucket = shop.schema.bucket(1);
    const auto saved = shop.save();
    const auto change = [&](api::PetId id) -> const redis::Reply& {
        return shop.call(as_text(shop.catalogue.set_status(id, Status::sold)));
    };
    const auto check = [&](const std::vector<e2e::Words>& break_it,
                           const std::string& damaged, api::PetId id = 150) {
        INFO(break_it.back()[0] << ' ' << break_it.back()[1]);
        for (const auto& words : break_it) {
            REQUIRE(shop.redis.command(words).type != e2e::Value::Type::error);
        }
        const auto before = shop.save();
        const auto& reply = change(id);
        REQUIRE(reply.is_error());
        CHECK(store::damaged_key(reply) == damaged);
        CHECK(shop.save() == before);
        shop.redis.command({"ACL", "SETUSER", "default", "+@all"});
        shop.restore(saved);
    };
    check({{"DEL", bucket}}, bucket);
    check({{"LTRIM", bucket, "0", "20"}}, bucket);
    check({{"LSET", bucket, "21", "nonsense"}}, bucket);
    check({{"LSET", bucket, "21", "x7:Rex"}}, bucket);
    check({{"DEL", bucket}, {"SET", bucket, "x"}}, bucket);
    check({{"DEL", last_id}}, last_id);
    check({{"DEL", last_id}}, last_id, 1000);
    check({{"SET", last_id, "x"}}, last_id);
    check({{"SET", last_id, "100"}}, last_id);
    check({{"DEL", last_id}, {"RPUSH", last_id, "200"}}, last_id);
    check({{"DEL", changes}}, changes);
    check({{"SET", changes, "x"}}, changes);
    check({{"DEL", changes}, {"RPUSH", changes, "7"}}, changes);
    check({{"DEL", available}, {"RPUSH", available, "x"}}, available);
    check({{"DEL", sold}, {"RPUSH", sold, "x"}}, sold);
    for (const char* command : {"-setbit", "-lset", "-incr"}) {
        check({{"ACL", "SETUSER", "default", command}}, "");
    }
    CHECK(change(201).integer() == -1);
    CHECK(change(150).integer() == 1);
    CHECK(change(150).integer() == 0);
    shop.redis.command({"FLUSHALL"});
    CHECK(change(1).integer() == -1);
}

namespace {

// Simulates a request: reads ahead, gets the version, gets its response.
void check_read(Shop& shop, BlockingLink& link, store::ReadCache& cache,
                store::Reader& reader, const api::ListQuery& query,
                api::PetId pet)
{
    const auto key =
        pet ? store::ReadKey::of_pet(pet) : store::ReadKey::of_page(query);
    const auto now = shop.version();
    if (reader.read_ahead(key)) {
        reader.confirm(key, now);
    }
    auto response = cache.find_latest(key, now);
    if (response == nullptr) {
        ReadWaiter waiter;
        reader.read(key, now, waiter);
        while (waiter.results.empty()) {
            REQUIRE(link.wait());
        }
        response = waiter.results.at(0).value();
    }
    if (pet) {
        REQUIRE(response->body == shop.json_of(pet));
        return;
    }
    const auto expected = shop.expected(query);
    REQUIRE(response->body == expected.body);
    REQUIRE(response->next_after == (expected.more ? expected.last : 0));
}

}  // namespace

TEST_CASE("model: cached reads return what is in the catalogue")
{
    const auto spread =
        GENERATE(from_range(std::begin(kSpreads), std::end(kSpreads)));
    // Either so little that buckets evict each other, or enough for all.
    const auto bytes = GENERATE(std::size_t{8} * 1024, std::size_t{1} << 20);
    INFO(spread.name << ", " << bytes << " bytes");
    Shop shop;
    shop.fill(900, spread);
    BlockingLink link(shop.connection);
    RecordedDamage log;
    metrics::CacheLookups lookups;
    AtOnce scheduler;
    store::ReadCache cache({link, shop.catalogue, log}, lookups, bytes);
    store::VersionQueue versions(scheduler, cache);
    store::Reader reader(cache, versions);
    constexpr int kReads = 3000;
    for (int i = 0; i < kReads; ++i) {
        const auto end = static_cast<api::PetId>(shop.pets.size());
        switch (shop.pick(0, 40)) {
        case 0:
        case 1:
            while (link.wait()) {
            }
            shop.add(shop.some_pet(kStatuses[shop.pick(0, 2)]));
            break;
        case 2:
            // Rarely, so that cached buckets are useful in between.
            if (shop.pick(0, 5) == 0) {
                while (link.wait()) {
                }
                shop.set_status(shop.pick(1, end), kStatuses[shop.pick(0, 2)]);
            }
            break;
        case 3:
            link.wait();
            break;
        default: {
            const auto pet = shop.pick(0, 2) ? 0 : shop.pick(1, end);
            const auto query = shop.some_query();
            INFO("read " << i << ": pet " << pet << ", after " << query.after
                         << ", limit " << query.limit << ", "
                         << (query.status ? api::to_string(*query.status)
                                          : "every status"));
            check_read(shop, link, cache, reader, query, pet);
        }
        }
    }
    while (link.wait()) {
    }
    if (bytes >= std::size_t{1} << 20) {
        CHECK(link.sent < kReads / 2);  // the rest was cached
    }
}
