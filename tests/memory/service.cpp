// Whichever allocation fails, a request ends exactly once, and never with a 4xx
// status for lack of memory. The next request is served.
#include <array>
#include <memory>

#include "api/bearer.h"
#include "ready.h"
#include "service/api_request.h"
#include "service/get_usage.h"
#include "service/guard_request.h"
#include "shortage.h"
#include "store/scripts.h"
#include "unit/known_ids.h"
#include "unit/still.h"
#include "unit/store_replies.h"
#include "wire.h"

using namespace petstore;

namespace {

struct SilentLog final : store::StorageLog {
    void damaged(std::string_view) noexcept override { ++damages; }
    void unknown_plan(std::string_view, std::string_view) noexcept override {}
    void not_upgraded(std::string_view) noexcept override {}
    void report(store::Event event) noexcept override
    {
        damages += event == store::Event::unexpected_limiter_reply
                   || event == store::Event::limits_elsewhere;
    }
    void account_banned(const store::Account&,
                        const store::AccountStatus&) noexcept override
    {}
    int damages = 0;
};

// A client that allocates nothing while its request is served.
struct Client final : service::Request,
                      service::TaskOwner,
                      service::Responder,
                      service::Gate,
                      service::BodySource,
                      service::RequestLog {
    api::Method method() const noexcept override { return verb; }
    std::string_view path() const noexcept override { return uri; }
    std::string_view query() const noexcept override { return {}; }
    std::optional<Field> header(std::string_view name) const noexcept override
    {
        if (name == "Authorization") {
            return Field{"Bearer a-key-of-some-account", false};
        }
        return name == "Idempotency-Key" && verb == api::Method::post
                   ? std::optional(Field{"an-idempotency-key", false})
                   : std::nullopt;
    }
    std::int64_t content_length() const noexcept override { return -1; }
    service::AddressWindow count_address() noexcept override { return {}; }

    void respond(const service::Response& response) noexcept override
    {
        ++ends;
        status = response.status;
    }
    void fail() noexcept override
    {
        ++ends;
        status = 500;
    }
    void admit() noexcept override
    {
        ++ends;
        status = 200;
    }
    void read(std::size_t, service::BodyWaiter& waiter) noexcept override
    {
        waiter.on_body(service::BodyWaiter::Result::complete, body);
    }
    void begin_event() noexcept override {}
    void end_event() noexcept override {}
    void exception(const char*) noexcept override {}
    void dry_run(const store::Account*) noexcept override {}
    void account_banned(const store::Account&,
                        const store::AccountStatus&) noexcept override
    {}
    void release() noexcept override
    {
        ++releases;
        api.reset();
        guard.reset();
        usage.reset();
    }

    api::Method verb = api::Method::get;
    const char* uri = "/v1/pets";
    const std::string body =
        R"({"name":"a name that needs memory","categoryId":7})";
    service::RequestState state;
    std::unique_ptr<service::ApiRequest> api;
    std::unique_ptr<service::GuardRequest> guard;
    std::unique_ptr<service::GetUsage> usage;
    int ends = 0;
    int releases = 0;
    int status = 0;
};

// Whether counters and bans are on a second Redis, and which one replies first.
enum class Two { no, limits_first, limits_last };

struct Requests {
    explicit Requests(Two two = Two::no)
        : two(two), storage("petstore",
                            {{wire, two == Two::no ? wire : limits},
                             wire,
                             clock,
                             alarm,
                             log,
                             lookups,
                             plans},
                            store::MemoryShares(1 << 20))
    {
        // Like Worker: OpenSSL crashes if its first use runs out of memory.
        static_cast<void>(api::sha256({}));
        store::scripts();
        settings.base_path = "/v1";
        settings.link_base = "https://api.example.com/v1";
        settings.max_body = 16384;
        settings.missing_key = api::missing_key_message("");
        settings.ban.threshold = 0;
        make(list, api::Method::get, "/v1/pets");
        make(get, api::Method::get, "/v1/pets/1");
        make(create, api::Method::post, "/v1/pets");
        guard.guard.reset(new service::GuardRequest(context(guard), guard));
    }

