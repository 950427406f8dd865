#include "catch.h"

#include <vector>

#include "fake_link.h"
#include "known_ids.h"
#include "read_waiter.h"
#include "recorded_damage.h"
#include "store/pets/reader.h"
#include "store/pets/record.h"

using namespace petstore;
using redis::NoReply;
using store::Reader;
using store::ReadKey;

namespace {

using Waiter = ReadWaiter;

struct Fixture {
    Fixture() { know_ids(cache); }

    const store::Schema schema{"petstore"};
    const store::PetCommands catalogue{schema};
    FakeLink link;
    RecordedDamage log;
    petstore::metrics::CacheLookups lookups;
    store::ReadCache cache{{link, catalogue, log}, lookups, 1 << 20};
    store::VersionQueue versions{link, cache};
    Reader reader{cache, versions};
    Waiter waiter;
};

const std::string& body_of(const Waiter& waiter)
{
    return response_of(waiter).body;
}

const store::Version kNow{1000, 1};

ReadKey sold()
{
    api::ListQuery query;
    query.status = api::Status::sold;
    return ReadKey::of_page(query);
}

}  // namespace

TEST_CASE("a script unknown to Redis is sent with its text", "[store]")
{
    Fixture f;
    f.reader.read(sold(), kNow, f.waiter);
    f.link.reply("-NOSCRIPT x\r\n");
    REQUIRE(f.link.sent.size() == 2);
    CHECK(f.link.sent[0].front() == "EVALSHA");
    CHECK(f.link.sent[1].front() == "EVAL");
    CHECK(f.waiter.results.empty());
    f.link.reply(array({integer(3), bulk("s1:x")}));
    REQUIRE(f.waiter.results.size() == 1);
    CHECK(body_of(f.waiter)
          == R"([{"id":3,"name":"x","categoryId":1,"status":"sold"}])");
}

TEST_CASE("a read fails once if its script cannot be sent again", "[store]")
{
    Fixture f;
    f.reader.read(sold(), kNow, f.waiter);
    f.link.full = true;
    f.link.reply("-NOSCRIPT x\r\n");
    REQUIRE(f.waiter.results.size() == 1);
    const auto* error = error_of(f.waiter);
    REQUIRE(error);
    CHECK(error->code == api::ErrorCode::service_unavailable);
}

TEST_CASE("a page's replies may come in any order", "[store]")
{
    Fixture f;
    api::ListQuery query;
    query.after = 126;
    query.limit = 3;
    f.reader.read(ReadKey::of_page(query), kNow, f.waiter);
    REQUIRE(f.link.sent.size() == 2);
    SECTION("both")
    {
        f.link.reply(array({bulk("s1:c"), bulk("s1:d")}), 1);
        CHECK(f.waiter.results.empty());
        f.link.reply(array({bulk("s1:a"), bulk("s1:b")}));
        CHECK(body_of(f.waiter)
              == R"([{"id":127,"name":"a","categoryId":1,"status":"sold"},)"
                 R"({"id":128,"name":"b","categoryId":1,"status":"sold"},)"
                 R"({"id":129,"name":"c","categoryId":1,"status":"sold"}])");
    }
    SECTION("one, and the other is lost")
    {
        f.link.reply(array({bulk("s1:c"), bulk("s1:d")}), 1);
        f.link.lose(NoReply::in_doubt);
        REQUIRE(f.waiter.results.size() == 1);
        CHECK(error_of(f.waiter));
    }
}

TEST_CASE("data read before commands were reordered are not kept", "[store]")
{
    Fixture f;
    f.reader.read(ReadKey::of_pet(7), kNow, f.waiter);
    f.link.reply(bulk("s1:x"));
    CHECK(f.cache.find_latest(ReadKey::of_pet(7), kNow) != nullptr);
    ++f.link.overtaken;
    CHECK(body_of(f.waiter)
          == R"({"id":7,"name":"x","categoryId":1,"status":"sold"})");
    CHECK(f.cache.find_latest(ReadKey::of_pet(7), kNow) == nullptr);
}

TEST_CASE("data read while commands were reordered are not kept", "[store]")
{
    Fixture f;
    f.reader.read(ReadKey::of_pet(7), kNow, f.waiter);
    ++f.link.overtaken;
    f.link.reply(bulk("s1:x"));
    CHECK(body_of(f.waiter)
          == R"({"id":7,"name":"x","categoryId":1,"status":"sold"})");
    CHECK(f.cache.find_latest(ReadKey::of_pet(7), kNow) == nullptr);
}

TEST_CASE("data read ahead while commands were reordered are read again",
          "[store]")
{
    Fixture f;
    REQUIRE(f.reader.read_ahead(ReadKey::of_pet(7)));
    f.reader.confirm(ReadKey::of_pet(7), kNow);
    f.reader.read(ReadKey::of_pet(7), kNow, f.waiter);
    ++f.link.overtaken;
    f.link.reply(bulk("s1:x"));
    CHECK(f.waiter.results.empty());
    f.link.reply(bulk("s1:y"));
    CHECK(body_of(f.waiter)
          == R"({"id":7,"name":"y","categoryId":1,"status":"sold"})");
}

// As while a slot moves.
TEST_CASE("reads end although each command is redirected", "[store]")
{
    Fixture f;
    const auto reply = [&] {
        ++f.link.overtaken;
        const auto command = f.link.commands.front();
        const std::string& last = command.back();
        f.link.reply(command[0] == "EVALSHA" ? array({integer(7), bulk("s1:x")})
                     : command[0] == "LINDEX" ? bulk("s1:x")
                     : command[0] == "LRANGE"
                         ? array({bulk("s1:x"), bulk("s1:x"), bulk("s1:x")})
                     : last == f.schema.segments()
                         ? array({bulk("1"), bulk(kOneSegment)})
                         : array({bulk("1000"), bulk("1")}));
        ++f.link.overtaken;
    };
    api::ListQuery page;
    page.after = 1;
    page.limit = 2;
    for (int i = 0; i < 3; ++i) {
        for (const auto& key :
             {ReadKey::of_pet(2), sold(), ReadKey::of_page(page)}) {
            Waiter waiter;
            f.reader.read(key, std::nullopt, waiter);
            int commands = 0;
            while (waiter.results.empty()) {
                REQUIRE(++commands <= 4);
                reply();
            }
            CHECK(error_of(waiter) == nullptr);
        }
    }
}

namespace {

std::string segments(const std::string& more)
{
    return bulk("0000000001:0000000000000001 " + more + std::string(40, 'f'));
}

}  // namespace

