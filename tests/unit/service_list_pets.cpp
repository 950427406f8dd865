#include "service_test.h"

namespace {

constexpr char kFirstTwo[] =
    R"([{"id":1,"name":"Rex","categoryId":7,"status":"sold"},)"
    R"({"id":2,"name":"Tom","categoryId":8,"status":"available"}])";

std::string link_after(api::PetId last, int limit,
                       std::optional<api::Status> status = std::nullopt)
{
    const std::string filter =
        status ? "&status=" + std::string(api::to_string(*status)) : "";
    const std::string first =
        "</v1/pets?limit=" + std::to_string(limit) + filter;
    return first + "&cursor=" + api::encode_cursor(last, status)
           + ">; rel=\"next\", " + first + ">; rel=\"first\"";
}

struct Fixture {
    Fixture() { worker.know_key(); }

    FakeWorker worker;
    FakeClient client{worker};
};

}  // namespace

TEST_CASE("a page is read behind the limiter's command, in one iteration",
          "[service]")
{
    Fixture f;
    f.client.start();
    CHECK(f.worker.idle());
    f.worker.link.end_iteration();
    REQUIRE(f.worker.open() == Names{"limit", "LRANGE"});
    CHECK(f.worker.link.commands[1]
          == FakeLink::Words{"LRANGE", "petstore:{petstore:pets}:bucket:0", "0",
                             "20"});
    f.worker.admit();
    CHECK(f.client.responses == 0);
    f.worker.reply_to("LRANGE", FakeWorker::three_pets());
    CHECK(f.client.status == 200);
    CHECK(f.client.body == FakeWorker::kThreePets);
    CHECK(f.client.link.empty());
    CHECK(f.client.state().operation == api::Operation::list_pets);
    CHECK_FALSE(f.client.state().deprecated);
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.state().error_code.empty());
    CHECK(f.client.ended());
}

TEST_CASE("a page that is not the last one links to the next", "[service]")
{
    Fixture f;
    f.client.request().arguments = "limit=2";
    f.client.send_and_admit();
    CHECK(f.worker.link.commands[0].back() == "2");  // one row more
    f.worker.reply_to("LRANGE", FakeWorker::three_pets());
    CHECK(f.client.body == kFirstTwo);
    CHECK(f.client.link == link_after(2, 2));
}

TEST_CASE("links start with the configured base", "[service]")
{
    Fixture f;
    f.worker.settings.link_base = "https://api.example.com/v1";
    f.client.request().arguments = "limit=2";
    f.client.send_and_admit();
    f.worker.reply_to("LRANGE", FakeWorker::three_pets());
    CHECK(
        f.client.link
        == "<https://api.example.com/v1/pets?limit=2&cursor="
               + api::encode_cursor(2, std::nullopt)
               + ">; rel=\"next\", <https://api.example.com/v1/pets?limit=2>; rel=\"first\"");
}

TEST_CASE("a filtered page is read by one script", "[service]")
{
    Fixture f;
    f.client.request().arguments = "status=sold&limit=1";
    f.client.send();
    REQUIRE(f.worker.open() == Names{"limit", "list_by_status"});
    f.worker.admit();
    f.worker.reply_to("list_by_status", array({integer(1), bulk("s7:Rex"),
                                               integer(3), bulk("s9:Ada")}));
    CHECK(f.client.body
          == R"([{"id":1,"name":"Rex","categoryId":7,"status":"sold"}])");
    CHECK(f.client.link == link_after(1, 1, api::Status::sold));
}

TEST_CASE("a cached page needs only the limiter's command", "[service]")
{
    Fixture f;
    f.client.request().arguments = "limit=2";
    f.client.send_and_admit();
    f.worker.reply_to("LRANGE", FakeWorker::three_pets());

    FakeClient second(f.worker);
    second.request().arguments = "limit=2";
    second.send();
    CHECK(f.worker.open() == Names{"limit"});
    f.worker.admit();
    CHECK(second.status == 200);
    CHECK(second.body == kFirstTwo);
    CHECK(second.link == link_after(2, 2));
    CHECK(second.cached != nullptr);
    CHECK(second.cached == f.client.cached);
    CHECK(f.worker.idle());

    // A pet was changed in the meantime.
    f.worker.changes = bulk("6");
    FakeClient third(f.worker);
    third.request().arguments = "limit=2";
    third.send_and_admit();
    CHECK(third.responses == 0);
    CHECK_FALSE(f.worker.idle());
}