    service::RequestTask::Context context(Client& client)
    {
        return {client,       client,   client, client,
                client.state, settings, storage};
    }

    void make(Client& client, api::Method method, const char* uri)
    {
        client.verb = method;
        client.uri = uri;
        client.api.reset(new service::ApiRequest(context(client), client));
    }

    static void start(Client& client)
    {
        if (client.guard != nullptr) {
            client.guard->enter([&] { client.guard->run(); });
        } else if (client.usage != nullptr) {
            client.usage->enter([&] { client.usage->run(); });
        } else {
            client.api->enter([&] { client.api->run(); });
        }
    }

    void pump()
    {
        wire.end_iteration();
        while (wire.waits() || limits.waits()) {
            const bool either = wire.waits() && limits.waits();
            Wire& next = (either ? two == Two::limits_first : limits.waits())
                             ? limits
                             : wire;
            const auto sent = next.take();
            const auto& scripts = store::scripts();
            if (sent.is("HGETALL")) {
                sent.handler->on_reply(look_up());
            } else if (sent.is("HSCAN")) {
                sent.handler->on_reply(stored_plans);
            } else if (sent.calls(scripts.clock)) {
                sent.handler->on_reply(time);
            } else if (sent.calls(scripts.read_usage)) {
                sent.handler->on_reply(counts);
            } else if (sent.calls(scripts.limit)) {
                sent.handler->on_reply(limit());
            } else if (sent.calls(scripts.strike)) {
                sent.handler->on_reply(banned);
            } else if (sent.calls(scripts.create_pets)) {
                sent.handler->on_reply(created);
            } else if (sent.is("LINDEX")) {
                sent.handler->on_reply(pet);
            } else if (sent.segments) {
                sent.handler->on_reply(segments);
            } else if (sent.is("MGET")) {
                sent.handler->on_reply(version);
            } else {
                sent.handler->on_reply(page);
            }
            wire.end_iteration();
        }
    }

    virtual const redis::Reply& look_up() { return record; }
    virtual const redis::Reply& limit() { return admitted; }

    void act()
    {
        for (Client* client : clients) {
            start(*client);
            pump();
        }
    }

    // Checks that the request ended with `status`, or for lack of memory with a
    // server error.
    void check_end(Client& client, int status)
    {
        CAPTURE(client.uri, client.status);
        CHECK((client.status == status
               || (Shortage::came()
                   && (client.status == 500 || client.status == 503))));
        CHECK(client.ends == 1);
        CHECK(client.releases == 0);
        if (client.guard != nullptr) {
            client.guard->abandon();
        } else if (client.usage != nullptr) {
            client.usage->abandon();
        } else {
            client.api->abandon();
        }
        CHECK(client.releases == 1);
    }

    // Checks a request once there is enough memory again.
    void check_next(int status)
    {
        Client next;
        make(next, api::Method::get, "/v1/pets/1");
        start(next);
        pump();
        CHECK(next.status == status);
        check_end(next, status);
    }

    const api::PlanTable plans;
    service::Settings settings;
    FixedClock clock;
    SilentAlarm alarm;
    SilentLog log;
    metrics::CacheLookups lookups;
    // Of the key, and of its account, which has the same id.
    const Ready record{array(
        {bulk("id"), bulk("an-account-whose-name-needs-memory"),
         bulk("account"), bulk("an-account-whose-name-needs-memory"),
         bulk("external_id"), bulk("a-customer's-id"), bulk("plan"),
         bulk("pro"), bulk("created"), bulk("1"), bulk("epoch"), bulk("7")})};
    const Ready stored_plans{
        array({bulk("0"), array({bulk("pro"), bulk("200 5000")})})};
    const Ready time{array({bulk("1000"), bulk("0")})};
    // Decisions on one request, because each request is sent alone.
    const Ready admitted{decided(1, 0)};
    const Ready limited{decided(0, 0)};
    const Ready banned{array(
        {integer(301), integer(1), integer(1'000'000), state(1'300'000)})};
    // A state and the ledger of this month.
    const Ready counts{array(
        {bulk("1000"), bulk("0"),
         bulk(encode_numbers({7, 0, 3, 1'030'000, 4, 80'000'000, 9, 0, 0, 5})),
         kNil, kNil, array({bulk("01d"), bulk("2")})})};
    const Ready created{array({integer(1), integer(2), kNil, integer(0)})};
    const Ready pet{bulk("s7:a name that needs memory")};
    const Ready version{array({bulk("1"), bulk("5")})};
    const Ready segments{array({bulk("5"), bulk(kOneSegment)})};
    const Ready page{array({bulk("s7:a name that needs memory")})};
    const Two two;
    Wire wire;
    Wire limits;
    store::Storage storage;
    Client list;
    Client get;
    Client create;
    Client guard;
    const std::array<Client*, 4> clients{&list, &get, &create, &guard};