TEST_CASE("ids are read once, and again after a change of everything",
          "[store]")
{
    Fixture f;
    f.cache.put(one_segment(), 1);
    const store::Version before{10, 1};
    CHECK(f.cache.lacks(ReadKey::of_pet(11), before));
    CHECK_FALSE(f.cache.lacks(ReadKey::of_pet(10), before));
    CHECK(f.cache.find_latest(ReadKey::of_pet(1), before) == nullptr);

    // A create after a failover has started a segment: id 11 is lost.
    const store::Version now{11, 2};
    CHECK_FALSE(f.cache.lacks(ReadKey::of_pet(11), now));
    f.reader.read(ReadKey::of_pet(11), now, f.waiter);
    REQUIRE(f.link.commands.back()[0] == "LRANGE");
    f.link.reply(array({}));  // of the log
    REQUIRE(f.link.commands.back()
            == std::vector<std::string>{"MGET",
                                        "petstore:{petstore:pets}:changes",
                                        "petstore:{petstore:pets}:segments"});
    Waiter other;
    f.reader.read(ReadKey::of_pet(5000), now, other);  // shares the read
    REQUIRE(f.link.commands.size() == 1);
    f.link.reply(array({bulk("2"), segments("0000000011:0000000000005000 ")}));
    REQUIRE(error_of(f.waiter));
    CHECK(error_of(f.waiter)->code == api::ErrorCode::pet_not_found);
    REQUIRE(f.link.commands.back()
            == std::vector<std::string>{
                "LINDEX", "petstore:{petstore:pets}:bucket:0", "10"});
    f.link.reply(bulk("s1:x"));
    CHECK(body_of(other)
          == R"({"id":5000,"name":"x","categoryId":1,"status":"sold"})");
}

TEST_CASE("a pet that was read at an outdated position is discarded", "[store]")
{
    Fixture f;
    f.cache.put(one_segment(), 1);
    CHECK(f.cache.find_latest(ReadKey::of_pet(1), {20, 1}) == nullptr);
    // Read ahead, by the ids of before.
    REQUIRE(f.reader.read_ahead(ReadKey::of_pet(15)));
    const store::Version now{20, 2};
    f.reader.confirm(ReadKey::of_pet(15), now);
    f.reader.read(ReadKey::of_pet(15), now, f.waiter);
    f.link.reply(bulk("s1:other"));
    CHECK(f.waiter.results.empty());
    f.link.reply(array({}));  // of the log
    f.link.reply(array({bulk("2"), segments("0000000011:0000000000005000 ")}));
    REQUIRE(error_of(f.waiter));
    CHECK(error_of(f.waiter)->code == api::ErrorCode::pet_not_found);
    CHECK(f.link.commands.empty());
}

TEST_CASE("damaged ids fail every request that needs them, with one line",
          "[store]")
{
    const std::string value =
        GENERATE(bulk("x"), kNil, segments("0000000001:0000000000000007 "));
    Fixture f;
    ++f.link.generation;
    CHECK_FALSE(f.reader.read_ahead(ReadKey::of_pet(7)));
    Waiter page;
    f.reader.read(ReadKey::of_pet(7), kNow, f.waiter);
    f.reader.read(sold(), kNow, page);
    REQUIRE(f.link.commands.size() == 1);
    f.link.reply(array({bulk("1"), value}));
    for (const Waiter* waiter : {&f.waiter, &page}) {
        REQUIRE(error_of(*waiter));
        CHECK(error_of(*waiter)->code == api::ErrorCode::internal_error);
    }
    CHECK(f.log.keys
          == std::vector<std::string>{"petstore:{petstore:pets}:segments"});
}

TEST_CASE("NOSCRIPT as the reply to a plain command fails the read", "[store]")
{
    // A page over two buckets is two plain commands.
    Fixture f;
    api::ListQuery query;
    query.after = 120;
    f.reader.read(ReadKey::of_page(query), kNow, f.waiter);
    REQUIRE(f.link.sent.size() == 2);
    f.link.reply("-NOSCRIPT x\r\n");
    CHECK(f.waiter.results.empty());
    f.link.reply(array({bulk("s1:x")}));
    CHECK(f.link.sent.size() == 2);
    REQUIRE(f.waiter.results.size() == 1);
    const auto* error = error_of(f.waiter);
    REQUIRE(error);
    CHECK(error->code == api::ErrorCode::service_unavailable);
}

TEST_CASE("NOSCRIPT as the reply to any plain command is only a failed read",
          "[store]")
{
    // A pet, the version, and both commands for a catalogue that looks empty.
    const auto now =
        GENERATE(std::optional(kNow), std::optional<store::Version>(),
                 std::optional(store::Version{}));
    Fixture f;
    f.reader.read(ReadKey::of_pet(7), now, f.waiter);
    REQUIRE_FALSE(f.link.commands.empty());
    while (!f.link.commands.empty()) {
        CHECK(f.waiter.results.empty());
        f.link.reply("-NOSCRIPT x\r\n");
    }
    REQUIRE(f.waiter.results.size() == 1);
    const auto* error = error_of(f.waiter);
    REQUIRE(error);
    CHECK(error->code == api::ErrorCode::service_unavailable);
}

TEST_CASE("a reader may be destroyed with reads in flight", "[store]")
{
    const store::Schema schema{"petstore"};
    const store::PetCommands catalogue{schema};
    FakeLink link;
    RecordedDamage log;
    Waiter waiter;
    {
        petstore::metrics::CacheLookups lookups;
        store::ReadCache cache{{link, catalogue, log}, lookups, 1 << 20};
        know_ids(cache);
        store::VersionQueue versions{link, cache};
        Reader reader{cache, versions};
        reader.read(sold(), kNow, waiter);
        reader.read(ReadKey::of_pet(7), kNow, waiter);
        reader.read(ReadKey::of_pet(8), kNow, waiter);  // loads the bucket
        reader.read(ReadKey::of_pet(9), std::nullopt, waiter);
        reader.read(ReadKey::of_pet(9), store::Version{}, waiter);
        CHECK(link.sent.size() == 6);
    }
    CHECK(waiter.results.empty());
}

namespace {

using Names = std::vector<std::string>;

const Names kNone;
const Names kOne{"LINDEX"};
const Names kSlice{"LRANGE"};
const Names kWhole{"LRANGE whole"};
const Names kScript{"EVALSHA"};
const Names kLog{"LRANGE log"};

// A reader over a simulated catalogue. A third of the pets are pending, a third
// sold.
struct Shop {
    explicit Shop(int pets)
    {
        now = {0, 1000};
        for (int i = 0; i < pets; ++i) {
            add();
        }
        know_ids(cache);
        cache.find_latest(pet(1), now);  // tells the reader the version
    }

    void add()
    {
        const auto id = ++now.count;
        records.push_back(std::string(1, "aps"[id % 3]) + "7:pet "
                          + std::to_string(id));
    }

    void change(api::PetId id, char status)
    {
        record(id)[0] = status;
        ++now.changes;
        changes.push_back(std::to_string(now.changes) + ":"
                          + std::to_string(store::bucket_of(id)));
    }

    std::string& record(api::PetId id)
    {
        return records.at(static_cast<std::size_t>(id - 1));
    }

    static ReadKey pet(api::PetId id) { return ReadKey::of_pet(id); }

    static ReadKey page(api::PetId after, int limit = 20,
                        std::optional<api::Status> status = std::nullopt)
    {
        api::ListQuery query;
        query.after = after;
        query.limit = limit;
        query.status = status;
        return ReadKey::of_page(query);
    }

    std::string json(api::PetId id)
    {
        std::string text;
        api::append_pet_json(text, *store::decode_record(id, record(id)));
        return text;
    }

