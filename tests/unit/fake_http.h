#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/bearer.h"
#include "catch.h"
#include "fake_alarm.h"
#include "fake_link.h"
#include "known_ids.h"
#include "service/api_request.h"
#include "service/get_usage.h"
#include "service/guard_request.h"
#include "store/scripts.h"
#include "store/storage.h"

// Fakes of the service's environment: clock, alarm, log, a worker's storage
// over a FakeLink, and clients.

// Stands still unless the test advances it.
struct FakeClock final : petstore::store::Clock {
    petstore::store::Monotonic monotonic() const noexcept override
    {
        return now;
    }
    petstore::api::Millis host_time() const noexcept override { return host; }

    void advance(int milliseconds)
    {
        now += static_cast<petstore::store::Monotonic>(milliseconds);
        host += milliseconds;
    }

    petstore::store::Monotonic now = 5000;
    petstore::api::Millis host = 1'700'000'000'000;
};

struct FakeStorageLog final : petstore::store::StorageLog {
    void damaged(std::string_view redis_key) noexcept override
    {
        damaged_keys.emplace_back(redis_key);
    }
    void unknown_plan(std::string_view, std::string_view plan) noexcept override
    {
        unknown_plans.emplace_back(plan);
    }
    void not_upgraded(std::string_view account) noexcept override
    {
        accounts_without_record.emplace_back(account);
    }
    void report(petstore::store::Event event) noexcept override
    {
        ++events[event];
    }
    void account_banned(
        const petstore::store::Account& account,
        const petstore::store::AccountStatus& /*status*/) noexcept override
    {
        banned_accounts.emplace_back(account.id());
    }

    std::vector<std::string> damaged_keys;
    std::vector<std::string> unknown_plans;
    std::vector<std::string> accounts_without_record;
    std::map<petstore::store::Event, int> events;
    std::vector<std::string> banned_accounts;
};

// A worker's storage. The test plays Redis, whose clock agrees with the host's.
struct FakeWorker {
    using Names = std::vector<std::string>;

    static constexpr std::int64_t kEpoch = 7;
    static constexpr const char* kKey = "a-key-of-a1";

    // An account in the limiter's reply.
    struct Account {
        long long admitted = 1;
        std::int64_t minute = 3;  // used requests
        std::int64_t day = 40;
        petstore::api::Millis ban_for = 0;
        std::int64_t epoch = kEpoch;
        petstore::api::Millis minute_ends_in = 29'500;
        petstore::api::Millis day_ends_in = 50'000'000;
    };

    FakeWorker() : FakeWorker(nullptr) {}
    // With counters and bans on another Redis.
    explicit FakeWorker(FakeLink& limits) : FakeWorker(&limits) {}

    explicit FakeWorker(FakeLink* limits)
        : storage("petstore",
                  {{link, limits != nullptr ? *limits : link},
                   link,
                   clock,
                   reports,
                   log,
                   lookups,
                   plans},
                  petstore::store::MemoryShares(1 << 20))
    {
        know_ids(storage.read_cache);
        settings.base_path = "/v1";
        settings.link_base = "/v1";
        settings.max_body = 16384;
        settings.missing_key = petstore::api::missing_key_message("");
        settings.challenge = petstore::api::challenge("petstore");
        settings.challenge_to_key = petstore::api::challenge_to_key("petstore");
    }

    // --- what Redis was asked ------------------------------------------------
    // The command's name, or that of the script that it calls.
    static std::string name_of(const FakeLink::Words& command)
    {
        const auto& scripts = petstore::store::scripts();
        using Named = std::pair<std::string, const petstore::redis::Script*>;
        for (const auto& [name, script] :
             {Named("limit", &scripts.limit), Named("strike", &scripts.strike),
              Named("create_pets", &scripts.create_pets),
              Named("list_by_status", &scripts.list_by_status),
              Named("clock", &scripts.clock),
              Named("read_usage", &scripts.read_usage)}) {
            if (command[0] == "EVALSHA" && command[1] == script->sha1) {
                return name;
            }
            if (command[0] == "EVAL" && command[1] == script->text) {
                return "text of " + name;
            }
        }
        return command[0] == "HGETALL"
                       && command[1].find(":account:") != std::string::npos
                   ? "account"
                   : command[0];
    }

    // The commands without a reply, oldest first.
    Names open() const
    {
        Names names;
        for (const auto& command : link.commands) {
            names.push_back(name_of(command));
        }
        return names;
    }

