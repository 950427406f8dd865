// The caches of several workers over a real Redis while pets change: each
// response must be as fresh as its version.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "as_text.h"
#include "at_once.h"
#include "catch.h"
#include "create_one.h"
#include "e2e/support/redis_server.h"
#include "redis/reply_copy.h"
#include "redis_connection.h"
#include "store/pets/pet_commands.h"
#include "store/pets/reader.h"
#include "unit/recorded_damage.h"

using namespace petstore;
using api::Status;
using store::ReadKey;

namespace {

constexpr Status kStatuses[] = {Status::available, Status::pending,
                                Status::sold};

// A link that executes commands and delivers replies one by one, when the test
// says so.
class SlowLink final : public redis::Link {
public:
    explicit SlowLink(const e2e::RedisServer& redis)
        : connection_(redis.socket())
    {}

    void send(const redis::Command& command,
              redis::ReplyHandler& handler) noexcept override
    {
        sent_.push_back({command.owned(), &handler});
        names.insert(std::string(command.argv()[1]));
    }
    std::uint64_t
    connection_generation(std::string_view /*key*/) const noexcept override
    {
        return generation;
    }

    bool execute()
    {
        if (sent_.empty()) {
            return false;
        }
        connection_.append(sent_.front().command);
        executed_.emplace_back(sent_.front().handler, connection_.get());
        sent_.pop_front();
        return true;
    }

    bool deliver()
    {
        if (executed_.empty()) {
            return false;
        }
        const auto& first = executed_.front();
        first.handler->on_reply(first.reply.get());
        executed_.pop_front();
        return true;
    }

    std::uint64_t generation = 1;
    std::multiset<std::string> names;  // the first key or script

private:
    struct Sent {
        redis::Command command;
        redis::ReplyHandler* handler;
    };
    struct Executed {
        Executed(redis::ReplyHandler* to, const redis::Reply& text)
            : handler(to), reply(text)
        {}
        redis::ReplyHandler* handler;
        redis::ReplyCopy reply;
    };

    RedisConnection connection_;
    std::deque<Sent> sent_;
    std::deque<Executed> executed_;
};

struct Worker {
    Worker(const e2e::RedisServer& redis, const store::PetCommands& catalogue,
           std::size_t memory)
        : link(redis), cache({link, catalogue, damage}, lookups, memory)
    {}

    RecordedDamage damage;
    metrics::CacheLookups lookups;
    SlowLink link;
    AtOnce scheduler;
    store::ReadCache cache;
    store::VersionQueue versions{scheduler, cache};
    store::Reader reader{cache, versions};
};

// The pets after a change: one letter each.
using State = std::string;

struct Answer {
    std::string body;  // "" for no pet
    api::PetId next = 0;

    bool operator<(const Answer& other) const
    {
        return std::tie(body, next) < std::tie(other.body, other.next);
    }
};

std::string json(api::PetId id, char letter)
{
    std::string text;
    api::append_pet_json(text, {id, "pet", "7", static_cast<Status>(letter)});
    return text;
}

// All correct responses: each bucket as it was at some time, with as many of
// its pets as existed then or earlier.
class Right {
public:
    // `ids`: of all pets, in order.
    Right(const std::deque<State>& times, const std::vector<api::PetId>& ids,
          const ReadKey& key)
        : times_(times), ids_(ids), key_(key),
          start_(static_cast<std::size_t>(
              (key.is_pet() ? std::lower_bound(ids.begin(), ids.end(), key.id)
                            : std::upper_bound(ids.begin(), ids.end(), key.id))
              - ids.begin()))
    {
        if (key.is_pet()) {
            const bool known = start_ < ids.size() && ids[start_] == key.id;
            for (const State& pets : times) {
                answers.insert(known && start_ < pets.size()
                                   ? Answer{json(key.id, pets[start_]), 0}
                                   : Answer{});
            }
        } else {
            extend({}, {}, 0, static_cast<std::int64_t>(start_ / 128));
        }
    }

    std::set<Answer> answers;

private:
    void extend(const std::string& body, api::PetId last, int rows,
                std::int64_t bucket)
    {
        const auto first = static_cast<std::size_t>(bucket * 128);
        std::set<State> contents;
        for (const State& pets : times_) {
            const auto content =
                first < pets.size() ? pets.substr(first, 128) : State();
            for (const State& shorter : times_) {
                const auto size =
                    shorter.size() - std::min(first, shorter.size());
                contents.insert(content.substr(0, size));
            }
        }
        for (const State& content : contents) {
            add(body, last, rows, bucket, content);
        }
    }

