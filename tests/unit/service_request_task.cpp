// Requests that end while Redis is working, and exceptions.
#include <stdexcept>
#include <vector>

#include "service_test.h"

namespace {

// Paths through the service, each with several Redis commands.
enum class Path { list, get, create, denied, guard };

const auto kPaths = {Path::list, Path::get, Path::create, Path::denied,
                     Path::guard};

struct Journey {
    explicit Journey(Path path) : path(path)
    {
        switch (path) {
        case Path::list:
        case Path::guard:
        case Path::denied:
            break;
        case Path::get:
            client.request().uri = "/v1/pets/2";
            break;
        case Path::create:
            client.request().verb = Method::post;
            client.sent_body = R"({"name":"Rex","categoryId":7})";
            break;
        }
        worker.settings.ban.threshold = 0;
    }

    void start()
    {
        path == Path::guard ? client.start_guard() : client.start();
        worker.link.end_iteration();
    }

    // Redis replies to one command, or the connection breaks.
    void step(bool lose)
    {
        if (lose) {
            worker.link.lose(NoReply::in_doubt);
        } else if (path == Path::denied && worker.open().front() == "limit") {
            // Denials up to the threshold have been counted.
            worker.cached_key()->account->set_reported(60, worker.clock.now);
            worker.reply_limit({0, 60, 70});
        } else {
            worker.reply();
        }
        worker.link.end_iteration();
    }

    const Path path;
    FakeWorker worker;
    FakeClient client{worker};
};

// A request that records its steps and throws in a chosen one.
struct Probe final : service::RequestTask, service::AdmissionHandler {
    explicit Probe(const Context& context)
        : RequestTask(context), admission(*this, *this)
    {}

    void run() { admission.run(); }

    void prepare() override { act("prepare"); }
    bool needs_version() const noexcept override { return true; }
    void on_limit_sent() override { act("on_limit_sent"); }
    void on_limit_decided(const store::Version& version) override
    {
        versions.push_back(version.count);
        act("on_limit_decided");
    }
    void on_admitted() override
    {
        act("on_admitted");
        respond({});
        act("after the response");
    }

    void act(const std::string& step)
    {
        steps.push_back(step);
        if (step == throws_in) {
            throw std::runtime_error("no " + step);
        }
        if (step == throws_number_in) {
            throw 7;
        }
    }

    static inline std::string throws_in;
    static inline std::string throws_number_in;
    static inline Names steps;
    static inline std::vector<std::int64_t> versions;

    service::Admission admission;
};

struct Probed {
    explicit Probed(const std::string& throws_in, bool number = false)
    {
        Probe::throws_in = number ? "" : throws_in;
        Probe::throws_number_in = number ? throws_in : "";
        Probe::steps.clear();
        Probe::versions.clear();
        worker.know_key();
    }

    void run()
    {
        client.start_task<Probe>(client.context());
        worker.link.end_iteration();
        while (!worker.idle()) {
            worker.reply();
        }
    }

    FakeWorker worker;
    FakeClient client{worker};
};

}  // namespace

TEST_CASE("each path through the service ends its request once", "[service]")
{
    const auto path = GENERATE(values(kPaths));
    CAPTURE(static_cast<int>(path));
    Journey j(path);
    j.start();
    int steps = 0;
    for (; !j.worker.idle(); ++steps) {
        j.step(false);
    }
    CHECK(steps >= 2);
    CHECK(j.client.ended());
    CHECK(j.client.exceptions.empty());
    CHECK(j.client.releases == 0);
    switch (path) {
    case Path::list:
        CHECK(j.client.body == FakeWorker::kThreePets);
        break;
    case Path::get:
        CHECK(j.client.status == 200);
        break;
    case Path::create:
        CHECK(j.client.status == 201);
        break;
    case Path::denied:
        CHECK(j.client.state().limit_status == api::LimitStatus::banned);
        break;
    case Path::guard:
        CHECK(j.client.admissions == 1);
        break;
    }
    j.client.leave();
    CHECK(j.client.releases == 1);
}