    bool idle() const { return link.commands.empty(); }

    // --- what Redis replies, to the oldest open command ----------------------
    void reply_to(const std::string& name, const std::string& reply)
    {
        REQUIRE_FALSE(idle());
        REQUIRE(name_of(link.commands.front()) == name);
        link.reply(reply);
    }

    using Fields = std::map<std::string, std::string>;

    static std::string hash(Fields fields, const Fields& more)
    {
        fields.insert(more.begin(), more.end());
        std::vector<std::string> items;
        for (const auto& [name, value] : fields) {
            items.push_back(bulk(name));
            items.push_back(bulk(value));
        }
        return array(items);
    }

    // A key record with additional fields.
    static std::string record(const Fields& fields = {})
    {
        return hash(fields, {{"id", "k1"},
                             {"account", "a1"},
                             {"epoch", std::to_string(kEpoch)}});
    }

    // The record of the account that a command asks for.
    static std::string account_record(const FakeLink::Words& command,
                                      const Fields& fields = {})
    {
        return hash(fields,
                    {{"id", command[1].substr(command[1].rfind(':') + 1)},
                     {"created", "1"}});
    }

    // The key's record, then its account's if the worker asks for it.
    void reply_record(const Fields& fields = {}, const Fields& account = {})
    {
        reply_to("HGETALL", record(fields));
        if (!idle() && name_of(link.commands.back()) == "account") {
            link.reply(account_record(link.commands.back(), account),
                       link.commands.size() - 1);
        }
    }
    void reply_no_record() { reply_to("HGETALL", array({})); }

    std::string state(const Account& account) const
    {
        const auto now = clock.host;
        return bulk(encode_state(
            {account.epoch, 0, account.minute, now + account.minute_ends_in,
             account.day, now + account.day_ends_in, account.day,
             account.ban_for == 0 ? 0 : now + account.ban_for}));
    }

    std::string limit_reply(const std::vector<Account>& accounts) const
    {
        std::vector<std::string> items;
        for (const Account& account : accounts) {
            items.push_back(answer(account.admitted, state(account)));
        }
        return ::limit_reply(
            items, stamp(clock.host, number_of(count), number_of(changes)));
    }

    // The number in a reply, as the script reads it: nil is 0.
    static std::string number_of(const std::string& value)
    {
        Replies replies;
        const auto& reply = replies(value);
        return reply.is(petstore::redis::Type::nil) ? "0"
                                                    : std::string(reply.text());
    }

    void reply_limit(const Account& account)
    {
        reply_to("limit", limit_reply({account}));
    }
    void admit() { reply_limit({}); }

    void reply_strike(long long strikes, bool new_ban, const Account& account)
    {
        reply_to("strike", array({integer(strikes), integer(new_ban),
                                  integer(clock.host), state(account)}));
    }

    // The clock of Redis is `ahead` of the host's, in milliseconds.
    void reply_clock(petstore::api::Millis ahead = 0)
    {
        const auto time = clock.host + ahead;
        reply_to("clock", array({bulk(std::to_string(time / 1000)),
                                 bulk(std::to_string(time % 1000 * 1000))}));
    }

    // Three pets, as stored in Redis and as shown to clients.
    static std::string three_pets()
    {
        return array({bulk("s7:Rex"), bulk("a8:Tom"), bulk("p9:Ada")});
    }
    static constexpr const char* kThreePets =
        R"([{"id":1,"name":"Rex","categoryId":7,"status":"sold"},)"
        R"({"id":2,"name":"Tom","categoryId":8,"status":"available"},)"
        R"({"id":3,"name":"Ada","categoryId":9,"status":"pending"}])";