    std::string expected(const ReadKey& key)
    {
        if (key.is_pet()) {
            return json(key.id);
        }
        const auto status = key.query().status;
        std::string body;
        int rows = 0;
        for (auto id = key.id + 1; id <= now.count && rows < key.limit; ++id) {
            if (!status || record(id)[0] == static_cast<char>(*status)) {
                body += (rows++ ? "," : "") + json(id);
            }
        }
        return "[" + body + "]";
    }

    // Replies to the oldest command from the current catalogue.
    void reply()
    {
        const auto command = link.commands.front();
        std::vector<std::string> items;
        if (command[0] == "EVALSHA") {
            int left = std::stoi(command[5]);
            for (auto id = std::stoll(command[4]) + 1;
                 id <= now.count && left > 0; ++id) {
                if (record(id)[0] == command[7][0]) {
                    items.push_back(integer(id));
                    items.push_back(bulk(record(id)));
                    --left;
                }
            }
            return link.reply(array(items));
        }
        if (command == Names{"MGET", schema.changes(), schema.segments()}) {
            return link.reply(
                array({bulk(std::to_string(now.changes)), bulk(kOneSegment)}));
        }
        if (command[0] == "MGET") {
            return link.reply(
                array({now.count ? bulk(std::to_string(now.count)) : kNil,
                       now.count ? bulk(std::to_string(now.changes)) : kNil}));
        }
        if (command[0] == "GET") {
            return link.reply(now.count ? bulk(std::to_string(now.count))
                                        : kNil);
        }
        const auto name = command[1];
        if (name == schema.change_log()) {
            const auto count =
                static_cast<std::size_t>(-std::stoll(command[2]));
            const auto skip = changes.size() - std::min(count, changes.size());
            for (auto i = skip; i < changes.size(); ++i) {
                items.push_back(bulk(changes[i]));
            }
            return link.reply(array(items));
        }
        const auto first = std::stoll(name.substr(name.rfind(':') + 1)) * 128;
        const auto size = std::min<long long>(now.count - first, 128);
        if (command[0] == "LINDEX") {
            const auto at = std::stoll(command[2]);
            return link.reply(at < size ? bulk(record(first + at + 1)) : kNil);
        }
        const auto last = std::stoll(command[3]);
        const auto end = last < 0 ? size : std::min(last + 1, size);
        for (auto at = std::stoll(command[2]); at < end; ++at) {
            items.push_back(bulk(record(first + at + 1)));
        }
        link.reply(array(items));
    }

    // The names of the commands without a reply.
    Names sent()
    {
        Names names;
        for (const auto& command : link.commands) {
            names.push_back(command[1] == schema.change_log() ? kLog.front()
                            : command[0] == "LRANGE" && command[3] == "128"
                                ? kWhole.front()
                                : command[0]);
        }
        return names;
    }

    // Simulates a request: reads ahead, gets `now` with the limiter's reply,
    // gets its response. Returns the commands sent.
    Names ask(const ReadKey& key)
    {
        know_ids(cache);
        const bool ahead = reader.read_ahead(key);
        if (ahead) {
            reader.confirm(key, now);
        }
        const auto response = cache.find_latest(key, now);
        Waiter waiter;
        if (response == nullptr) {
            reader.read(key, now, waiter);
        }
        Names cost = sent();
        if (cost == kLog) {
            reply();
            const Names more = sent();
            cost.insert(cost.end(), more.begin(), more.end());
        }
        while (!link.commands.empty()) {
            reply_and_count();
        }
        CHECK((response ? response->body : body_of(waiter)) == expected(key));
        return cost;
    }

    void reply_and_count()
    {
        whole += sent().front() == kWhole.front();
        reply();
    }

    store::Version now;
    std::vector<std::string> records;
    std::vector<std::string> changes;  // the log
    int whole = 0;                     // number of whole buckets read
    const store::Schema schema{"petstore"};
    const store::PetCommands catalogue{schema};
    FakeLink link;
    RecordedDamage log;
    petstore::metrics::CacheLookups lookups;
    store::ReadCache cache{{link, catalogue, log}, lookups, 1 << 20};
    store::VersionQueue versions{link, cache};
    Reader reader{cache, versions};
};

}  // namespace

TEST_CASE("a bucket that is missed twice is loaded, and then not read again",
          "[store]")
{
    Shop shop(1000);
    CHECK(shop.ask(Shop::pet(130)) == kOne);
    CHECK(shop.ask(Shop::pet(131)) == kWhole);
    for (api::PetId id = 129; id <= 256; ++id) {
        CHECK(shop.ask(Shop::pet(id)) == kNone);
    }
    for (int limit = 1; limit <= 100; ++limit) {
        CHECK(shop.ask(Shop::page(128 + limit / 4, limit)) == kNone);
    }
    for (const auto status :
         {api::Status::available, api::Status::pending, api::Status::sold}) {
        for (api::PetId after = 128; after < 170; ++after) {
            CHECK(shop.ask(Shop::page(after, 20, status)) == kNone);
        }
    }
    CHECK(shop.ask(Shop::pet(128)) == kOne);
    CHECK(shop.ask(Shop::pet(257)) == kOne);
}

TEST_CASE("a page over two buckets loads both", "[store]")
{
    Shop shop(1000);
    const Names two_slices{"LRANGE", "LRANGE"};
    const Names two_whole{"LRANGE whole", "LRANGE whole"};
    CHECK(shop.ask(Shop::page(120)) == two_slices);
    CHECK(shop.ask(Shop::page(121)) == two_whole);
    CHECK(shop.ask(Shop::page(122)) == kNone);
    CHECK(shop.ask(Shop::page(0, 100)) == kNone);
    CHECK(shop.ask(Shop::page(156, 99)) == kNone);
    CHECK(shop.ask(Shop::page(156, 100)) == two_slices);
    // If one of the two is cached, only the other is read.
    CHECK(shop.ask(Shop::page(250)) == kWhole);
    CHECK(shop.ask(Shop::page(250, 19)) == kNone);
}

TEST_CASE("the last page needs no read", "[store]")
{
    const int pets = GENERATE(256, 300);
    Shop shop(pets);
    for (int i = 0; i < 2; ++i) {
        for (api::PetId id = 129 + i; id <= pets; id += 128) {
            shop.ask(Shop::pet(id));
        }
    }
    for (int limit = 1; limit <= 100; ++limit) {
        CHECK(shop.ask(Shop::page(pets - limit / 2, limit)) == kNone);
        CHECK(shop.ask(Shop::page(pets - limit / 2, limit, api::Status::sold))
              == kNone);
    }
    CHECK(shop.ask(Shop::page(pets)) == kNone);
    CHECK(shop.ask(Shop::page(1LL << 60)) == kNone);
}