TEST_CASE("a request that leaves while Redis is asked is released once",
          "[service]")
{
    const auto path = GENERATE(values(kPaths));
    const bool lose = GENERATE(false, true);
    CAPTURE(static_cast<int>(path), lose);
    // Before each reply in turn, and after the last one.
    for (int replies = 0;; ++replies) {
        CAPTURE(replies);
        Journey j(path);
        j.start();
        for (int i = 0; i < replies && !j.worker.idle(); ++i) {
            j.step(false);
        }
        const bool last = j.worker.idle();
        const bool had_ended = j.client.ended();
        j.client.leave();
        // Released at once unless a reply is due.
        CHECK(j.client.releases == (had_ended ? 1 : 0));
        while (!j.worker.idle()) {
            j.step(lose);
        }
        CHECK(j.client.releases == 1);
        CHECK(j.client.ended() == had_ended);
        CHECK(j.client.failures == 0);
        CHECK_FALSE(j.client.in_event);
        if (last) {
            CHECK(replies > 1);
            CHECK(had_ended);
            break;
        }
    }
}

TEST_CASE("a request freed by its own response is released once", "[service]")
{
    const auto path = GENERATE(values(kPaths));
    CAPTURE(static_cast<int>(path));
    // Fails at each command in turn.
    for (int failing = 0;; ++failing) {
        CAPTURE(failing);
        Journey j(path);
        j.client.leaves_when_done = true;
        j.start();
        int commands = 0;
        for (; !j.worker.idle(); ++commands) {
            CHECK(j.client.releases == (j.client.ended() ? 1 : 0));
            j.step(commands == failing);
        }
        CHECK(j.client.ended());
        CHECK(j.client.releases == 1);
        if (commands < failing) {
            break;
        }
    }
}

TEST_CASE("a request freed while its handler runs is released once",
          "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.leaves_when_done = true;
    SECTION("refused")
    {
        client.request().headers.erase("Authorization");
        client.start();
        CHECK(client.status == 401);
    }
    SECTION("failed")
    {
        worker.link.full = true;
        client.start();
        CHECK(client.status == 503);
    }
    SECTION("not counted")
    {
        worker.know_key();
        worker.link.defers = false;
        worker.link.full = true;
        client.start();
        CHECK(client.status == 503);
    }
    SECTION("denied, and the report cannot be sent")
    {
        worker.know_key();
        worker.settings.ban.threshold = 0;
        auto& account = *worker.cached_key()->account;
        account.set_reported(60, worker.clock.now);
        api::Decision decision;
        decision.minute = {60, 60, worker.clock.host + 1000};
        decision.day = {1000, 60, worker.clock.host + 1000};
        decision.now = worker.clock.host;
        account.remember(decision, 0, worker.clock.now, worker.clock.now);
        worker.clock.advance(600);  // to be confirmed, too
        worker.link.full = true;
        client.start();
        CHECK(client.status == 429);
    }
    SECTION("OPTIONS")
    {
        client.request().verb = Method::options;
        client.start();
        CHECK(client.status == 204);
    }
    CHECK(client.ended());
    CHECK(client.releases == 1);
    CHECK(worker.idle());
}

TEST_CASE("a request that leaves while its body arrives is released at once",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker, Method::post);
    client.body_is_here = false;
    client.send_and_admit();
    REQUIRE(client.body_waiter != nullptr);
    client.leave();
    CHECK(client.releases == 1);
    CHECK(client.responses == 0);
    CHECK(worker.idle());
}

TEST_CASE("data read ahead for a request that has left serve the next one",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient first(worker);
    first.send();
    CHECK(worker.open() == Names{"limit", "LRANGE"});
    first.leave();
    worker.admit();
    worker.reply_to("LRANGE", FakeWorker::three_pets());
    CHECK(first.releases == 1);

    FakeClient second(worker);
    second.send_and_admit();
    CHECK(second.body == FakeWorker::kThreePets);
    CHECK(worker.idle());
}

TEST_CASE("a request that leaves before its batch is sent reads nothing",
          "[service]")
{
    FakeWorker worker;
    worker.know_key();
    FakeClient client(worker);
    client.start();
    client.leave();
    worker.link.end_iteration();
    CHECK(worker.open() == Names{"limit"});
    worker.admit();
    CHECK(client.releases == 1);
    CHECK(worker.idle());
}

