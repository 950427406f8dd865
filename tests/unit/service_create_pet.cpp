#include "api/text.h"
#include "service_test.h"

using Result = FakeClient::Result;

namespace {

constexpr char kRex[] = R"({"name":"Rex","categoryId":7,"status":"sold"})";

std::string hex_digest(std::string_view text)
{
    return api::to_hex(api::bytes_of(api::sha256(text)));
}

struct Fixture {
    Fixture()
    {
        worker.know_key();
        client.sent_body = kRex;
    }

    // Runs the request up to the body or the command that creates the pet.
    void admit()
    {
        client.send();
        CHECK(worker.open() == Names{"limit"});
        CHECK(client.responses == 0);
        worker.admit();
        worker.link.end_iteration();
    }

    void receive(Result result)
    {
        client.receive(result);
        worker.link.end_iteration();
    }

    void reply_created(long long id)
    {
        worker.reply_to("create_pets", array({integer(1), integer(id)}));
    }

    // Replies to a create with an Idempotency-Key.
    void reply_created_once(long long id)
    {
        worker.reply_to("create_pets",
                        array({integer(1), integer(id), kNil, integer(0)}));
    }
    void reply_known(long long answer)
    {
        worker.reply_to("create_pets", known(answer));
    }
    static std::string known(long long answer)
    {
        return array({integer(0), integer(0), kNil, integer(answer)});
    }

    FakeWorker worker;
    FakeClient client{worker, Method::post};
};

}  // namespace

TEST_CASE("a pet is created after the limiter has admitted", "[service]")
{
    Fixture f;
    f.admit();
    CHECK(f.client.body_limit == 16384);
    REQUIRE(f.worker.open() == Names{"create_pets"});
    const auto& command = f.worker.link.commands[0];
    CHECK(command[2] == "4");
    CHECK(command[3] == "petstore:{petstore:pets}:count");
    CHECK(command[4] == "petstore:{petstore:pets}:changes");
    CHECK(command[5] == "petstore:{petstore:pets}:segments");
    CHECK(command[6] == "petstore:{petstore:pets}:status:sold");
    CHECK(command[7] == "petstore:{petstore:pets}:");
    CHECK(command[8] == "");
    CHECK(command[9] == "s7:Rex");
    CHECK(command.size() == 11);
    CHECK(f.client.responses == 0);

    f.reply_created(4);
    CHECK(f.client.status == 201);
    CHECK(f.client.body
          == R"({"id":4,"name":"Rex","categoryId":7,"status":"sold"})");
    CHECK(f.client.location == "/v1/pets/4");
    CHECK_FALSE(f.client.replayed);
    CHECK(f.client.link.empty());
    CHECK(f.client.state().operation == api::Operation::create_pet);
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.state().error_code.empty());
    CHECK(f.client.rate() == FakeClient::Rate{60, 57, f.worker.now() + 30});
    CHECK(f.client.ended());
}