TEST_CASE("a pet created elsewhere is visible at once", "[store]")
{
    Shop shop(200);
    shop.ask(Shop::pet(130));
    shop.ask(Shop::pet(131));
    CHECK(shop.ask(Shop::page(190)) == kNone);
    for (int i = 0; i < 60; ++i) {
        shop.add();
        const auto last = shop.now.count;
        shop.ask(Shop::page(last - 10));
        shop.ask(Shop::page(last - 30, 50, api::Status::pending));
        shop.ask(Shop::pet(last));
        // Older pets stay cached.
        CHECK(shop.ask(Shop::page(130 + i % 30)) == kNone);
        CHECK(shop.ask(Shop::pet(190)) == kNone);
    }
}

TEST_CASE("a changed pet invalidates its bucket", "[store]")
{
    Shop shop(300);
    for (const api::PetId id : {1, 2, 129, 130, 257, 258}) {
        shop.ask(Shop::pet(id));
    }
    CHECK(shop.ask(Shop::page(100, 100)) == kNone);
    shop.change(150, 'a');
    CHECK(shop.ask(Shop::page(140, 5)) == Names{"LRANGE log", "LRANGE"});
    CHECK(shop.ask(Shop::page(141, 5)) == kWhole);
    CHECK(shop.ask(Shop::page(142, 5)) == kNone);
    CHECK(shop.ask(Shop::page(100, 100)) == kNone);
    // A change while the bucket is in flight.
    shop.change(151, 's');
    CHECK(shop.ask(Shop::pet(140)) == Names{"LRANGE log", "LINDEX"});
    CHECK(shop.ask(Shop::pet(141)) == kWhole);
    shop.change(141, 'p');
    shop.ask(Shop::pet(141));
    shop.ask(Shop::page(130, 40));
}

TEST_CASE("a changed pet does not invalidate other buckets", "[store]")
{
    Shop shop(1000);
    const auto sold = api::Status::sold;
    const std::vector<ReadKey> before = {Shop::pet(128), Shop::page(100, 27),
                                         Shop::page(40, 20, sold)};
    const std::vector<ReadKey> after = {Shop::pet(257), Shop::page(256, 5),
                                        Shop::page(256, 5, sold)};
    const std::vector<ReadKey> hit = {
        Shop::pet(200), Shop::pet(129), Shop::page(100, 29),
        Shop::page(100, 20, sold), Shop::page(255, 3, sold)};
    // Responses read from Redis, and built from cached buckets.
    const bool from_buckets = GENERATE(false, true);
    for (int i = 0; from_buckets && i < 2; ++i) {
        for (api::PetId id = 1 + i; id <= 1000; id += 128) {
            shop.ask(Shop::pet(id));
        }
    }
    for (const auto* keys : {&before, &after, &hit}) {
        for (const auto& key : *keys) {
            shop.ask(key);
        }
    }
    shop.change(150, shop.record(150)[0] == 's' ? 'a' : 's');
    CHECK(shop.ask(before[0]) == kLog);
    for (const auto* keys : {&before, &after}) {
        for (const auto& key : *keys) {
            CHECK(shop.ask(key) == kNone);
        }
    }
    for (const auto& key : hit) {
        CHECK(shop.cache.find_latest(key, shop.now) == nullptr);
    }
    for (const auto& key : hit) {
        shop.ask(key);
    }
}

TEST_CASE("an unlogged change invalidates everything", "[store]")
{
    Shop shop(300);
    for (const api::PetId id : {1, 2, 257, 258}) {
        shop.ask(Shop::pet(id));
    }
    CHECK(shop.ask(Shop::pet(3)) == kNone);
    shop.change(150, 'a');
    switch (GENERATE(0, 1, 2, 3, 4)) {
    case 0:  // by an older petstorectl
        shop.changes.pop_back();
        break;
    case 1:  // followed by a logged change
        shop.changes.pop_back();
        shop.change(151, 'a');
        break;
    case 2:  // cache clear
        shop.changes.clear();
        shop.now.changes += 1'000'000;
        break;
    case 3:  // more changes than the log holds
        for (int i = 0; i < store::ChangeLog::kLength; ++i) {
            shop.change(150, i % 2 ? 'a' : 's');
        }
        break;
    default:
        shop.changes.back() = "nonsense";
    }
    shop.record(3) = "s8:another";
    CHECK(shop.cache.find_latest(Shop::pet(3), shop.now) == nullptr);
    shop.ask(Shop::pet(3));
    CHECK(shop.cache.find_latest(Shop::pet(260), shop.now) == nullptr);
    shop.ask(Shop::pet(4));
    CHECK(shop.ask(Shop::pet(5)) == kNone);
}

TEST_CASE("concurrent requests share one read of the change log", "[store]")
{
    Shop shop(300);
    for (const api::PetId id : {1, 2, 257, 258}) {
        shop.ask(Shop::pet(id));
    }
    shop.change(150, 'a');
    const auto first = shop.now;
    Waiter waiters[4];
    for (const int i : {0, 1}) {
        CHECK(shop.cache.find_latest(Shop::pet(10 + i), first) == nullptr);
        shop.reader.read(Shop::pet(10 + i), first, waiters[i]);
    }
    CHECK(shop.sent() == kLog);
    SECTION("a later request uses it if it has the later change")
    {
        shop.change(151, 'a');
    }
    SECTION("else it reads the log again")
    {
        shop.reply();
        CHECK(body_of(waiters[0]) == shop.json(10));
        shop.change(12, 'a');
        CHECK(shop.cache.find_latest(Shop::pet(12), shop.now) == nullptr);
        shop.reader.read(Shop::pet(12), shop.now, waiters[2]);
        CHECK(shop.sent() == kLog);
    }
    SECTION("and if the reply had left before")
    {
        const std::string reply = array({bulk(shop.changes.back())});
        shop.change(12, 'a');
        CHECK(shop.cache.find_latest(Shop::pet(12), shop.now) == nullptr);
        shop.reader.read(Shop::pet(12), shop.now, waiters[2]);
        CHECK(shop.sent() == kLog);
        shop.link.reply(reply);
        CHECK(body_of(waiters[0]) == shop.json(10));
        CHECK(waiters[2].results.empty());
        CHECK(shop.sent() == kLog);
    }
    if (waiters[2].results.empty()) {
        shop.reader.read(Shop::pet(12), shop.now, waiters[2]);
    }
    // Served from memory, except for a changed pet.
    shop.reader.read(Shop::pet(257), shop.now, waiters[3]);
    while (!shop.link.commands.empty()) {
        shop.reply();
    }
    CHECK(body_of(waiters[0]) == shop.json(10));
    CHECK(body_of(waiters[1]) == shop.json(11));
    CHECK(waiters[2].results.at(0).value()->body == shop.json(12));
    CHECK(body_of(waiters[3]) == shop.json(257));
}

TEST_CASE("requests with many versions share two reads of the change log",
          "[store]")
{
    Shop shop(300);
    shop.ask(Shop::pet(1));
    const bool logged = GENERATE(true, false);
    Waiter waiters[20];
    for (Waiter& waiter : waiters) {
        shop.change(150, 'a');
        if (!logged) {
            shop.changes.pop_back();
        }
        CHECK(shop.cache.find_latest(Shop::pet(10), shop.now) == nullptr);
        shop.reader.read(Shop::pet(10), shop.now, waiter);
    }
    int reads = 0;
    while (!shop.link.commands.empty()) {
        reads += shop.link.commands.front()[1] == shop.schema.change_log();
        // The reply left Redis before the later changes.
        const auto changes = shop.changes;
        if (logged && reads == 1) {
            shop.changes.resize(1);
        }
        shop.reply();
        shop.changes = changes;
    }
    CHECK(reads == 2);
    for (const Waiter& waiter : waiters) {
        CHECK(body_of(waiter) == shop.json(10));
    }
}