TEST_CASE("only work that a reply of Redis starts is enclosed in an event",
          "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    client.start();
    CHECK(client.events == 0);
    worker.reply_record();
    CHECK(client.events == 1);
    CHECK_FALSE(client.in_event);
    worker.end_and_admit();
    CHECK(client.events == 2);
    worker.reply_to("LRANGE", FakeWorker::three_pets());
    CHECK(client.events == 3);
    CHECK(client.in_event_when_responding);
    CHECK_FALSE(client.in_event);

    // Redis is unreachable: the request fails inside nginx's call.
    worker.link.full = true;
    worker.storage.keys.erase(api::sha256(FakeWorker::kKey),
                              *worker.cached_key());
    FakeClient second(worker);
    second.start();
    CHECK(second.status == 503);
    CHECK(second.events == 0);
}

TEST_CASE("a request is admitted in steps", "[service]")
{
    Probed p("");
    p.run();
    CHECK(Probe::steps
          == Names{"prepare", "on_limit_sent", "on_limit_decided",
                   "on_admitted", "after the response"});
    CHECK(Probe::versions == std::vector<std::int64_t>{3});
    CHECK(p.client.responses == 1);
    CHECK(p.client.failures == 0);
    CHECK(p.client.exceptions.empty());
}

TEST_CASE("an exception ends its request with a 500, once", "[service]")
{
    const std::string step = GENERATE("prepare", "on_admitted");
    CAPTURE(step);
    Probed p(step);
    p.run();
    CHECK(p.client.failures == 1);
    CHECK(p.client.responses == 0);
    CHECK(p.client.exceptions == Names{"no " + step});
    CHECK(Probe::steps.back() == step);
    CHECK(p.client.state().decision.asker == nullptr);
    CHECK(p.client.releases == 0);
    p.client.leave();
    CHECK(p.client.releases == 1);
}

TEST_CASE("a request freed by its 500 is released once", "[service]")
{
    Probed p(GENERATE("prepare", "on_admitted"));
    p.client.leaves_when_done = true;
    p.run();
    CHECK(p.client.failures == 1);
    CHECK(p.client.releases == 1);
}

TEST_CASE("an exception while reading ahead does not fail the request",
          "[service]")
{
    const std::string step = GENERATE("on_limit_sent", "on_limit_decided");
    CAPTURE(step);
    Probed p(step);
    p.run();
    CHECK(p.client.failures == 0);
    CHECK(p.client.responses == 1);
    CHECK(p.client.status == 200);
    CHECK(p.client.exceptions == Names{"no " + step});
    CHECK(Probe::steps.size() == 5);
}

TEST_CASE("an exception after the response is only logged", "[service]")
{
    Probed p("after the response");
    p.run();
    CHECK(p.client.responses == 1);
    CHECK(p.client.failures == 0);
    CHECK(p.client.exceptions == Names{"no after the response"});
}

TEST_CASE("an exception of an unknown type is logged, too", "[service]")
{
    Probed p("on_admitted", true);
    p.run();
    CHECK(p.client.failures == 1);
    CHECK(p.client.exceptions == Names{"unknown exception"});
}

TEST_CASE("subrequests ask again if the request that decides has thrown",
          "[service]")
{
    Probed p("on_admitted");
    FakeClient follower(p.worker, p.client, "/v1/nothing");
    p.client.start_task<Probe>(p.client.context());
    follower.send_and_admit();
    CHECK(p.client.failures == 1);
    // The decision had already been made.
    CHECK(follower.status == 404);
    CHECK(p.worker.idle());
}

TEST_CASE("a task ends only once", "[service]")
{
    FakeWorker worker;
    FakeClient client(worker);
    worker.know_key();
    struct Twice final : service::RequestTask {
        using RequestTask::RequestTask;
        void run()
        {
            service::Response response;
            response.status = 204;
            respond(response);
            refuse({api::ErrorCode::not_found, "The path does not exist."});
            fail();
            CHECK(over());
            CHECK_FALSE(gone());
        }
    };
    client.start_task<Twice>(client.context());
    CHECK(client.responses == 1);
    CHECK(client.failures == 0);
    CHECK(client.status == 204);
    CHECK(client.state().error_code.empty());
    client.leave();
    CHECK(client.releases == 1);
}