    virtual ~Requests() = default;

private:
    static std::string state(std::int64_t ban_until)
    {
        return bulk(encode_state(
            {7, 0, 300, 1'030'000, 400, 80'000'000, 400, ban_until}));
    }
    static std::string decided(int admitted, std::int64_t ban_until)
    {
        return limit_reply({answer(admitted, state(ban_until))},
                           stamp(1'000'000, "1", "5"));
    }
};

struct Admitted : Requests {
    using Requests::Requests;

    void check(bool thrown)
    {
        CHECK_FALSE(thrown);
        for (Client* client : clients) {
            check_end(*client, client == &create ? 201 : 200);
        }
        CHECK(log.damages == 0);
        check_next(200);
    }
};

struct AdmittedFirst : Admitted {
    AdmittedFirst() : Admitted(Two::limits_first) {}
};

struct AdmittedLast : Admitted {
    AdmittedLast() : Admitted(Two::limits_last) {}
};

// The first denial is reported immediately and bans the account.
struct Refused : Requests {
    Refused()
    {
        // Makes the worker cache the key.
        Client first;
        make(first, api::Method::options, "/v1/pets");
        first.verb = api::Method::get;
        start(first);
        pump();
        check_end(first, 405);
        refuses = true;
        auto key = storage.keys.find(api::sha256("a-key-of-some-account"));
        REQUIRE(key);
        key->account->set_reported(300, clock.monotonic());
    }

    const redis::Reply& limit() override
    {
        return refuses ? limited : admitted;
    }

    void check(bool thrown)
    {
        CHECK_FALSE(thrown);
        for (Client* client : clients) {
            check_end(*client, 429);
        }
        check_next(429);
    }

    bool refuses = false;
};

struct Expired : Requests {
    const redis::Reply& look_up() override { return ended; }

    void check(bool thrown)
    {
        CHECK_FALSE(thrown);
        for (Client* client : clients) {
            check_end(*client, 401);
        }
        check_next(401);
    }

    const Ready ended{
        array({bulk("id"), bulk("a-key-whose-id-needs-memory"), bulk("account"),
               bulk("a-key-whose-id-needs-memory"), bulk("expires"), bulk("1"),
               bulk("created"), bulk("1"), bulk("epoch"), bulk("7")})};
};

struct Usage : Requests {
    Usage() { usage.usage.reset(new service::GetUsage(context(usage))); }

    void act()
    {
        start(usage);
        pump();
    }

    void check(bool thrown)
    {
        CHECK_FALSE(thrown);
        check_end(usage, 200);
        CHECK(log.damages == 0);
        check_next(200);
    }

    Client usage;
};

}  // namespace

TEST_CASE("admitted requests")
{
    fail_each_allocation<Admitted>();
}

TEST_CASE("admitted requests with two Redis")
{
    fail_each_allocation<AdmittedFirst>();
    fail_each_allocation<AdmittedLast>();
}

TEST_CASE("refused requests")
{
    fail_each_allocation<Refused>();
}

TEST_CASE("requests for the account's usage")
{
    fail_each_allocation<Usage>();
}

TEST_CASE("requests with an expired key")
{
    fail_each_allocation<Expired>();
}
