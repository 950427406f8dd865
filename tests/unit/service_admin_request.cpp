// Requests to the admin API, up to their operation.
#include "service/admin/admin_api_request.h"

#include "service_test.h"

using Result = FakeClient::Result;

namespace {

// A request that creates a key, with a body that has not yet come.
struct Fixture {
    Fixture()
    {
        worker.settings.base_path = "/admin/v1";
        worker.know_key({{"scopes", "admin"}});
        client.sent_body = R"({"scopes":["admin"]})";
        client.body_is_here = false;
        client.start_task<service::AdminApiRequest>(client.context(), client,
                                                    store);
        worker.link.end_iteration();
        worker.admit();
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

    FakeWorker worker;
    FakeAlarm alarm;
    service::AdminStore store{worker.storage.schema,
                              {worker.link, worker.link, worker.storage.schema},
                              worker.clock,
                              service::Pauses(alarm)};
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