TEST_CASE("Location starts with the configured base", "[service]")
{
    Fixture f;
    f.worker.settings.link_base = "https://api.example.com/v1";
    f.admit();
    f.reply_created(9'007'199'254'740'993);
    CHECK(f.client.location
          == "https://api.example.com/v1/pets/9007199254740993");
}

TEST_CASE("a create waits for a body that arrives after the headers",
          "[service]")
{
    Fixture f;
    f.client.body_is_here = false;
    f.admit();
    CHECK(f.worker.idle());
    f.receive(Result::complete);
    CHECK(f.worker.open() == Names{"create_pets"});
    CHECK(f.client.events == 1);  // the limiter's reply
    f.reply_created(4);
    CHECK(f.client.status == 201);
    CHECK(f.client.events == 2);
}

TEST_CASE("a create whose body comes late needs a key that is still usable",
          "[service]")
{
    Fixture f;
    // The address limits only requests without an account.
    f.worker.settings.enforce_address_limit = true;
    f.client.request().address = {{60, 0, f.worker.now() + 42}, true};
    f.client.body_is_here = false;
    f.admit();
    const auto rate = f.client.rate();
    const auto receive_after = [&](int milliseconds) {
        f.worker.clock.advance(milliseconds);
        f.receive(Result::complete);
    };
    const auto check_refused = [&](int status, const std::string& code) {
        CHECK(f.worker.idle());
        CHECK(f.client.status == status);
        CHECK(f.client.state().error_code == code);
        CHECK(f.client.rate() == rate);
        CHECK(f.client.ended());
    };
    SECTION("not yet late")
    {
        receive_after(899);
        CHECK(f.worker.open() == Names{"create_pets"});
    }
    SECTION("usable")
    {
        receive_after(900);
        CHECK(f.worker.open() == Names{"HGETALL"});
        f.worker.reply_record();
        f.worker.link.end_iteration();
        CHECK(f.worker.open() == Names{"create_pets"});
        f.reply_created(4);
        CHECK(f.client.status == 201);
        CHECK(f.client.rate() == rate);
        CHECK(f.client.ended());
        CHECK(f.worker.cached_key() != nullptr);
    }
    SECTION("although the records in memory are newer than the request")
    {
        f.worker.clock.advance(10'000);
        f.worker.know_key();
        f.receive(Result::complete);
        f.worker.reply_record({{"disabled", "1"}});
        check_refused(401, "invalid_api_key");
    }
    SECTION("deleted")
    {
        receive_after(900);
        f.worker.reply_no_record();
        check_refused(401, "invalid_api_key");
        CHECK(f.worker.cached_key() == nullptr);
    }
    SECTION("disabled")
    {
        receive_after(900);
        f.worker.reply_record({{"disabled", "1"}});
        check_refused(401, "invalid_api_key");
        CHECK(f.client.state().key.refused.refusal
              == api::KeyRefusal::disabled);
    }
    SECTION("of a disabled account")
    {
        receive_after(900);
        f.worker.reply_record({}, {{"disabled", "1"}});
        check_refused(401, "invalid_api_key");
    }
    SECTION("expired")
    {
        receive_after(900);
        f.worker.reply_record({{"expires", std::to_string(f.worker.now())}});
        check_refused(401, "invalid_api_key");
    }
    SECTION("without the scope")
    {
        receive_after(900);
        f.worker.reply_record({{"scopes", "read"}});
        check_refused(403, "insufficient_scope");
    }
    SECTION("with another plan")
    {
        f.worker.settings.plans = {"free"};
        receive_after(900);
        f.worker.reply_record({{"plan", "pro"}});
        check_refused(403, "plan_not_allowed");
    }
    SECTION("which Redis does not tell")
    {
        receive_after(900);
        f.worker.link.lose(NoReply::in_doubt);
        check_refused(503, "service_unavailable");
        // Where the limiter can be asked, others need no record.
        CHECK(f.worker.cached_key() != nullptr);
    }
    SECTION("a body that cannot be used needs no key")
    {
        f.client.sent_body = "{";
        receive_after(900);
        check_refused(400, "invalid_json");
    }
    SECTION("the client leaves meanwhile")
    {
        receive_after(900);
        f.client.leave();
        f.worker.reply_record();
        f.worker.link.end_iteration();
        CHECK(f.worker.idle());
        CHECK(f.client.releases == 1);
    }
}

TEST_CASE("a denial from memory counts as old as Redis's reply", "[service]")
{
    Fixture f;
    f.worker.settings.limit_dry_run = true;
    FakeClient denied(f.worker, Method::get, "/v1/nothing");
    denied.send();
    f.worker.reply_limit({0, 60, 70});
    f.worker.clock.advance(450);
    f.client.body_is_here = false;
    f.client.send();
    REQUIRE(f.worker.idle());
    SECTION("not yet late")
    {
        f.worker.clock.advance(449);
        f.receive(Result::complete);
        CHECK(f.worker.open() == Names{"create_pets"});
    }
    SECTION("late")
    {
        f.worker.clock.advance(450);
        f.receive(Result::complete);
        CHECK(f.worker.open() == Names{"HGETALL"});
    }
}

TEST_CASE("the body of a denied create is not read", "[service]")
{
    Fixture f;
    f.client.body_is_here = false;
    f.client.send();
    f.worker.reply_limit({0, 60, 70});
    CHECK(f.client.status == 429);
    CHECK(f.client.body_waiter == nullptr);
    CHECK(f.worker.idle());
}

// --- headers -----------------------------------------------------------------

TEST_CASE("headers of a create are checked in order", "[service]")
{
    Fixture f;
    f.client.body_is_here = false;
    auto& request = f.client.request();
    request.length = 16385;
    request.headers["Content-Type"] = "text/plain";
    request.headers["Content-Encoding"] = "gzip";
    request.headers["Idempotency-Key"] = "";
    SECTION("the size")
    {
        f.admit();
        CHECK(f.client.status == 413);
        CHECK(f.client.body
              == R"({"code":"payload_too_large","message":"The request body )"
                 R"(must not be larger than 16384 bytes.","status":413})");
        CHECK(f.client.state().error_code == "payload_too_large");
    }
    SECTION("then the type")
    {
        request.length = 16384;
        f.admit();
        CHECK(f.client.status == 415);
        CHECK(f.client.body
              == R"({"code":"unsupported_media_type","message":"The body must )"
                 R"(be application/json in UTF-8.","status":415})");
        CHECK(f.client.state().error_code == "unsupported_media_type");
    }
    SECTION("then the encoding")
    {
        request.length = -1;
        request.headers["Content-Type"] = "application/json";
        f.admit();
        CHECK(f.client.status == 415);
        CHECK(f.client.body
              == R"({"code":"unsupported_media_type","message":"The body must )"
                 R"(not have a Content-Encoding.","status":415})");
    }
    SECTION("then the Idempotency-Key")
    {
        request.length = 0;
        request.headers.erase("Content-Type");
        request.headers["Content-Encoding"] = GENERATE("Identity", "");
        f.admit();
        CHECK(f.client.status == 400);
        CHECK(f.client.state().error_code == "invalid_parameter");
        CHECK(f.client.body.find("Idempotency-Key") != std::string::npos);
    }
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.body_waiter == nullptr);
    CHECK(f.client.ended());
    CHECK(f.worker.idle());
}