TEST_CASE("without the change log everything is read again", "[store]")
{
    Shop shop(300);
    for (const api::PetId id : {1, 2}) {
        shop.ask(Shop::pet(id));
    }
    shop.change(150, 'a');
    Waiter waiter;
    CHECK(shop.cache.find_latest(Shop::pet(3), shop.now) == nullptr);
    shop.reader.read(Shop::pet(3), shop.now, waiter);
    CHECK(shop.sent() == kLog);
    SECTION("refused")
    {
        shop.link.reply("-NOPERM x\r\n");
        CHECK(shop.sent() == kOne);
        shop.reply();
        CHECK(body_of(waiter) == shop.json(3));
    }
    SECTION("of another generation")
    {
        shop.link.generation = 2;
        shop.reply();
        CHECK(shop.sent() == Names{"MGET"});
        shop.record(3) = "s8:another";
        while (!shop.link.commands.empty()) {
            shop.reply();
        }
        CHECK(body_of(waiter) == shop.json(3));
    }
    SECTION("lost")
    {
        shop.link.lose(NoReply::in_doubt);
        const auto* error = error_of(waiter);
        REQUIRE(error);
        CHECK(error->code == api::ErrorCode::service_unavailable);
        CHECK(shop.ask(Shop::pet(3)) == kLog);
    }
    SECTION("not sent")
    {
        Waiter second;
        shop.link.full = true;
        shop.reply();
        CHECK(body_of(waiter) == shop.json(3));
        shop.change(150, 's');
        CHECK(shop.cache.find_latest(Shop::pet(3), shop.now) == nullptr);
        shop.reader.read(Shop::pet(3), shop.now, second);
        REQUIRE(error_of(second));
    }
}

TEST_CASE("fewer changes than before invalidate everything", "[store]")
{
    Shop shop(300);
    for (const api::PetId id : {1, 2}) {
        shop.ask(Shop::pet(id));
    }
    shop.now.changes -= 100;
    shop.record(3) = "s8:another";
    CHECK(shop.ask(Shop::pet(3)) == Names{"MGET"});  // the ids, then the pet
    // From now on, changes have new numbers.
    CHECK(shop.ask(Shop::pet(4)) == kWhole);
    CHECK(shop.ask(Shop::pet(5)) == kNone);
    shop.change(200, 'a');
    CHECK(shop.ask(Shop::pet(5)) == kLog);
    shop.change(5, 'p');
    CHECK(shop.ask(Shop::pet(5)) == Names{"LRANGE log", "LINDEX"});
}

TEST_CASE("a filtered page depends on the first pet of the next one", "[store]")
{
    Shop shop(600);
    for (auto& record : shop.records) {
        record[0] = 'a';
    }
    shop.change(5, 's');
    shop.change(300, 's');
    // Responses read from Redis, and built from cached buckets.
    const bool from_buckets = GENERATE(false, true);
    for (int i = 0; from_buckets && i < 2; ++i) {
        for (api::PetId id = 1 + i; id <= 600; id += 128) {
            shop.ask(Shop::pet(id));
        }
    }
    const auto key = Shop::page(0, 1, api::Status::sold);
    const auto next_after = [&] {
        for (int i = 0; i < 3; ++i) {
            shop.ask(key);
        }
        const auto response = shop.cache.find_latest(key, shop.now);
        REQUIRE(response);
        return response->next_after;
    };
    CHECK(next_after() == 5);
    shop.change(300, 'a');
    CHECK(next_after() == 0);
    shop.change(590, 's');
    CHECK(next_after() == 5);
    shop.change(100, 's');
    CHECK(next_after() == 5);
}

TEST_CASE("concurrent requests share one load of their bucket", "[store]")
{
    Shop shop(1000);
    shop.ask(Shop::pet(900));
    const bool moved = GENERATE(false, true);
    if (moved) {
        shop.ask(Shop::pet(200));
        shop.ask(Shop::pet(201));
        shop.whole = 0;
        shop.change(200, 'a');
    }
    std::vector<Waiter> waiters(64);
    std::vector<ReadKey> keys;
    for (int i = 0; i < 64; ++i) {
        keys.push_back(i % 2 ? Shop::page(128 + i, 5) : Shop::pet(129 + i));
    }
    std::vector<bool> ahead;
    for (const auto& key : keys) {
        ahead.push_back(shop.reader.read_ahead(key));
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (ahead[i]) {
            shop.reader.confirm(keys[i], shop.now);
        }
        REQUIRE(shop.cache.find_latest(keys[i], shop.now) == nullptr);
        shop.reader.read(keys[i], shop.now, waiters[i]);
    }
    if (moved) {
        CHECK(shop.sent() == kLog);
        shop.reply();
    }
    CHECK(shop.sent().size() == 2);
    while (!shop.link.commands.empty()) {
        shop.reply_and_count();
    }
    CHECK(shop.whole == 1);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        REQUIRE(waiters[i].results.size() == 1);
        CHECK(body_of(waiters[i]) == shop.expected(keys[i]));
    }
}

TEST_CASE("filtered pages load the buckets that hold them", "[store]")
{
    Shop shop(1000);
    const auto sold = [](api::PetId after) {
        return Shop::page(after, 50, api::Status::sold);
    };
    // The first read registers the buckets; the second loads them in the
    // background.
    CHECK(shop.ask(sold(100)) == kScript);
    CHECK(shop.whole == 0);
    CHECK(shop.ask(sold(101)) == kScript);
    CHECK(shop.whole == 2);
    CHECK(shop.ask(sold(103)) == kNone);
    CHECK(shop.ask(Shop::page(120, 40, api::Status::pending)) == kNone);
    CHECK(shop.ask(Shop::pet(222)) == kNone);
}

TEST_CASE("a page of a rare status is left to the script", "[store]")
{
    Shop shop(128 * 40);
    for (api::PetId id = 1; id <= shop.now.count; ++id) {
        shop.record(id)[0] = 'a';
    }
    shop.record(5000)[0] = 's';
    for (int i = 0; i < 3; ++i) {
        for (api::PetId id = 1 + i; id < shop.now.count; id += 128) {
            shop.ask(Shop::pet(id));
        }
    }
    CHECK(shop.ask(Shop::page(200)) == kNone);
    CHECK(shop.ask(Shop::page(0, 20, api::Status::sold)) == kScript);
    CHECK(shop.ask(Shop::page(1, 20, api::Status::sold)) == kScript);
    CHECK(shop.ask(Shop::page(4000, 20, api::Status::sold)) == kNone);
}