    void add(std::string body, api::PetId last, int rows, std::int64_t bucket,
             const State& content)
    {
        const auto status = key_.query().status;
        for (std::size_t i = 0; i < content.size(); ++i) {
            const auto place = static_cast<std::size_t>(bucket) * 128 + i;
            const auto id = ids_[place];
            if (place < start_
                || (status && content[i] != static_cast<char>(*status))) {
                continue;
            }
            if (rows++ == key_.limit) {
                answers.insert({"[" + body + "]", last});
                return;
            }
            body += (body.empty() ? "" : ",") + json(id, content[i]);
            last = id;
        }
        if (content.size() < 128) {
            answers.insert({"[" + body + "]", 0});
        } else {
            extend(body, last, rows, bucket + 1);
        }
    }

    const std::deque<State>& times_;
    const std::vector<api::PetId>& ids_;
    const ReadKey key_;
    const std::size_t start_;  // place of the pet, or of the page's first row
};

class Shop;

// Like PetRead: the version is requested before what is read.
class Request final : private redis::ReplyHandler,
                      private store::Waiter<store::SharedResponse> {
public:
    Request(Shop& shop, Worker& worker, const ReadKey& key);

    void begin();

    bool done = false;
    bool from_memory = false;

private:
    void on_reply(const redis::Reply& reply) noexcept override;
    void on_no_reply(redis::NoReply) noexcept override {}
    void on_result(
        const store::Outcome<store::SharedResponse>& outcome) noexcept override;
    void check(const Answer& answer);

    Shop& shop_;
    Worker& worker_;
    const ReadKey key_;
    const std::size_t started_;
    bool ahead_ = false;
};

class Shop {
public:
    explicit Shop(std::size_t memory) : connection_(redis.socket())
    {
        for (int i = 0; i < 3; ++i) {
            workers.push_back(
                std::make_unique<Worker>(redis, catalogue, memory));
        }
        State pets;
        for (int i = 0; i < 600; ++i) {
            pets += letter();
            create(pets.back());
        }
        history.push_back(pets);
    }

    int pick(int low, int high)
    {
        return std::uniform_int_distribution<>(low, high)(random_);
    }
    char letter() { return static_cast<char>(kStatuses[pick(0, 2)]); }

    long long call(const redis::Command& command)
    {
        connection_.append(command);
        const auto& reply = connection_.get();
        INFO(reply.text());
        REQUIRE_FALSE(reply.is_error());
        return reply.is(redis::Type::integer) ? reply.integer() : 0;
    }

    void create(char status)
    {
        const api::NewPet pet{"pet", 7, static_cast<Status>(status)};
        connection_.append(create_one(schema, pet));
        const auto created = created_one(connection_.get());
        REQUIRE(created.result == store::CreatedPets::Created::Result::created);
        REQUIRE((ids.empty() || created.id > ids.back()));
        gaps += !ids.empty() && created.id != ids.back() + 1;
        ids.push_back(created.id);
    }

    void set_status(store::Position position, char status)
    {
        State pets = history.back();
        const auto place = static_cast<std::size_t>(position - 1);
        char& old = pets.at(place);
        const bool changes = old != status;
        old = status;
        REQUIRE(call(as_text(catalogue.set_status(ids.at(place),
                                                  static_cast<Status>(status))))
                == changes);
        history.push_back(pets);
    }

    // Changes a status without the log, like an older version or an operator.
    void set_status_unlogged(store::Position position, char status)
    {
        State pets = history.back();
        char& old = pets.at(static_cast<std::size_t>(position - 1));
        const auto bit = [&](char of, int value) {
            call(redis::Command("SETBIT")
                     .key(schema.status_bitmap(static_cast<Status>(of)))
                     .arg(position)
                     .arg(value));
        };
        bit(old, 0);
        bit(status, 1);
        old = status;
        call(redis::Command("LSET")
                 .key(schema.bucket(store::bucket_of(position)))
                 .arg(store::row_of(position))
                 .own(status + std::string("7:pet")));
        history.push_back(pets);
    }