TEST_CASE("a repeated header of the body is refused", "[service]")
{
    Fixture f;
    auto& request = f.client.request();
    SECTION("Content-Type")
    {
        request.headers["Content-Type"] = "application/json";
        request.repeated = "Content-Type";
    }
    SECTION("Content-Encoding")
    {
        request.headers["Content-Encoding"] = "identity";
        request.repeated = "Content-Encoding";
    }
    f.admit();
    CHECK(f.client.status == 415);
}

TEST_CASE("a body with a Content-Encoding is refused", "[service]")
{
    const auto coding =
        GENERATE(as<std::string>{}, "gzip", "br", "deflate, identity", "x");
    CAPTURE(coding);
    Fixture f;
    f.client.request().headers["Content-Encoding"] = coding;
    f.admit();
    CHECK(f.client.status == 415);
    CHECK(f.worker.idle());
}

TEST_CASE("an Idempotency-Key is one value of visible ASCII", "[service]")
{
    Fixture f;
    auto& request = f.client.request();
    SECTION("repeated")
    {
        request.headers["Idempotency-Key"] = "x";
        request.repeated = "Idempotency-Key";
    }
    SECTION("too long")
    {
        request.headers["Idempotency-Key"] = std::string(256, 'x');
    }
    SECTION("with a space")
    {
        request.headers["Idempotency-Key"] = "a b";
    }
    SECTION("with a tab")
    {
        request.headers["Idempotency-Key"] = "a\tb";
    }
    SECTION("not ASCII")
    {
        request.headers["Idempotency-Key"] = "\xC3\xA4";
    }
    f.admit();
    CHECK(f.client.status == 400);
    CHECK(f.client.state().error_code == "invalid_parameter");
    CHECK(f.worker.idle());
}

// --- bodies ------------------------------------------------------------------