TEST_CASE("a damaged record fails only the reads that need it", "[store]")
{
    Shop shop(200);
    shop.record(50) = "nonsense";
    for (int i = 0; i < 4; ++i) {
        shop.ask(Shop::pet(1 + i));
        Waiter waiter;
        shop.reader.read(Shop::pet(50), shop.now, waiter);
        while (!shop.link.commands.empty()) {
            shop.reply();
        }
        const auto* error = error_of(waiter);
        REQUIRE(error);
        CHECK(error->code == api::ErrorCode::internal_error);
        shop.ask(Shop::page(60 + i));
    }
}

namespace {

const std::string kCatalogue = "petstore:{petstore:pets}:";

// The error of a read whose replies come from the catalogue.
api::ErrorCode failure(Shop& shop, const ReadKey& key,
                       const std::optional<store::Version>& now)
{
    Waiter waiter;
    shop.reader.read(key, now, waiter);
    while (!shop.link.commands.empty()) {
        shop.reply();
    }
    const auto* error = error_of(waiter);
    REQUIRE(error);
    return error->code;
}

}  // namespace

TEST_CASE("pets missing from a bucket are damage", "[store]")
{
    Shop shop(200);
    shop.now.count = 190;  // Redis has lost the last ten
    const store::Version known{200, shop.now.changes};
    for (const auto& key :
         {Shop::pet(191), Shop::pet(195), Shop::pet(200), Shop::page(189, 1),
          Shop::page(190, 1), Shop::page(100, 100), Shop::page(199)}) {
        // First as a single pet, then with the whole bucket.
        for (int i = 0; i < 3; ++i) {
            shop.log.keys.clear();
            CHECK(failure(shop, key, known) == api::ErrorCode::internal_error);
            CHECK(shop.log.keys
                  == std::vector<std::string>{kCatalogue + "bucket:1"});
        }
    }
    CHECK(failure(shop, Shop::pet(201), known)
          == api::ErrorCode::pet_not_found);
    shop.ask(Shop::pet(190));
    shop.ask(Shop::page(188, 1));
    shop.ask(Shop::page(200));
}

TEST_CASE("damage names the bucket that is missing", "[store]")
{
    Shop shop(400);
    // A page of 100 pets from the first two buckets.
    Waiter waiter;
    shop.reader.read(Shop::page(100, 100), shop.now, waiter);
    REQUIRE(shop.sent() == Names{"LRANGE", "LRANGE"});
    shop.reply();
    shop.link.reply(array({}));
    const auto* error = error_of(waiter);
    REQUIRE(error);
    CHECK(error->code == api::ErrorCode::internal_error);
    CHECK(shop.log.keys == std::vector<std::string>{kCatalogue + "bucket:1"});
}

TEST_CASE("pets created after the version was read are not damage", "[store]")
{
    Shop shop(128);
    const auto before = shop.now;
    Waiter waiter;
    shop.reader.read(Shop::page(100, 50), before, waiter);
    REQUIRE(shop.sent() == Names{"LRANGE", "LRANGE"});
    shop.reply();
    for (int i = 0; i < 3; ++i) {
        shop.add();
    }
    shop.reply();
    CHECK_FALSE(error_of(waiter));
    // With a version from before the pet was created.
    CHECK(failure(shop, Shop::pet(132), before)
          == api::ErrorCode::pet_not_found);
    CHECK(shop.log.keys.empty());
}

TEST_CASE("a bucket of the wrong type is damage", "[store]")
{
    const auto key =
        GENERATE(Shop::pet(130), Shop::page(130, 10), Shop::page(120, 20));
    Shop shop(400);
    for (int i = 0; i < 3; ++i) {
        Waiter waiter;
        shop.reader.read(key, shop.now, waiter);
        while (!shop.link.commands.empty()) {
            if (shop.link.commands.front()[1] == kCatalogue + "bucket:1") {
                shop.link.reply("-WRONGTYPE x\r\n");
            } else {
                shop.reply();
            }
        }
        const auto* error = error_of(waiter);
        REQUIRE(error);
        CHECK(error->code == api::ErrorCode::internal_error);
    }
    CHECK(shop.log.keys
          == std::vector<std::string>(3, kCatalogue + "bucket:1"));
}

TEST_CASE("damage found by the script of a filtered page is logged", "[store]")
{
    Shop shop(400);
    const auto key = Shop::page(0, 20, api::Status::sold);
    const auto ask = [&](const std::string& reply) {
        Waiter waiter;
        shop.reader.read(key, shop.now, waiter);
        shop.link.reply(reply);
        const auto* error = error_of(waiter);
        REQUIRE(error);
        return error->code;
    };
    CHECK(ask("-DAMAGED " + kCatalogue + "status:sold\r\n")
          == api::ErrorCode::internal_error);
    // An invalid record, and one of another status.
    CHECK(ask(array({integer(2), bulk("s1:x"), integer(300), bulk("s1x")}))
          == api::ErrorCode::internal_error);
    CHECK(ask(array({integer(2), bulk("a1:x")}))
          == api::ErrorCode::internal_error);
    CHECK(ask("-DAMAGED \x1B[2Jnonsense\r\n")
          == api::ErrorCode::internal_error);
    CHECK(shop.log.keys
          == std::vector<std::string>{kCatalogue + "status:sold",
                                      kCatalogue + "bucket:2",
                                      kCatalogue + "bucket:0"});
}

TEST_CASE("an impossible version is damage", "[store]")
{
    struct Case {
        store::Version version;
        const char* key;
    };
    for (const auto& [version, name] :
         {Case{{-1, 5}, "count"}, Case{{0, 5}, "count"},
          Case{{-1, -1}, "count"}, Case{{7, -1}, "changes"},
          Case{{0, -1}, "changes"}, Case{{7, 0}, "changes"}}) {
        CAPTURE(version.count, version.changes);
        Shop shop(200);
        CHECK(shop.cache.find_latest(Shop::pet(1), version) == nullptr);
        for (const auto& key :
             {Shop::pet(1), Shop::pet(1000), Shop::page(0), Shop::page(1000),
              Shop::page(0, 20, api::Status::sold)}) {
            shop.log.keys.clear();
            CHECK(failure(shop, key, version)
                  == api::ErrorCode::internal_error);
            CHECK(shop.log.keys == std::vector<std::string>{kCatalogue + name});
        }
        CHECK(shop.link.sent.empty());
        // Data read ahead are not kept.
        REQUIRE(shop.reader.read_ahead(Shop::page(3)));
        shop.reader.confirm(Shop::page(3), version);
        shop.reply();
        CHECK(shop.ask(Shop::page(3)) != kNone);
        CHECK(shop.ask(Shop::page(3)) == kNone);
    }
    CHECK(store::Version{0, 0}.damage() == store::Version::Damage::none);
    CHECK(store::Version{1, 1}.damage() == store::Version::Damage::none);
}

