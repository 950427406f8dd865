// Requests to the admin API, up to their operation.
#include "service/admin/admin_api_request.h"

#include <list>

#include "done_waiter.h"
#include "service_test.h"

using Result = FakeClient::Result;

namespace {

// A worker with the admin API, whose clients have an admin key.
struct AdminWorker {
    AdminWorker()
    {
        worker.settings.base_path = "/admin/v1";
        worker.know_key({{"scopes", "admin"}});
    }

    // To its operation, or to the line.
    void start(FakeClient& client)
    {
        client.start_task<service::AdminApiRequest>(client.context(), client,
                                                    store);
        worker.link.end_iteration();
        worker.admit();
    }

    void advance(int milliseconds)
    {
        worker.clock.advance(milliseconds);
        alarm.wait(static_cast<std::uint64_t>(milliseconds));
    }

    FakeWorker worker;
    FakeAlarm pauses;
    FakeAlarm alarm;
    service::AdminStore store{worker.storage.schema,
                              {worker.link, worker.link, worker.storage.schema},
                              worker.clock,
                              service::Pauses(pauses),
                              service::ListSemaphore(alarm)};
};

// Requests for lists, while others have all slots.
struct ListsInLine : AdminWorker {
    ListsInLine()
    {
        for (std::size_t i = 0; i < service::ListSemaphore::kMaxConcurrent;
             ++i) {
            DoneWaiter waiter;
            others.emplace_back(store.lists).acquire(waiter);
            REQUIRE(waiter.calls == 1);
            REQUIRE_FALSE(waiter.failed);
        }
    }
    ~ListsInLine() { end_operations(); }

    void end_operations()
    {
        while (!worker.idle()) {
            worker.link.lose(NoReply::not_sent);
        }
    }

    void check_waiting(const FakeClient& client) const
    {
        CHECK(worker.idle());
        CHECK(client.responses == 0);
    }

    std::list<service::ListSlot> others;
    FakeClient list{worker, Method::get, "/admin/v1/keys"};
    FakeClient second{worker, Method::get, "/admin/v1/accounts"};
    FakeClient usage{worker, Method::get, "/admin/v1/usage"};
    FakeClient plan{worker, Method::del, "/admin/v1/plans/mine"};
};

// A request that creates a key, with a body that has not yet come.
struct Fixture : AdminWorker {
    Fixture()
    {
        client.sent_body = R"({"scopes":["admin"]})";
        client.body_is_here = false;
        start(client);
        REQUIRE(client.body_waiter != nullptr);
        REQUIRE(worker.idle());
    }

    void receive_after(int milliseconds)
    {
        worker.clock.advance(milliseconds);
        client.receive(Result::complete);
    }

    void check_refused(int status, const std::string& code)
    {
        CHECK(worker.idle());
        CHECK(client.status == status);
        CHECK(client.state().error_code == code);
        CHECK(client.rate() == rate);
        CHECK(client.ended());
    }

    FakeClient client{worker, Method::post, "/admin/v1/keys"};
    Rate rate{60, 57, worker.now() + 30};
};

}  // namespace