    // Replies like a healthy Redis that knows the key, admits every request,
    // bans on every report of denials, and has three pets.
    void reply()
    {
        REQUIRE_FALSE(idle());
        const std::string name = name_of(link.commands.front());
        if (name == "HGETALL") {
            reply_record();
        } else if (name == "limit") {
            admit();
        } else if (name == "strike") {
            reply_strike(1, true, {0, 60, 70, 300'000});
        } else if (name == "clock") {
            reply_clock();
        } else if (name == "create_pets") {
            link.reply(array({integer(1), integer(4)}));
        } else if (name == "MGET"
                   && link.commands.front()[1] == storage.schema.changes()) {
            link.reply(array({changes, bulk(kOneSegment)}));
        } else if (name == "MGET") {
            link.reply(array({count, changes}));
        } else if (name == "LINDEX") {
            link.reply(bulk("s7:Rex"));
        } else {
            reply_to("LRANGE", three_pets());
        }
    }

    // Ends the iteration and admits the request.
    void end_and_admit()
    {
        link.end_iteration();
        admit();
    }

    // Makes the worker cache the key's record.
    void know_key(const Fields& fields = {})
    {
        using Key = petstore::store::Ref<petstore::store::CachedKey>;
        struct Waiter final : petstore::store::Waiter<Key> {
            void on_result(
                const petstore::store::Outcome<Key>& outcome) noexcept override
            {
                key = outcome.value();
            }
            Key key;
        } waiter;
        storage.key_loader.load(petstore::api::sha256(kKey), {}, waiter);
        reply_record(fields);
        REQUIRE(waiter.key);
        if (!link.plans.empty()) {
            REQUIRE(storage.plans.current());
        }
    }

    petstore::store::Ref<petstore::store::CachedKey> cached_key()
    {
        return storage.keys.find(petstore::api::sha256(kKey));
    }

    petstore::api::UnixTime now() const { return clock.host / 1000; }

    FakeLink link;
    FakeClock clock;
    FakeAlarm reports;
    FakeStorageLog log;
    petstore::api::PlanTable plans;
    petstore::service::Settings settings;
    petstore::metrics::CacheLookups lookups;
    petstore::redis::Link* durable_link = nullptr;
    // The catalogue's version.
    std::string count = bulk("3");
    std::string changes = bulk("5");
    petstore::store::Storage storage;
};

struct FakeRequest final : petstore::service::Request {
    bool is_main() const noexcept override { return !subrequest; }
    petstore::api::Method method() const noexcept override { return verb; }
    petstore::api::Method client_method() const noexcept override
    {
        return client_verb.value_or(verb);
    }
    std::string_view path() const noexcept override { return uri; }
    std::string_view query() const noexcept override { return arguments; }
    std::optional<Field> header(std::string_view name) const noexcept override
    {
        const auto found = headers.find(name);
        if (found == headers.end()) {
            return std::nullopt;
        }
        return Field{found->second, repeated == name};
    }
    std::int64_t content_length() const noexcept override { return length; }
    std::int64_t cost() noexcept override
    {
        ++cost_evaluations;
        return variable_cost;
    }
    petstore::service::AddressWindow count_address() noexcept override
    {
        ++counted;
        return address;
    }

    bool subrequest = false;
    petstore::api::Method verb = petstore::api::Method::get;
    std::optional<petstore::api::Method> client_verb;  // if it is another one
    std::string uri = "/v1/pets";
    std::string arguments;
    std::map<std::string, std::string, std::less<>> headers{
        {"Authorization", std::string("Bearer ") + FakeWorker::kKey}};
    std::optional<std::string_view> repeated;
    std::int64_t length = -1;
    petstore::service::AddressWindow address{{60, 59, 1'700'000'060}, false};
    int counted = 0;  // in its address's window
    std::int64_t variable_cost = 1;
    int cost_evaluations = 0;
};

using DecisionStage = petstore::service::SharedDecision::Stage;

// A client's request and its outcome. leave() frees the request and its state,
// so that a sanitizer reports any later use.
class FakeClient final : petstore::service::TaskOwner,
                         petstore::service::Responder,
                         petstore::service::Gate,
                         petstore::service::BodySource,
                         petstore::service::RequestLog {
public:
    using Method = petstore::api::Method;
    using Result = petstore::service::BodyWaiter::Result;
    // limit, remaining, reset
    using Rate = std::array<std::int64_t, 3>;

    explicit FakeClient(FakeWorker& worker, Method method = Method::get,
                        const std::string& path = "/v1/pets")
        : state_(std::make_shared<petstore::service::RequestState>()),
          worker_(worker)
    {
        request().verb = method;
        request().uri = path;
    }

    // A subrequest of `main`, or `main` itself after an internal redirect.
    enum class Part { subrequest, redirect };
    FakeClient(FakeWorker& worker, const FakeClient& main,
               const std::string& path = "/v1/pets",
               Part part = Part::subrequest)
        : FakeClient(worker, Method::get, path)
    {
        state_ = main.state_;
        request().subrequest = part == Part::subrequest;
    }

    ~FakeClient() { leave(); }
    FakeClient(const FakeClient&) = delete;
    FakeClient& operator=(const FakeClient&) = delete;

    FakeRequest& request() { return *request_; }
    petstore::service::RequestState& state() { return *state_; }

    petstore::service::RequestTask::Context context()
    {
        return {*request_,       *this,
                *this,           *this,
                *state_,         worker_.settings,
                worker_.storage, worker_.durable_link};
    }

    // Starts the task like nginx's handlers.
    void start()
    {
        start_task<petstore::service::ApiRequest>(context(), *this);
    }
    void start_guard()
    {
        start_task<petstore::service::GuardRequest>(context(), *this);
    }
    void start_usage() { start_task<petstore::service::GetUsage>(context()); }
    // Calls start() and ends the event-loop iteration.
    void send()
    {
        start();
        worker_.link.end_iteration();
    }
    void send_and_admit()
    {
        send();
        worker_.admit();
    }
    template <typename T, typename... Args>
    void start_task(Args&&... args)
    {
        auto* task = new T(std::forward<Args>(args)...);
        task_ = std::shared_ptr<T>(task);
        task->enter([task] { task->run(); });
    }

    // nginx frees the request.
    void leave()
    {
        if (request_ == nullptr) {
            return;
        }
        if (task_ != nullptr) {
            task_.get()->abandon();
        }
        request_.reset();
        state_.reset();
    }

    // The body arrives, or the reason why there is none.
    void receive(Result result)
    {
        REQUIRE(body_waiter != nullptr);
        std::exchange(body_waiter, nullptr)->on_body(result, sent_body);
    }

    // The request has ended, exactly once.
    bool ended() const { return responses + failures + admissions == 1; }

    Rate rate()
    {
        const auto& rate = state().rate;
        REQUIRE(rate);
        return {rate->limit, rate->remaining, rate->reset};
    }

    // --- interfaces of the service -------------------------------------------
    void respond(const petstore::service::Response& response) noexcept override
    {
        ++responses;
        in_event_when_responding = in_event;
        status = response.status;
        body = response.cached != nullptr ? response.cached->body
                                          : std::string(response.body);
        cached = response.cached;
        allow = response.allow;
        authenticate = response.authenticate;
        link = response.link;
        location = response.location;
        retry_after = response.retry_after;
        replayed = response.replayed;
        end();
    }
    void fail() noexcept override
    {
        ++failures;
        end();
    }
    void admit() noexcept override
    {
        ++admissions;
        end();
    }
    void read(std::size_t limit,
              petstore::service::BodyWaiter& waiter) noexcept override
    {
        body_limit = limit;
        if (body_is_here) {
            waiter.on_body(Result::complete, sent_body);
        } else {
            body_waiter = &waiter;
        }
    }
    void begin_event() noexcept override
    {
        ++events;
        in_event = true;
    }
    void end_event() noexcept override { in_event = false; }
    void exception(const char* what) noexcept override
    {
        exceptions.emplace_back(what);
    }
    void dry_run(const petstore::store::Account* account) noexcept override
    {
        dry_runs.emplace_back(account == nullptr ? "address" : account->id());
    }
    void account_banned(
        const petstore::store::Account& account,
        const petstore::store::AccountStatus& /*status*/) noexcept override
    {
        bans.emplace_back(account.id());
    }
    void release() noexcept override
    {
        ++releases;
        task_.reset();
    }

    // --- what the client sends -----------------------------------------------
    std::string sent_body;
    bool body_is_here = true;       // with the headers
    bool leaves_when_done = false;  // nginx frees the request at once

    // --- what becomes of it --------------------------------------------------
    int responses = 0;
    int failures = 0;
    int admissions = 0;  // by the guard
    int releases = 0;
    int status = 0;
    std::string body;
    std::shared_ptr<const petstore::store::CachedResponse> cached;
    std::string allow;
    std::string authenticate;
    std::string link;
    std::string location;
    std::int64_t retry_after = 0;
    bool replayed = false;
    std::size_t body_limit = 0;
    petstore::service::BodyWaiter* body_waiter = nullptr;
    int events = 0;
    bool in_event = false;
    bool in_event_when_responding = false;
    std::vector<std::string> exceptions;
    std::vector<std::string> dry_runs;
    std::vector<std::string> bans;

private:
    void end()
    {
        if (leaves_when_done) {
            leave();
        }
    }

    std::unique_ptr<FakeRequest> request_ = std::make_unique<FakeRequest>();
    std::shared_ptr<petstore::service::RequestState> state_;
    FakeWorker& worker_;
    // Destroys the derived type; the destructor of the base class is protected.
    std::shared_ptr<petstore::service::RequestTask> task_;
};
