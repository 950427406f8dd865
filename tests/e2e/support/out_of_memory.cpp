#include "out_of_memory.h"

#include <algorithm>
#include <limits>

#include "catch.h"
#include "limits.h"

namespace petstore::e2e {

namespace {

constexpr auto kTimeout = 5s;  // longer than any timeout of nginx or Redis
constexpr auto kNever = std::numeric_limits<std::int64_t>::max();

// Maximum failures of one case: each takes long, and one cause makes many.
constexpr int kMaxWrong = 8;

std::string shown(const Response& response)
{
    return std::to_string(response.status) + " " + response.body;
}

NginxOptions with_faults(NginxOptions options, const AllocationFaults& faults,
                         const RedisServer& redis, const FakeRedis& proxy)
{
    replace_all(options.redis, "%PROXY%", proxy.url());
    if (options.redis.empty()) {
        options.redis = redis.url();
    }
    options.env = faults.env();
    options.out_of_memory = true;
    options.http += " petstore_json_errors on;";
    return options;
}

FakeRedis::Script
with_faults_of_redis(const RedisServer& redis,
                     std::atomic<StarvedServer::Fault>& next_fault)
{
    using Fault = StarvedServer::Fault;
    return [&next_fault, ask = forward_to(redis)](const Words& command) {
        const auto fault = command.at(0) == "EVALSHA"
                               ? next_fault.exchange(Fault::none)
                               : Fault::none;
        switch (fault) {
        case Fault::close:
            return FakeRedis::Answer{"", false, true};
        case Fault::garbage:
            return FakeRedis::Answer{"?\r\n"};
        case Fault::loading:
            return FakeRedis::Answer{"-LOADING not yet\r\n"};
        case Fault::none:
            break;
        }
        return ask(command);
    };
}

class Rounds {
public:
    Rounds(StarvedServer& target, const FaultCase& one)
        : target_(target), nginx_(target.nginx), case_(one)
    {}

    void run()
    {
        round(kNever, 1);  // connects and fills the caches
        sockets_ = nginx_.sockets_at_rest();
        for (const std::int64_t times : {std::int64_t{1}, kNever}) {
            round(kNever, 1);
            const auto step = target_.faults.counted() / case_.max_rounds + 1;
            std::int64_t n = 1;
            for (; round(n, times); n += step) {
            }
            INFO(case_.name);
            CHECK(n > 1);
        }
        INFO(case_.name);
        // A new worker closes its channel to the one before it a little later.
        CHECK(wait_until([&] { return nginx_.sockets_at_rest() <= sockets_; }));
    }

private:
    // Returns false if the request needed fewer than `n` allocations.
    bool round(std::int64_t n, std::int64_t times)
    {
        case_.prepare();
        if (!process_exists(worker_)) {
            worker_ = nginx_.workers().at(0);
        }
        log_ = nginx_.error_log().size();
        target_.faults.arm(worker_, n, times, sanitized() && case_.nginx_fails);
        std::string problem;
        Response response;
        try {
            const auto start = Clock::now();
            response = case_.send();
            if (Clock::now() - start >= kTimeout) {
                problem += "no answer in time\n";
            }
            wait_for_rest();
        } catch (const HarnessError& error) {
            problem += error.what();
            problem += '\n';
        }
        target_.faults.disarm();
        const bool failed = target_.faults.failed() != 0;
        if (!process_exists(worker_)) {
            problem += "the worker is gone\n";
            if (!wait_until([&] { return nginx_.workers().size() == 1; })) {
                throw HarnessError("no other worker follows: "
                                   + nginx_.error_log().substr(log_));
            }
            worker_ = nginx_.workers().at(0);
        } else {
            problem += wrong_during(response, failed);
        }
        problem += wrong_afterwards();
        if (!problem.empty()) {
            FAIL_CHECK(case_.name << ", allocation " << n
                                  << (times == 1 ? "" : " and all later ones")
                                  << ":\n"
                                  << problem << nginx_.error_log().substr(log_)
                                  << "failed at\n"
                                  << target_.faults.stack());
            if (++wrong_ == kMaxWrong) {
                FAIL("too many failures");
            }
        }
        return failed;
    }

    // The kernel takes long to list the connections of the whole machine.
    void wait_for_rest() const
    {
        if (!wait_until([&] { return nginx_.sockets() == sockets_; }, 20ms)) {
            nginx_.sockets_at_rest();
        }
    }

    std::string wrong_during(const Response& response, bool failed) const
    {
        if (failed && response.status == 0) {
            return "";
        }
        if (failed && response.status >= 500) {
            return wrong_error(response);
        }
        const auto& right =
            case_.check_during ? case_.check_during : case_.check;
        return right(response);
    }

    // If the connection to Redis was lost with the memory, 503 is right until
    // it is back.
    std::string wrong_afterwards() const
    {
        std::string problem;
        wait_until(
            [&] {
                const auto response = case_.send();
                problem = case_.check(response);
                // A page of several parts is a 200.
                const bool away = response.status == 503
                                  || contains(response.body, "\"status\":503");
                return !away
                       || !contains(nginx_.error_log().substr(log_),
                                    "petstore: redis ");
            },
            3s);
        return problem.empty() ? "" : "afterwards " + problem;
    }

    StarvedServer& target_;
    NginxServer& nginx_;
    const FaultCase& case_;
    pid_t worker_ = nginx_.workers().at(0);
    std::size_t sockets_ = 0;  // of nginx without a client
    std::size_t log_ = 0;      // start of this round's lines
    int wrong_ = 0;            // rounds
};

}  // namespace

std::string wrong_error(const Response& response)
{
    const auto json = response.json();
    const bool right = response.header("content-type") == "application/json"
                       && json.is_object() && json.size() == 3
                       && json.value("status", 0) == response.status
                       && json.contains("code") && json.contains("message")
                       && response.has("x-ratelimit-limit")
                       && response.has("x-ratelimit-remaining")
                       && response.has("x-ratelimit-reset");
    return right ? "" : "not an Error: " + shown(response) + "\n";
}

Check is_error(int status, const std::string& code)
{
    return [=](const Response& response) {
        return response.status == status && code_of(response) == code
                   ? wrong_error(response)
                   : "not " + code + ": " + shown(response) + "\n";
    };
}

Check is_body(int status, const std::string& body)
{
    return [=](const Response& response) {
        return response.status == status && response.body == body
                   ? ""
                   : "not " + body + ": " + shown(response) + "\n";
    };
}

StarvedServer::StarvedServer(NginxOptions options)
    : proxy(with_faults_of_redis(redis, next_fault)), key(create_key(redis)),
      nginx(with_faults(std::move(options), faults, redis, proxy))
{}

Response StarvedServer::send(Http::Request request) const
{
    Http http(nginx.url(), key.secret);
    http.tolerate_failures();
    http.set_timeout(kTimeout);
    request.headers.emplace_back("Connection", "close");
    return http.send(request);
}

NginxOptions behind_proxy(NginxOptions options)
{
    options.redis = "%PROXY%";
    // A silent Redis must be detected before the client gives up.
    options.location += " petstore_redis_timeout 1s;";
    return options;
}

void fail_each_allocation(StarvedServer& target,
                          const std::vector<FaultCase>& cases)
{
    for (const auto& one : cases) {
        Rounds(target, one).run();
    }
    const auto start = Clock::now();
    target.nginx.quit();
    // Before worker_shutdown_timeout forces open connections to close.
    CHECK(Clock::now() - start < 60s);
}

}  // namespace petstore::e2e