TEST_CASE("a change whose body comes late needs a key that is still usable",
          "[service][admin]")
{
    Fixture f;
    SECTION("not yet late")
    {
        f.receive_after(899);
        CHECK_FALSE(f.worker.idle());
        CHECK(f.worker.open().front() != "HGETALL");
    }
    SECTION("usable")
    {
        f.receive_after(900);
        CHECK(f.worker.open() == Names{"HGETALL"});
        f.worker.reply_record({{"scopes", "admin"}});
        CHECK_FALSE(f.worker.idle());
        CHECK(f.client.responses == 0);
    }
    SECTION("deleted")
    {
        f.receive_after(900);
        f.worker.reply_no_record();
        f.check_refused(401, "invalid_api_key");
    }
    SECTION("disabled")
    {
        f.receive_after(900);
        f.worker.reply_record({{"scopes", "admin"}, {"disabled", "1"}});
        f.check_refused(401, "invalid_api_key");
    }
    SECTION("of a disabled account")
    {
        f.receive_after(900);
        f.worker.reply_record({{"scopes", "admin"}}, {{"disabled", "1"}});
        f.check_refused(401, "invalid_api_key");
    }
    SECTION("without the scope")
    {
        f.receive_after(900);
        f.worker.reply_record({{"scopes", "read,write"}});
        f.check_refused(403, "insufficient_scope");
    }
    SECTION("with another plan")
    {
        f.worker.settings.plans = {"free"};
        f.receive_after(900);
        f.worker.reply_record({{"scopes", "admin"}, {"plan", "pro"}});
        f.check_refused(403, "plan_not_allowed");
    }
    SECTION("which Redis does not tell")
    {
        f.receive_after(900);
        f.worker.link.lose(NoReply::not_sent);
        f.check_refused(503, "service_unavailable");
    }
    SECTION("the client leaves meanwhile")
    {
        f.receive_after(900);
        f.client.leave();
        f.worker.reply_record({{"scopes", "admin"}});
        CHECK(f.worker.idle());
        CHECK(f.client.releases == 1);
    }
    // Ends what waits.
    while (!f.worker.idle()) {
        f.worker.link.lose(NoReply::not_sent);
    }
}

TEST_CASE("lists take turns, so that customers find room in the queue",
          "[service][admin]")
{
    ListsInLine f;
    for (FakeClient* each : {&f.list, &f.second, &f.usage, &f.plan}) {
        f.start(*each);
        f.check_waiting(*each);
    }
    SECTION("in order, as soon as one ends")
    {
        f.others.pop_back();
        f.advance(0);
        CHECK(f.worker.open().size() == 1);
        f.others.pop_back();
        f.others.pop_back();
        f.advance(0);
        CHECK(f.worker.open().size() == 3);
        CHECK(f.list.events == 2);
        CHECK(f.plan.events == 1);

        // One that fails has ended, too.
        f.worker.link.lose(NoReply::not_sent);
        CHECK(f.list.status == 503);
        f.advance(0);
        CHECK(f.worker.open().size() == 3);
        CHECK(f.plan.events == 2);
    }
    SECTION("but others do not wait")
    {
        FakeClient one(f.worker, Method::get, "/admin/v1/keys/k1");
        f.start(one);
        CHECK(f.worker.open().size() == 1);
        f.end_operations();
    }
    SECTION("nor for ever")
    {
        f.advance(service::ListSemaphore::kMaxWait - 1);
        CHECK(f.list.responses == 0);
        f.advance(1);
        for (FakeClient* each : {&f.list, &f.second, &f.usage, &f.plan}) {
            CHECK(each->status == 503);
            CHECK(each->ended());
        }
        CHECK_FALSE(f.alarm.alarm);
    }
    SECTION("and a client that leaves gives up its place")
    {
        f.list.leave();
        f.second.leave();
        CHECK(f.list.releases == 1);
        CHECK(f.worker.idle());
        f.others.pop_back();
        f.advance(0);
        CHECK(f.worker.open().size() == 1);
        CHECK(f.usage.events == 2);
        f.plan.leave();
        CHECK_FALSE(f.alarm.alarm);
    }
}

TEST_CASE("a list whose turn comes late needs a key that is still usable",
          "[service][admin]")
{
    ListsInLine f;
    f.start(f.list);
    f.advance(900);
    f.check_waiting(f.list);
    f.others.pop_back();
    f.advance(0);
    REQUIRE(f.worker.open() == Names{"HGETALL"});
    SECTION("usable")
    {
        f.worker.reply_record({{"scopes", "admin"}});
        CHECK(f.worker.open().size() == 1);
        CHECK(f.list.responses == 0);
    }
    SECTION("disabled")
    {
        f.worker.reply_record({{"scopes", "admin"}, {"disabled", "1"}});
        CHECK(f.list.status == 401);
        // The request still exists, but its slot is free again.
        DoneWaiter waiter;
        service::ListSlot slot(f.store.lists);
        slot.acquire(waiter);
        CHECK(waiter.calls == 1);
    }
}
