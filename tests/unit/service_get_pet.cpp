#include "service_test.h"

namespace {

constexpr char kNoSuchPet[] =
    R"({"code":"pet_not_found","message":"There is no pet with this id.",)"
    R"("status":404})";

struct Fixture {
    explicit Fixture(const std::string& path = "/v1/pets/2")
        : client(worker, Method::get, path)
    {
        worker.know_key();
    }

    FakeWorker worker;
    FakeClient client;
};

}  // namespace

TEST_CASE("a pet is read behind the limiter's command", "[service]")
{
    Fixture f;
    f.client.send();
    REQUIRE(f.worker.open() == Names{"limit", "LINDEX"});
    CHECK(
        f.worker.link.commands[1]
        == FakeLink::Words{"LINDEX", "petstore:{petstore:pets}:bucket:0", "1"});
    f.worker.admit();
    f.worker.reply_to("LINDEX", bulk("a8:Tom"));
    CHECK(f.client.status == 200);
    CHECK(f.client.body
          == R"({"id":2,"name":"Tom","categoryId":8,"status":"available"})");
    CHECK(f.client.link.empty());
    CHECK(f.client.state().operation == api::Operation::get_pet);
    CHECK(f.client.state().deprecated);
    CHECK(f.client.ended());

    // Served from memory.
    FakeClient again(f.worker, Method::get, "/v1/pets/2");
    again.send();
    CHECK(f.worker.open() == Names{"limit"});
    f.worker.admit();
    CHECK(again.status == 200);
    CHECK(again.cached == f.client.cached);
}

TEST_CASE("an id beyond the last one is 404 without waiting for a read",
          "[service]")
{
    Fixture f("/v1/pets/4");
    f.client.send();
    // The last id is not known yet.
    CHECK(f.worker.open() == Names{"limit", "LINDEX"});
    f.worker.admit();
    CHECK(f.client.status == 404);
    CHECK(f.client.body == kNoSuchPet);
    CHECK(f.client.state().error_code == "pet_not_found");
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.state().deprecated);
    f.worker.reply_to("LINDEX", kNil);

    // A page makes the worker learn the last id.
    FakeClient list(f.worker);
    list.send_and_admit();
    f.worker.reply_to("LRANGE", FakeWorker::three_pets());
    FakeClient again(f.worker, Method::get, "/v1/pets/4");
    again.send();
    CHECK(f.worker.open() == Names{"limit"});
    f.worker.admit();
    CHECK(again.status == 404);
    CHECK(again.body == kNoSuchPet);
    CHECK(f.worker.idle());
}

TEST_CASE("an id that was created a moment ago is found", "[service]")
{
    Fixture f("/v1/pets/4");
    f.client.send();
    f.worker.count = bulk("4");
    f.worker.admit();
    f.worker.reply_to("LINDEX", bulk("a8:Ben"));
    CHECK(f.client.status == 200);
}

TEST_CASE("an id that no pet can have is 404 without a read", "[service]")
{
    const auto id = GENERATE(as<std::string>{}, "0", "-1", "+1", "01", "x",
                             "1.0", "9223372036854775808");
    CAPTURE(id);
    Fixture f("/v1/pets/" + id);
    f.client.send();
    CHECK(f.worker.open() == Names{"limit"});
    f.worker.admit();
    CHECK(f.client.status == 404);
    CHECK(f.client.body == kNoSuchPet);
    CHECK(f.worker.idle());
}

TEST_CASE("from its sunset on the operation is gone", "[service]")
{
    Fixture f;
    f.worker.settings.get_sunset = f.worker.now() + 10;
    SECTION("a millisecond before")
    {
        f.worker.clock.advance(9'999);
        f.client.send();
        CHECK(f.worker.open() == Names{"limit", "LINDEX"});
        f.worker.admit();
        f.worker.reply_to("LINDEX", bulk("a8:Tom"));
        CHECK(f.client.status == 200);
    }
    SECTION("at that moment")
    {
        f.worker.clock.advance(10'000);
        f.client.send();
        CHECK(f.worker.open() == Names{"limit"});
        CHECK(f.client.responses == 0);
        f.worker.admit();
        CHECK(f.client.status == 410);
        CHECK(f.client.body
              == R"({"code":"gone","message":"This operation has been shut )"
                 R"(down; list pets instead.","status":410})");
        CHECK(f.client.state().error_code == "gone");
        CHECK(f.client.state().limit_status == api::LimitStatus::passed);
        CHECK(f.client.state().deprecated);
        CHECK(f.worker.idle());
    }
    SECTION("whatever the id")
    {
        f.client.request().uri = "/v1/pets/x";
        f.worker.clock.advance(10'000);
        f.client.send_and_admit();
        CHECK(f.client.status == 410);
    }
    SECTION("but the key comes first")
    {
        f.client.request().headers.clear();
        f.worker.clock.advance(10'000);
        f.client.start();
        CHECK(f.client.status == 401);
    }
}

TEST_CASE("a failed read of a pet is not a 404", "[service]")
{
    Fixture f;
    f.client.send_and_admit();
    SECTION("lost")
    {
        f.worker.link.lose(NoReply::in_doubt);
        CHECK(f.client.status == 503);
        CHECK(f.client.state().error_code == "service_unavailable");
        CHECK(f.client.retry_after == 1);
    }
    SECTION("damaged")
    {
        f.worker.reply_to("LINDEX", bulk("?"));
        CHECK(f.client.status == 500);
        CHECK(f.client.state().error_code == "internal_error");
        CHECK(f.worker.log.damaged_keys
              == Names{"petstore:{petstore:pets}:bucket:0"});
    }
    SECTION("missing although its id was given")
    {
        f.worker.reply_to("LINDEX", kNil);
        CHECK(f.client.status == 500);
        CHECK(f.client.state().error_code == "internal_error");
    }
    CHECK(f.client.ended());
}
