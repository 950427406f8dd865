// Each Redis error at each step of a request: the rows of the table in
// docs/operations.md, as seen by a client and in the log.
#include <atomic>
#include <memory>
#include <mutex>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";
const char* const kUnavailable = "service_unavailable";
const char* const kUnknown = "outcome_unknown";
const char* const kDamaged = "internal_error";

enum class Step { none, handshake, look_up, limiter, read, create, strike };
enum class Log { nothing, warn, error, replica, outage };

struct Row {
    std::string error;   // as Redis words it
    std::string code;    // as it is logged
    const char* answer;  // nullptr: the command is sent again and succeeds
    const char* create;
    Log log;
};

const Row kRows[] = {
    {"LOADING Redis is loading the dataset in memory", "LOADING", kUnavailable,
     kUnavailable, Log::warn},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
     "BUSY", kUnavailable, kUnavailable, Log::error},
    {"UNKILLABLE Sorry the script already executed write commands",
     "UNKILLABLE", kUnavailable, kUnavailable, Log::error},
    {"READONLY You can't write against a read only replica.", "READONLY",
     kUnavailable, kUnavailable, Log::replica},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
     "MASTERDOWN", kUnavailable, kUnavailable, Log::replica},
    {"OOM command not allowed when used memory > 'maxmemory'.", "OOM",
     kUnavailable, kUnavailable, Log::error},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
     "MISCONF", kUnavailable, kUnavailable, Log::error},
    {"NOREPLICAS Not enough good replicas to write.", "NOREPLICAS",
     kUnavailable, kUnavailable, Log::error},
    {"NOAUTH Authentication required.", "NOAUTH", kUnavailable, kUnavailable,
     Log::error},
    {"WRONGPASS invalid username-password pair or user is disabled.",
     "WRONGPASS", kUnavailable, kUnavailable, Log::error},
    {"NOPERM this user has no permissions to run the 'evalsha' command",
     "NOPERM", kUnavailable, kUnknown, Log::error},
    {"MOVED 3999 127.0.0.1:6381", "MOVED", kUnavailable, kUnavailable,
     Log::warn},
    {"ASK 3999 127.0.0.1:6381", "ASK", kUnavailable, kUnavailable, Log::warn},
    {"TRYAGAIN Multiple keys request during rehashing of slot", "TRYAGAIN",
     kUnavailable, kUnavailable, Log::warn},
    {"ERR Script attempted to access a non local key in a cluster node",
     "ERR Script attempted to access a non local key", kUnavailable,
     kUnavailable, Log::warn},
    {"CLUSTERDOWN The cluster is down", "CLUSTERDOWN", kUnavailable,
     kUnavailable, Log::warn},
    {"CROSSSLOT Keys in request don't hash to the same slot", "CROSSSLOT",
     kUnavailable, kUnavailable, Log::error},
    {"EXECABORT Transaction discarded because of previous errors.", "EXECABORT",
     kUnavailable, kUnavailable, Log::error},
    {"ERR max number of clients reached", "ERR max number of clients reached",
     kUnavailable, kUnavailable, Log::outage},
    {"WRONGTYPE Operation against a key holding the wrong kind of value",
     "WRONGTYPE", kDamaged, kUnknown, Log::nothing},
    {"DAMAGED petstore:{petstore:pets}:count", "DAMAGED", kDamaged, kDamaged,
     Log::nothing},
    {"ERR Error running script", "ERR", kUnavailable, kUnknown, Log::error},
    {"NEWERROR of a later Redis", "NEWERROR", kUnavailable, kUnknown,
     Log::error},
    {"NOSCRIPT No matching script. Please use EVAL.", "NOSCRIPT", nullptr,
     nullptr, Log::nothing},
};