TEST_CASE("the numbers of a version are parsed", "[store]")
{
    Replies replies;
    const auto parsed = [&](const std::string& last_id,
                            const std::string& changes) {
        const auto& reply = replies(array({last_id, changes}));
        return store::Version::parse(reply[0], reply[1]);
    };
    CHECK(parsed(bulk("7"), bulk("5")).count == 7);
    CHECK(parsed(bulk("7"), bulk("5")).changes == 5);
    CHECK(parsed(kNil, kNil).is_empty());
    CHECK(parsed(bulk("0"), kNil).is_empty());
    for (const char* wrong : {"", "x", "-1", "007", "1.5", "1e3", " 1", "0x10",
                              "nan", "99999999999999999999"}) {
        CAPTURE(wrong);
        CHECK(parsed(bulk(wrong), bulk("5")).count == -1);
        CHECK(parsed(bulk("7"), bulk(wrong)).changes == -1);
    }
}

namespace {

// Reads from a catalogue that looks empty, and replies to the commands that
// examine it.
struct Vacancy {
    ReadOutcome read(const ReadKey& key, const std::string& first_pet,
                     const std::string& last_id)
    {
        Waiter waiter;
        shop.reader.read(key, store::Version{}, waiter);
        REQUIRE(shop.link.commands.size() == 2);
        CHECK(shop.link.commands[0]
              == Names{"LINDEX", kCatalogue + "bucket:0", "0"});
        CHECK(shop.link.commands[1] == Names{"GET", kCatalogue + "count"});
        shop.link.reply(first_pet);
        CHECK(waiter.results.empty());
        shop.link.reply(last_id);
        REQUIRE(waiter.results.size() == 1);
        return waiter.results[0];
    }

    Shop shop{0};
};

}  // namespace

TEST_CASE("a catalogue that looks empty is examined", "[store]")
{
    Vacancy vacancy;
    auto& log = vacancy.shop.log;
    const auto key = GENERATE(Shop::page(0), Shop::page(1000), Shop::pet(1),
                              Shop::page(0, 20, api::Status::sold));
    CHECK(vacancy.shop.cache.find_latest(key, {}) == nullptr);

    // Empty, set back to 0, or with a pet created in between.
    const auto check_empty = [&](const ReadOutcome& result) {
        const auto* error = error_of(result);
        if (key.is_pet()) {
            REQUIRE(error);
            CHECK(error->code == api::ErrorCode::pet_not_found);
        } else {
            REQUIRE_FALSE(error);
            const auto& response = *result.value();
            CHECK(response.body == "[]");
            CHECK(response.next_after == 0);
        }
    };
    check_empty(vacancy.read(key, kNil, kNil));
    check_empty(vacancy.read(key, kNil, bulk("0")));
    check_empty(vacancy.read(key, bulk("a1:x"), bulk("1")));
    CHECK(log.keys.empty());

    const auto check_damage = [&](const ReadOutcome& result, const char* name) {
        const auto* error = error_of(result);
        REQUIRE(error);
        CHECK(error->code == api::ErrorCode::internal_error);
        CHECK(log.keys == std::vector<std::string>{kCatalogue + name});
        log.keys.clear();
    };
    check_damage(vacancy.read(key, bulk("a1:x"), kNil), "count");
    check_damage(vacancy.read(key, bulk("a1:x"), bulk("0")), "count");
    check_damage(vacancy.read(key, kNil, bulk("x")), "count");
    check_damage(vacancy.read(key, kNil, "-WRONGTYPE x\r\n"), "count");
    check_damage(vacancy.read(key, "-WRONGTYPE x\r\n", bulk("1")), "bucket:0");

    const auto failed = vacancy.read(key, "-LOADING x\r\n", kNil);
    REQUIRE(error_of(failed));
    CHECK(error_of(failed)->code == api::ErrorCode::service_unavailable);
    CHECK(log.keys.empty());
}

TEST_CASE("requests share one examination of an empty catalogue", "[store]")
{
    Shop shop(0);
    std::vector<Waiter> waiters(3);
    shop.reader.read(Shop::page(0), store::Version{}, waiters[0]);
    shop.reader.read(Shop::page(0), store::Version{}, waiters[1]);
    shop.reader.read(Shop::pet(1), store::Version{}, waiters[2]);
    CHECK(shop.link.sent.size() == 2);
    if (GENERATE(false, true)) {
        shop.reply();
        shop.reply();
        CHECK_FALSE(error_of(waiters[0]));
        CHECK_FALSE(error_of(waiters[1]));
        CHECK(error_of(waiters[2])->code == api::ErrorCode::pet_not_found);
    } else {
        for (int i = 0; i < 2; ++i) {
            shop.link.lose(NoReply::in_doubt);
        }
        for (const auto& waiter : waiters) {
            REQUIRE(error_of(waiter));
            CHECK(error_of(waiter)->code
                  == api::ErrorCode::service_unavailable);
        }
    }
    // The next request examines it again.
    Waiter next;
    shop.link.full = true;
    shop.reader.read(Shop::page(0), store::Version{}, next);
    REQUIRE(error_of(next));
    CHECK(error_of(next)->code == api::ErrorCode::service_unavailable);
}

TEST_CASE("a request without a version reads it first", "[store]")
{
    Shop shop(200);
    const auto ask = [&](const ReadKey& key) {
        Waiter waiter;
        shop.reader.read(key, std::nullopt, waiter);
        Names sent = shop.sent();
        while (!shop.link.commands.empty()) {
            shop.reply();
            const auto more = shop.sent();
            sent.insert(sent.end(), more.begin(), more.end());
        }
        if (const auto* error = error_of(waiter)) {
            CHECK(error->code == api::ErrorCode::pet_not_found);
            CHECK(key.id > shop.now.count);
        } else {
            CHECK(body_of(waiter) == shop.expected(key));
        }
        return sent;
    };
    CHECK(ask(Shop::page(0)) == Names{"MGET", "LRANGE"});
    CHECK(ask(Shop::page(0)) == Names{"MGET"});  // the page is cached
    CHECK(ask(Shop::pet(201)) == Names{"MGET"});
    CHECK(ask(Shop::pet(150)) == Names{"MGET", "LINDEX"});
    shop.change(1, 's');
    CHECK(ask(Shop::page(0)) == Names{"MGET", "LRANGE log", "LRANGE whole"});

    Waiter waiter;
    shop.reader.read(Shop::page(0), std::nullopt, waiter);
    shop.link.reply(array({kNil, bulk("5")}));
    CHECK(error_of(waiter)->code == api::ErrorCode::internal_error);
    CHECK(shop.log.keys == std::vector<std::string>{kCatalogue + "count"});

    for (const std::string reply :
         {"-LOADING x\r\n", "*1\r\n$1\r\n7\r\n", "$1\r\n7\r\n"}) {
        Waiter failed;
        shop.reader.read(Shop::page(0), std::nullopt, failed);
        shop.link.reply(reply);
        CHECK(error_of(failed)->code == api::ErrorCode::service_unavailable);
    }
    Waiter lost;
    shop.link.full = true;
    shop.reader.read(Shop::page(0), std::nullopt, lost);
    CHECK(error_of(lost)->code == api::ErrorCode::service_unavailable);
}