    // Makes one random change.
    void change()
    {
        // Mostly the same few pets, so that buckets change while they are read.
        const auto last = static_cast<int>(history.back().size());
        const store::Position id =
            pick(0, 2) ? pick(1, 10) * 60 : pick(1, last);
        const int what = pick(1, 100);
        if (what <= 60) {
            set_status(id, letter());
        } else if (what <= 80) {
            State pets = history.back();
            pets += letter();
            create(pets.back());
            history.push_back(pets);
        } else if (what <= 86) {
            set_status_unlogged(id, letter());
            call(redis::Command("INCR").key(schema.changes()));
            if (what <= 83) {  // the next change is logged
                set_status(pick(1, last), letter());
            }
        } else if (what <= 90) {
            set_status_unlogged(id, letter());
            call(as_text(catalogue.clear_caches()));
        } else if (what <= 93) {
            call(redis::Command("DEL").key(schema.change_log()));
        } else if (what <= 95) {
            call(redis::Command("SET").key(schema.change_log()).arg("x"));
        } else if (what <= 97) {
            workers[static_cast<std::size_t>(pick(0, 2))]->link.generation++;
        } else {
            for (int i = 0; i < 3; ++i) {
                set_status(pick(1, last), letter());
            }
        }
    }

    // More changes than the log holds.
    void change_often()
    {
        for (int i = 0; i <= store::ChangeLog::kLength; ++i) {
            const auto id = 1 + i % 100;
            const char old =
                history.back().at(static_cast<std::size_t>(id - 1));
            set_status(id, old == 'a' ? 's' : 'a');
        }
    }

    ReadKey some_key()
    {
        const auto last = static_cast<int>(history.back().size());
        // At a place, or in the gap or at the pet behind it.
        const auto id_near = [this](int position) {
            const auto place = static_cast<std::size_t>(position - 1);
            return place < ids.size() ? ids[place] + (pick(0, 9) == 0)
                                      : ids.back() + pick(0, 1'000'000);
        };
        if (pick(0, 2) == 0) {
            return ReadKey::of_pet(
                id_near(pick(0, 3) ? pick(1, 20) * 30 : pick(1, last + 1)));
        }
        api::ListQuery query;
        query.limit = pick(0, 1) ? 5 : 60;
        const int after = pick(0, 3) ? pick(0, 20) * 30 : pick(0, last + 1);
        query.after = after == 0 ? 0 : id_near(after);
        if (const int status = pick(0, 4); status < 3) {
            query.status = kStatuses[status];
        }
        return ReadKey::of_page(query);
    }

    e2e::RedisServer redis;
    const store::Schema schema{"petstore"};
    const store::PetCommands catalogue{schema};
    std::vector<std::unique_ptr<Worker>> workers;
    std::deque<State> history;
    std::vector<api::PetId> ids;
    int gaps = 0;
    int wrong = 0;
    std::string first_wrong;

private:
    std::mt19937 random_{static_cast<unsigned>(
        std::atoi(e2e::env_or("PETSTORE_MODEL_SEED", "20301205").c_str()))};
    RedisConnection connection_;
};

Request::Request(Shop& shop, Worker& worker, const ReadKey& key)
    : shop_(shop), worker_(worker), key_(key), started_(shop.history.size() - 1)
{}

void Request::begin()
{
    worker_.link.send(shop_.catalogue.version(), *this);
    ahead_ = worker_.reader.read_ahead(key_);
}

void Request::on_reply(const redis::Reply& reply) noexcept
{
    const auto version = store::Version::parse(reply[0], reply[1]);
    if (ahead_) {
        worker_.reader.confirm(key_, version);
    }
    if (const auto response = worker_.cache.find_latest(key_, version)) {
        from_memory = true;
        return on_result(response);
    }
    worker_.reader.read(key_, version, *this);
}

void Request::on_result(
    const store::Outcome<store::SharedResponse>& outcome) noexcept
{
    if (const auto* failure = outcome.failure()) {
        if (failure->error.code == api::ErrorCode::pet_not_found) {
            return check({});
        }
        return check({"error", 0});
    }
    const auto& response = *outcome.value();
    check({response.body, response.next_after});
}

void Request::check(const Answer& answer)
{
    done = true;
    const std::deque<State> times(shop_.history.begin()
                                      + static_cast<std::ptrdiff_t>(started_),
                                  shop_.history.end());
    if (Right(times, shop_.ids, key_).answers.count(answer) == 0) {
        ++shop_.wrong;
        if (shop_.first_wrong.empty()) {
            shop_.first_wrong = std::to_string(static_cast<int>(key_.kind))
                                + " after " + std::to_string(key_.id)
                                + " limit " + std::to_string(key_.limit) + ": "
                                + answer.body;
        }
    }
}

}  // namespace