Step step_of(const Words& command)
{
    const auto key = [&](std::size_t i) -> std::string_view {
        return command.size() > i ? command[i] : std::string_view();
    };
    const bool script = command[0] == "EVALSHA" || command[0] == "EVAL";
    // Accounts are also read in the background, for their labels.
    const bool record = command[0] == "HGETALL" && contains(key(1), ":key:");
    return command[0] == "PING"           ? Step::handshake
           : record                       ? Step::look_up
           : command[0] == "LINDEX"       ? Step::read
           : !script                      ? Step::none
           : contains(key(4), ":strikes") ? Step::strike
           : contains(key(3), ":state")   ? Step::limiter
           : contains(key(3), ":pets}:")  ? Step::create
                                          : Step::none;
}

// A Redis that returns one error at one step, and counts the commands of that
// step.
class Refusing {
public:
    Refusing(const RedisServer& redis, const std::string& error)
        : error_("-" + error + "\r\n"), forward_(forward_to(redis)),
          redis_([this](const Words& command) { return answer(command); })
    {}

    void refuse(Step step)
    {
        step_ = step;
        hits_ = 0;
    }
    int hits() const { return hits_; }
    FakeRedis& redis() { return redis_; }

private:
    FakeRedis::Answer answer(const Words& command)
    {
        const Step refused = step_;
        if (refused == Step::none || step_of(command) != refused) {
            return forward_(command);
        }
        ++hits_;
        // After NOSCRIPT, EVAL with the script's text works.
        const bool known = contains(error_, "NOSCRIPT") && command[0] == "EVAL"
                           && refused != Step::handshake;
        return known ? forward_(command) : FakeRedis::Answer{error_};
    }

    const std::string error_;
    const FakeRedis::Script forward_;
    std::atomic<Step> step_{Step::none};
    std::atomic<int> hits_{0};
    FakeRedis redis_;  // last: its threads use the rest
};

// An nginx with a location and a Redis for each row.
struct World {
    RedisServer redis;
    Key key = create_key(redis);
    std::vector<std::unique_ptr<Refusing>> refusing;
    std::unique_ptr<NginxServer> nginx;
    long long pets = 3;

    World()
    {
        import_pets(redis, 3);
        NginxOptions options;
        options.redis = redis.url();
        options.http =
            "petstore_ban threshold=1 window=60s duration=60s max=60s;";
        for (std::size_t i = 0; i < std::size(kRows); ++i) {
            refusing.push_back(
                std::make_unique<Refusing>(redis, kRows[i].error));
            const auto base = base_path(i);
            options.server += "location " + base + "/ { petstore " + base
                              + "; petstore_redis "
                              + refusing.back()->redis().url() + "; }\n";
        }
        nginx = std::make_unique<NginxServer>(options);
        // Loads the scripts into Redis.
        Http http(nginx->url(), key.secret);
        CHECK(http.get("/v1/pets").status == 200);
    }

    static std::string base_path(std::size_t row)
    {
        return "/" + std::to_string(row) + "/v1";
    }
};

class Walk {
public:
    Walk(World& world, std::size_t row)
        : world_(world), row_(kRows[row]), refusing_(*world.refusing[row]),
          pets_(World::base_path(row) + "/pets"),
          http_(world.nginx->url(), world.key.secret)
    {}

    void run()
    {
        INFO(row_.error);
        const auto start = Clock::now();
        read();
        look_up();
        limiter();
        create();
        strike();
        const auto seconds =
            static_cast<std::size_t>((Clock::now() - start) / 1s);
        check_log(seconds);
        handshake();
        const auto counted =
            world_.redis.command({"GET", "petstore:{petstore:pets}:count"});
        CHECK(counted.text == std::to_string(world_.pets));
    }

private:
    // Nothing is cached, so the pet is read from Redis.
    void read()
    {
        refusing_.refuse(Step::read);
        // NOSCRIPT in reply to a plain read makes it fail.
        expect(http_.get(pets_ + "/1"),
               row_.answer ? row_.answer : kUnavailable, 200);
        CHECK(refusing_.hits() == 1);
        recover();
    }

    void look_up()
    {
        refusing_.refuse(Step::look_up);
        Http stranger(world_.nginx->url(), "a-key-that-nobody-has-issued");
        expect(stranger.get(pets_), row_.answer ? row_.answer : kUnavailable,
               200);
        CHECK(refusing_.hits() == 1);
        recover();
    }