TEST_CASE("requests for the same page share one read", "[service]")
{
    Fixture f;
    FakeClient second(f.worker);
    f.client.start();
    second.send();
    CHECK(f.worker.open() == Names{"limit", "LRANGE"});
    f.worker.reply_limit({2, 4, 41});
    f.worker.reply_to("LRANGE", FakeWorker::three_pets());
    CHECK(f.client.body == FakeWorker::kThreePets);
    CHECK(second.body == FakeWorker::kThreePets);
    CHECK(second.cached == f.client.cached);
}

TEST_CASE("a page of an empty catalogue is empty", "[service]")
{
    Fixture f;
    f.worker.count = kNil;
    f.worker.changes = kNil;
    f.client.send_and_admit();
    f.worker.reply_to("LRANGE", array({}));  // read ahead
    // Checks whether the version's keys are lost or there are no pets.
    REQUIRE(f.worker.open() == Names{"LINDEX", "GET"});
    f.worker.reply_to("LINDEX", kNil);
    f.worker.reply_to("GET", kNil);
    CHECK(f.client.status == 200);
    CHECK(f.client.body == "[]");
    CHECK(f.client.link.empty());
    CHECK(f.client.ended());
}

TEST_CASE("an invalid query is refused without a read, and charged",
          "[service]")
{
    Fixture f;
    f.client.request().arguments = "limit=0";
    f.client.send();
    CHECK(f.worker.open() == Names{"limit"});
    CHECK(f.client.responses == 0);
    f.worker.admit();
    CHECK(f.client.status == 400);
    CHECK(f.client.state().error_code == "invalid_parameter");
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.body.find("limit") != std::string::npos);
    CHECK(f.worker.idle());
}

TEST_CASE("the limiter comes before an invalid query", "[service]")
{
    Fixture f;
    f.client.request().arguments = "limit=0";
    f.client.send();
    f.worker.reply_limit({0, 60, 70});
    CHECK(f.client.status == 429);
}

TEST_CASE("a denied request ignores what was read ahead", "[service]")
{
    Fixture f;
    f.client.send();
    f.worker.reply_limit({0, 60, 70});
    CHECK(f.client.status == 429);
    f.worker.reply_to("LRANGE", FakeWorker::three_pets());
    CHECK(f.client.responses == 1);
}

TEST_CASE("a failed read never reports an unknown outcome", "[service]")
{
    Fixture f;
    f.client.send_and_admit();
    SECTION("lost")
    {
        f.worker.link.lose(NoReply::in_doubt);
    }
    SECTION("not sent")
    {
        f.worker.link.lose(NoReply::not_sent);
    }
    SECTION("an error of Redis")
    {
        f.worker.reply_to("LRANGE", "-ERR x\r\n");
    }
    CHECK(f.client.status == 503);
    CHECK(f.client.state().error_code == "service_unavailable");
    CHECK(f.client.retry_after == 1);
    // The account was charged, and its rate is known.
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.rate() == FakeClient::Rate{60, 57, f.worker.now() + 30});
    CHECK(f.client.ended());
}

TEST_CASE("a read that cannot be sent after the decision fails at once",
          "[service]")
{
    Fixture f;
    // Nothing can be read ahead.
    f.client.send();
    const auto limit = f.worker.limit_reply({{}});
    auto* decision = f.worker.link.handlers[0];
    f.worker.link.handlers.pop_front();
    f.worker.link.commands.pop_front();
    f.worker.link.lose(NoReply::not_sent);  // the page
    f.worker.link.full = true;
    Replies replies;
    decision->on_reply(replies(limit));
    CHECK(f.client.status == 503);
    CHECK(f.client.state().error_code == "service_unavailable");
    CHECK(f.client.ended());
}

TEST_CASE("damaged data are an internal error and are logged", "[service]")
{
    Fixture f;
    f.client.send();
    SECTION("the version")
    {
        f.worker.changes = bulk("x");
        f.worker.admit();
        CHECK(f.worker.log.damaged_keys
              == Names{"petstore:{petstore:pets}:changes"});
    }
    SECTION("a record")
    {
        f.worker.admit();
        f.worker.reply_to("LRANGE",
                          array({bulk("s7:Rex"), bulk("?"), bulk("p9:Ada")}));
        CHECK(f.worker.log.damaged_keys
              == Names{"petstore:{petstore:pets}:bucket:0"});
    }
    CHECK(f.client.status == 500);
    CHECK(f.client.state().error_code == "internal_error");
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.ended());
}

TEST_CASE("HEAD reads as GET does", "[service]")
{
    Fixture f;
    f.client.request().verb = Method::head;
    f.client.send_and_admit();
    f.worker.reply_to("LRANGE", FakeWorker::three_pets());
    CHECK(f.client.status == 200);
    CHECK(f.client.body == FakeWorker::kThreePets);
    CHECK(f.client.state().operation == api::Operation::list_pets);
}