TEST_CASE("what was read before a connection was lost is read again", "[store]")
{
    Shop shop(200);
    const auto key = GENERATE(Shop::pet(150), Shop::page(140, 50));
    Waiter waiter;
    shop.reader.read(key, shop.now, waiter);
    shop.link.generation = 2;
    shop.link.reply(key.is_pet() ? kNil : array({}));
    CHECK(waiter.results.empty());
    while (!shop.link.commands.empty()) {
        shop.reply();
    }
    CHECK(body_of(waiter) == shop.expected(key));
    CHECK(shop.log.keys.empty());
}

TEST_CASE("buckets are dropped with the connection, or for a smaller catalogue",
          "[store]")
{
    Shop shop(200);
    shop.ask(Shop::pet(1));
    shop.ask(Shop::pet(2));
    CHECK(shop.ask(Shop::pet(3)) == kNone);
    if (GENERATE(false, true)) {
        shop.link.generation = 2;
    } else {
        shop.now.count = 150;
    }
    shop.record(4) = "s8:another";
    CHECK(shop.cache.find_latest(Shop::pet(4), shop.now) == nullptr);
    CHECK(shop.ask(Shop::pet(4)) == kOne);
    CHECK(shop.ask(Shop::pet(5)) == kWhole);
    CHECK(shop.ask(Shop::pet(6)) == kNone);
}

TEST_CASE("a bucket in flight while all data are dropped is not kept",
          "[store]")
{
    Shop shop(200);
    shop.ask(Shop::pet(1));
    Waiter waiter;
    shop.reader.read(Shop::pet(2), shop.now, waiter);
    CHECK(shop.sent() == kWhole);
    // The catalogue was set back meanwhile.
    CHECK(shop.cache.find_latest(Shop::pet(2), {150, shop.now.changes})
          == nullptr);
    shop.reply();
    CHECK(shop.sent() == Names{"MGET"});
    while (!shop.link.commands.empty()) {
        shop.reply();
    }
    CHECK_FALSE(error_of(waiter));
    CHECK(shop.cache.find_latest(Shop::pet(3), {150, shop.now.changes})
          == nullptr);
}

TEST_CASE("a lost bucket load fails its waiters", "[store]")
{
    Shop shop(200);
    shop.ask(Shop::pet(1));
    Waiter waiters[2];
    shop.reader.read(Shop::pet(2), shop.now, waiters[0]);
    shop.reader.read(Shop::page(20), shop.now, waiters[1]);
    REQUIRE(shop.sent() == kWhole);
    if (GENERATE(false, true)) {
        shop.link.lose(NoReply::in_doubt);
    } else {
        shop.link.reply("-LOADING x\r\n");
    }
    for (const auto& waiter : waiters) {
        const auto* error = error_of(waiter);
        REQUIRE(error);
        CHECK(error->code == api::ErrorCode::service_unavailable);
    }
}

TEST_CASE("a bucket load that cannot be sent fails once", "[store]")
{
    Shop shop(200);
    shop.ask(Shop::pet(1));
    shop.link.full = true;
    Waiter waiter;
    shop.reader.read(Shop::pet(2), shop.now, waiter);
    const auto* error = error_of(waiter);
    REQUIRE(error);
    CHECK(error->code == api::ErrorCode::service_unavailable);
}

TEST_CASE("a response built from buckets is cached the second time", "[store]")
{
    Shop shop(200);
    shop.ask(Shop::pet(1));
    shop.ask(Shop::pet(2));
    const auto key = Shop::page(40);
    const auto first = shop.cache.find_latest(key, shop.now);
    const auto second = shop.cache.find_latest(key, shop.now);
    const auto third = shop.cache.find_latest(key, shop.now);
    REQUIRE(first);
    CHECK(first != second);
    CHECK(second == third);
}

TEST_CASE("a page in flight while all data are dropped is not kept", "[store]")
{
    Shop shop(200);
    const auto key = Shop::page(0);
    const auto before = shop.now;
    Waiter waiter;
    if (GENERATE(false, true)) {
        REQUIRE(shop.reader.read_ahead(key));
        shop.reader.confirm(key, before);
    } else {
        shop.reader.read(key, before, waiter);
    }
    REQUIRE(shop.sent() == kSlice);

    // Redis executes the read on data of another generation, or on a smaller
    // catalogue that later grows again.
    if (GENERATE(false, true)) {
        shop.link.generation = 2;
    } else {
        CHECK(shop.cache.find_latest(key, {150, before.changes}) == nullptr);
    }
    shop.record(4) = "s8:before";
    shop.reply();
    shop.record(4) = "s8:after";
    CHECK(shop.cache.find_latest(key, before) == nullptr);
    CHECK(shop.ask(key) != kNone);
}

TEST_CASE("a read in flight is not joined once all data are dropped", "[store]")
{
    Shop shop(200);
    const auto key = GENERATE(true, false) ? Shop::pet(7) : Shop::page(0);
    Waiter first;
    Waiter second;
    shop.reader.read(key, shop.now, first);
    REQUIRE(shop.sent().size() == 1);
    shop.link.generation = 2;
    shop.reader.read(key, shop.now, second);
    CHECK(shop.sent().size() == 2);
    shop.reply();
    CHECK(second.results.empty());
    shop.record(7) = "s8:after";
    while (!shop.link.commands.empty()) {
        shop.reply();
    }
    CHECK(body_of(second) == shop.expected(key));
}

TEST_CASE("waiters for a bucket of another generation read again", "[store]")
{
    Shop shop(200);
    shop.ask(Shop::pet(1));
    const auto before = shop.now;
    Waiter waiter;
    shop.reader.read(Shop::pet(2), before, waiter);
    REQUIRE(shop.sent() == kWhole);
    shop.link.generation = 2;
    shop.reply();
    REQUIRE(waiter.results.empty());
    shop.change(2, 's');
    CHECK(shop.sent() == Names{"MGET"});
    while (!shop.link.commands.empty()) {
        shop.reply();
    }
    CHECK(body_of(waiter) == shop.json(2));
    // Nothing is cached with a version of the earlier generation.
    CHECK(shop.cache.find_latest(Shop::pet(2), before) == nullptr);
    CHECK(shop.cache.find_latest(Shop::pet(3), before) == nullptr);
}

TEST_CASE("a dropped bucket load does not end its successor", "[store]")
{
    Shop shop(200);
    shop.ask(Shop::pet(1));
    Waiter old;
    Waiter missed;
    Waiter first;
    Waiter second;
    shop.reader.read(Shop::pet(2), shop.now, old);
    REQUIRE(shop.sent() == kWhole);
    shop.link.generation = 2;
    know_ids(shop.cache);
    shop.reader.read(Shop::pet(5), shop.now, missed);
    shop.reader.read(Shop::pet(3), shop.now, first);
    REQUIRE(shop.sent() == Names{"LRANGE whole", "LINDEX", "LRANGE whole"});
    shop.reply();
    REQUIRE(shop.sent() == Names{"LINDEX", "LRANGE whole", "MGET"});
    shop.reader.read(Shop::pet(4), shop.now, second);
    CHECK(shop.sent().size() == 3);
    while (!shop.link.commands.empty()) {
        shop.reply();
    }
    CHECK(body_of(old) == shop.json(2));
    CHECK(body_of(first) == shop.json(3));
    CHECK(body_of(second) == shop.json(4));
}