TEST_CASE("a body that cannot be used is refused", "[service]")
{
    Fixture f;
    f.client.body_is_here = false;
    f.admit();
    SECTION("too large")
    {
        f.receive(Result::too_large);
        CHECK(f.client.status == 413);
        CHECK(f.client.state().error_code == "payload_too_large");
    }
    SECTION("too slow")
    {
        f.receive(Result::timed_out);
        CHECK(f.client.status == 408);
        CHECK(f.client.state().error_code == "request_timeout");
    }
    SECTION("empty")
    {
        f.client.sent_body = "";
        f.receive(Result::complete);
        CHECK(f.client.status == 400);
        CHECK(f.client.state().error_code == "missing_body");
    }
    SECTION("not JSON")
    {
        f.client.sent_body = "{";
        f.receive(Result::complete);
        CHECK(f.client.status == 400);
        CHECK(f.client.state().error_code == "invalid_json");
    }
    SECTION("without a name")
    {
        f.client.sent_body = R"({"categoryId":7})";
        f.receive(Result::complete);
        CHECK(f.client.status == 400);
        CHECK(f.client.state().error_code == "missing_field");
    }
    SECTION("with an id")
    {
        f.client.sent_body = R"({"id":1,"name":"Rex","categoryId":7})";
        f.receive(Result::complete);
        CHECK(f.client.status == 400);
        CHECK(f.client.state().error_code == "read_only_field");
    }
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.ended());
    CHECK(f.worker.idle());
}

// --- Idempotency-Key ---------------------------------------------------------

TEST_CASE("an Idempotency-Key is stored with the body's digest", "[service]")
{
    Fixture f;
    const std::string key(255, '~');
    f.client.request().headers["Idempotency-Key"] = key;
    f.admit();
    REQUIRE(f.worker.open() == Names{"create_pets"});
    const auto& command = f.worker.link.commands[0];
    CHECK(command[2] == "5");
    CHECK(command[7]
          == "petstore:{petstore:pets}:idempotency:a1:" + hex_digest(key));
    CHECK(command[9] == "86400");
    CHECK(command[10] == "s7:Rex");
    CHECK(command[11] == hex_digest(kRex));
    CHECK(command.size() == 13);
    f.reply_created_once(4);
    CHECK(f.client.status == 201);
    CHECK_FALSE(f.client.replayed);
}

TEST_CASE("a repeated request gets the first pet", "[service]")
{
    Fixture f;
    f.client.request().headers["Idempotency-Key"] = "x";
    f.admit();
    f.reply_known(2);
    CHECK(f.client.status == 201);
    CHECK(f.client.replayed);
    CHECK(f.client.location == "/v1/pets/2");
    CHECK(f.client.body
          == R"({"id":2,"name":"Rex","categoryId":7,"status":"sold"})");
}

TEST_CASE("the same Idempotency-Key with another body is refused", "[service]")
{
    Fixture f;
    f.client.request().headers["Idempotency-Key"] = "x";
    f.admit();
    f.reply_known(-1);
    CHECK(f.client.status == 422);
    CHECK(f.client.state().error_code == "idempotency_key_reused");
    CHECK(f.client.location.empty());
    CHECK_FALSE(f.client.replayed);
}

// --- durability --------------------------------------------------------------

TEST_CASE("only the create itself goes over the durable link", "[service]")
{
    Fixture f;
    FakeLink durable;
    f.worker.durable_link = &durable;
    f.client.request().headers["Idempotency-Key"] = "x";
    f.admit();
    CHECK(f.worker.idle());
    REQUIRE(durable.commands.size() == 1);
    CHECK(durable.commands[0][1] == store::scripts().create_pets.sha1);
    // A replayed create writes, too.
    REQUIRE(durable.commands[0].size() == 14);
    CHECK(durable.commands[0][12] == "1");
    SECTION("confirmed")
    {
        durable.reply(Fixture::known(4));
        CHECK(f.client.status == 201);
        CHECK(f.client.replayed);
    }
    SECTION("not confirmed")
    {
        durable.lose(NoReply::in_doubt);
        CHECK(f.client.status == 503);
        CHECK(f.client.state().error_code == "outcome_unknown");
    }
    SECTION("not supported")
    {
        durable.lose(NoReply::not_sent);
        CHECK(f.client.status == 503);
        CHECK(f.client.state().error_code == "service_unavailable");
    }
    CHECK(f.client.ended());
}

TEST_CASE("a denied create does not reach the durable link", "[service]")
{
    Fixture f;
    FakeLink durable;
    f.worker.durable_link = &durable;
    f.client.send();
    f.worker.reply_limit({0, 60, 70});
    CHECK(f.client.status == 429);
    CHECK(durable.sent.empty());
}

// --- failures ----------------------------------------------------------------