    void limiter()
    {
        refusing_.refuse(Step::limiter);
        expect(http_.get(pets_), row_.answer, 200);
        CHECK(refusing_.hits() == (row_.answer ? 1 : 2));
        recover();
    }

    void create()
    {
        refusing_.refuse(Step::create);
        expect(http_.post(pets_, kPet), row_.create, 201);
        CHECK(refusing_.hits() == (row_.create ? 1 : 2));
        world_.pets += row_.create == nullptr;
        recover();
    }

    // The request stays denied, with the remaining time. Its denial is reported
    // later, so each row has an account of its own.
    void strike()
    {
        const auto limited = limited_key(world_.redis, 1);
        Http over(world_.nginx->url(), limited.secret);
        wait_until([&] { return over.get(pets_).status == 429; });
        refusing_.refuse(Step::strike);
        expect_error(over.get(pets_), 429,
                     row_.answer ? "rate_limit_exceeded" : "api_key_banned");
        CHECK(refusing_.hits() == (row_.answer ? 1 : 2));
        recover();
    }

    void handshake()
    {
        const auto refused = lines("refused with " + row_.code);
        refusing_.refuse(Step::handshake);
        refusing_.redis().drop();
        REQUIRE(wait_until([&] { return refusing_.redis().open() == 0; }));
        const int connections = refusing_.redis().connections();
        // The idle connection was closed: the first request opens another one,
        // and the breaker answers all others.
        for (int i = 0; i < 3; ++i) {
            expect(http_.get(pets_), kUnavailable, 0);
        }
        CHECK(wait_until([&] {
            return refusing_.redis().connections() >= connections + 2;
        }));
        expect(http_.get(pets_), kUnavailable, 0);
        CHECK(lines("refused with " + row_.code) == refused + 1);
        recover();
    }

    void expect(const Response& response, const char* code, int otherwise)
    {
        if (code == nullptr) {
            CHECK(response.status == otherwise);
            rate_headers_of(response);
            return;
        }
        const std::string text = code;
        expect_error(response, text == kDamaged ? 500 : 503, text);
        CHECK(response.has("retry-after") == (text != kDamaged));
    }

    // The number of log lines about this Redis with the text.
    std::size_t lines(const std::string& text) const
    {
        std::size_t count = 0;
        for (const auto& line : split(world_.nginx->error_log(), '\n')) {
            count +=
                contains(line, refusing_.redis().url()) && contains(line, text);
        }
        return count;
    }

    void check_log(std::size_t seconds) const
    {
        const auto answered = lines("answered with " + row_.code);
        INFO(answered << " lines in " << seconds << " s");
        switch (row_.log) {
        case Log::nothing:
            // A read does not report this error.
            CHECK(answered == 0);
            break;
        case Log::warn:
        case Log::error:
            CHECK(answered >= 1);
            CHECK(answered <= seconds + 1);
            CHECK(lines(row_.log == Log::warn ? "[warn]" : "[error]")
                  == answered);
            break;
        case Log::replica:
            CHECK(answered >= 1);
            CHECK(lines("[error]") == answered);
            break;
        case Log::outage:
            CHECK(lines("refused with " + row_.code) >= 1);
            CHECK(answered == 0);
            break;
        }
        CHECK(lines("is a replica")
              == (row_.log == Log::replica ? answered : 0));
    }

    // Waits until requests are served and the log reports the end of every
    // outage.
    void recover()
    {
        refusing_.refuse(Step::none);
        REQUIRE(wait_until([&] {
            return http_.get(pets_).status == 200
                   && lines("is back") == outages();
        }));
    }

    std::size_t outages() const
    {
        return lines("could not connect") + lines("connection lost")
               + lines("refused with") + lines("is a replica");
    }

    World& world_;
    const Row& row_;
    Refusing& refusing_;
    const std::string pets_;
    Http http_;
};

}  // namespace

TEST_CASE("redis errors: each of them at each step of a request")
{
    World world;
    for (std::size_t row = 0; row < std::size(kRows); ++row) {
        Walk(world, row).run();
    }
}