TEST_CASE("model: no answer of any worker is older than its request")
{
    const std::size_t memory = GENERATE(1 << 20, 20'000);
    constexpr int kSteps = 40'000;
    Shop shop(memory);
    std::deque<std::unique_ptr<Request>> requests;
    int asked = 0;
    int unread = 0;
    for (int step = 0; step < kSteps; ++step) {
        auto& worker = *shop.workers[static_cast<std::size_t>(shop.pick(0, 2))];
        const int what = shop.pick(1, 100);
        if (what <= 20 && requests.size() < 12) {
            ++asked;
            requests.push_back(
                std::make_unique<Request>(shop, worker, shop.some_key()));
            requests.back()->begin();
        } else if (what <= 60) {
            worker.link.execute();
        } else if (what <= 97) {
            worker.link.deliver();
        } else if (requests.size() < 6) {
            shop.change();
        }
        if (step % (kSteps / 3) == kSteps / 6) {
            while (!requests.empty()) {
                for (const auto& each : shop.workers) {
                    each->link.execute();
                    each->link.deliver();
                }
                while (!requests.empty() && requests.front()->done) {
                    requests.pop_front();
                }
            }
            shop.change_often();
        }
        while (!requests.empty() && requests.front()->done) {
            unread += requests.front()->from_memory;
            requests.pop_front();
        }
        // Keeps only states that open requests may see.
        while (requests.empty() && shop.history.size() > 1) {
            shop.history.pop_front();
        }
        INFO(shop.first_wrong);
        REQUIRE(shop.wrong == 0);
    }
    CHECK(asked > kSteps / 10);
    CHECK(shop.gaps > 5);
    CHECK(unread > asked / 10);
    for (const auto& worker : shop.workers) {
        CHECK(worker->damage.keys.empty());
        CHECK(worker->link.names.count(shop.schema.change_log()) > 50);
    }
    // Completes all open requests.
    for (int i = 0; i < 1000; ++i) {
        for (const auto& worker : shop.workers) {
            worker->link.execute();
            worker->link.deliver();
        }
    }
    for (const auto& request : requests) {
        CHECK(request->done);
    }
}

TEST_CASE("model: the change log has the latest changes, and no more")
{
    Shop shop(1 << 20);
    const auto log = [&] {
        std::vector<std::string> entries;
        for (const auto& item :
             shop.redis.command({"LRANGE", shop.schema.change_log(), "0", "-1"})
                 .items) {
            entries.push_back(item.text);
        }
        return entries;
    };
    const auto changes = [&] {
        return shop.redis.command({"GET", shop.schema.changes()}).text;
    };
    CHECK(log().empty());
    const char old = shop.history.back()[128];
    shop.set_status(129, old);  // no change
    CHECK(log().empty());
    shop.set_status(129, old == 'a' ? 's' : 'a');
    CHECK(log() == std::vector{changes() + ":1"});

    shop.change_often();
    const auto entries = log();
    REQUIRE(entries.size() == store::ChangeLog::kLength);
    const auto last = std::stoll(changes());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto number =
            last - store::ChangeLog::kLength + 1 + static_cast<long long>(i);
        CHECK(std::stoll(entries[i]) == number);
    }
    CHECK(shop.redis.command({"PTTL", shop.schema.change_log()}).integer == -1);

    shop.call(as_text(shop.catalogue.clear_caches()));
    CHECK(log().empty());

    // The next number is one that a double cannot represent.
    shop.redis.command({"SET", shop.schema.changes(), "9007199254740992"});
    shop.set_status(600, shop.history.back()[599] == 'a' ? 's' : 'a');
    CHECK(log() == std::vector<std::string>{"9007199254740993:4"});

    // With a value of another type or a forbidden command, the status still
    // changes, and no entry remains that could pass for a later one's
    // predecessor.
    const auto next = [&] {
        shop.set_status(1, shop.history.back()[0] == 'a' ? 's' : 'a');
    };
    shop.redis.command({"SET", shop.schema.change_log(), "x"});
    next();
    CHECK(log().empty());
    next();
    CHECK(log().size() == 1);
    shop.redis.command({"ACL", "SETUSER", "default", "-rpush"});
    next();
    CHECK(log().empty());
    shop.redis.command({"ACL", "SETUSER", "default", "+rpush", "-ltrim"});
    shop.change_often();
    CHECK(log().size() < store::ChangeLog::kLength);
}