TEST_CASE("a create without a reply may have happened", "[service]")
{
    Fixture f;
    f.admit();
    SECTION("lost")
    {
        f.worker.link.lose(NoReply::in_doubt);
    }
    SECTION("lost after the script's text was sent")
    {
        f.worker.reply_to("create_pets", "-NOSCRIPT x\r\n");
        f.worker.link.lose(NoReply::in_doubt);
    }
    SECTION("an error that may come after the first write")
    {
        f.worker.reply_to("create_pets", "-ERR x\r\n");
    }
    SECTION("an unusable reply")
    {
        f.worker.reply_to(
            "create_pets",
            GENERATE(as<std::string>{}, "+OK\r\n", "*0\r\n",
                     "*2\r\n:0\r\n:0\r\n", "*2\r\n:2\r\n:9\r\n",
                     // About an Idempotency-Key, but none was sent.
                     Fixture::known(1), Fixture::known(-1)));
    }
    CHECK(f.client.status == 503);
    CHECK(f.client.state().error_code == "outcome_unknown");
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.retry_after == 1);
    CHECK(f.client.location.empty());
    CHECK(f.client.ended());
    CHECK(f.worker.idle());  // never sent again
}

TEST_CASE("a create that Redis has not executed has not happened", "[service]")
{
    Fixture f;
    SECTION("not sent")
    {
        f.client.body_is_here = false;
        f.admit();
        f.worker.link.full = true;
        f.receive(Result::complete);
    }
    SECTION("lost before it was sent")
    {
        f.admit();
        f.worker.link.lose(NoReply::not_sent);
    }
    SECTION("refused")
    {
        f.admit();
        f.worker.reply_to("create_pets",
                          GENERATE(as<std::string>{}, "-OOM x\r\n",
                                   "-READONLY x\r\n", "-LOADING x\r\n"));
    }
    SECTION("an unknown script, whose text cannot be sent")
    {
        f.admit();
        f.worker.link.full = true;
        f.worker.reply_to("create_pets", "-NOSCRIPT x\r\n");
    }
    CHECK(f.client.status == 503);
    CHECK(f.client.state().error_code == "service_unavailable");
    CHECK(f.client.retry_after == 1);
    CHECK(f.client.ended());
}

TEST_CASE("a create is sent once more with the script's text", "[service]")
{
    Fixture f;
    f.client.request().headers["Idempotency-Key"] = "x";
    f.admit();
    const auto first = f.worker.link.commands[0];
    f.worker.reply_to("create_pets", "-NOSCRIPT x\r\n");
    REQUIRE(f.worker.open() == Names{"text of create_pets"});
    const auto second = f.worker.link.commands[0];
    CHECK(FakeLink::Words(first.begin() + 2, first.end())
          == FakeLink::Words(second.begin() + 2, second.end()));
    f.worker.reply_to("text of create_pets",
                      array({integer(1), integer(4), kNil, integer(0)}));
    CHECK(f.client.status == 201);
    CHECK(f.client.ended());
}

TEST_CASE("a create in a full catalogue is refused and logged", "[service]")
{
    Fixture f;
    f.admit();
    f.worker.reply_to("create_pets", "-FULL x\r\n");
    CHECK(f.client.status == 503);
    CHECK(f.client.state().error_code == "service_unavailable");
    CHECK(f.client.body.find("The catalogue is full") != std::string::npos);
    CHECK(f.worker.log.events[store::Event::catalogue_full] == 1);
    CHECK(f.worker.log.damaged_keys.empty());
    CHECK(f.client.ended());
    CHECK(f.worker.idle());
}

TEST_CASE("a create in damaged data changes nothing", "[service]")
{
    Fixture f;
    SECTION("the version, which the limiter brings")
    {
        f.worker.count = bulk("x");
        f.admit();
        CHECK(f.worker.log.damaged_keys
              == Names{"petstore:{petstore:pets}:count"});
    }
    SECTION("what the script finds")
    {
        f.admit();
        f.worker.reply_to("create_pets",
                          "-DAMAGED petstore:{petstore:pets}:bucket:0\r\n");
        CHECK(f.worker.log.damaged_keys
              == Names{"petstore:{petstore:pets}:bucket:0"});
    }
    CHECK(f.client.status == 500);
    CHECK(f.client.state().error_code == "internal_error");
    CHECK(f.client.state().limit_status == api::LimitStatus::passed);
    CHECK(f.client.ended());
    CHECK(f.worker.idle());
}
