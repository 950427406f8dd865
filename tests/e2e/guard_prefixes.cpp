// A client's request to guarded locations with different storages: with another
// petstore_prefix, its key is that of another account.
#include <sys/stat.h>

#include <thread>

#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

const std::string kSecret = "key-of-a-customer-of-two-stores";

struct TwoPrefixes {
    explicit TwoPrefixes(const std::string& server, BackEnd::Script script = {})
        : shop(options(server), "", std::move(script)),
          ours(import_key(shop.store.redis, kSecret))
    {
        const auto made = import_other(kSecret, {"--plan", "pro"});
        theirs = made["account"];
        their_id = made["id"];
        shop.http.use_key(kSecret);
    }

    // The JSON that petstorectl prints about the other store.
    nlohmann::json other(std::vector<std::string> arguments,
                         const std::string& input = "") const
    {
        arguments.insert(arguments.begin(), {"--prefix", "other"});
        const auto done = ctl(shop.store.redis.url(), arguments, input);
        REQUIRE(done.code == 0);
        return nlohmann::json::parse(done.out, nullptr, false);
    }

    static NginxOptions options(const std::string& server)
    {
        NginxOptions options;
        options.http =
            "log_format own '$uri $petstore_account $petstore_key_id "
            "$petstore_limit_remaining [$petstore_key_refusal]';";
        options.server = "access_log own.log own;"
                         "location /other/ {"
                         "    petstore_guard on;"
                         "    petstore_prefix other;"
                         "    proxy_pass http://%BACK_END%;"
                         "}"
                         + server;
        return options;
    }

    nlohmann::json import_other(const std::string& secret,
                                std::vector<std::string> arguments) const
    {
        const auto import = {"key", "import", "-", "--json"};
        arguments.insert(arguments.begin(), import.begin(), import.end());
        return other(arguments, secret + "\n");
    }

    bool logged(const std::string& line) const
    {
        return wait_until([&] {
            return contains(read_file(shop.store.nginx.path("own.log")),
                            line + "\n");
        });
    }

    GuardedStore shop;
    Key ours;
    std::string theirs;  // the account
    std::string their_id;
};

// A back end whose responses to /shop/, and to /dry/, lead to /other/.
Response redirecting(const BackEnd::Request& request)
{
    if (contains(request.target, "/other/")) {
        return {200, "1.1", {}, "back end"};
    }
    return {200, "1.1", {{"X-Accel-Redirect", "/other/1"}}, ""};
}

}  // namespace

TEST_CASE("guard prefixes: each handler sees the account of its own store")
{
    TwoPrefixes stores(R"(
        location /page/ { root %DIR%; ssi on; ssi_types *; }
        location /checked/ {
            petstore_guard on;
            auth_request /other/check;
            proxy_pass http://%BACK_END%;
        })");
    auto& shop = stores.shop;
    mkdir(shop.store.nginx.path("page").c_str(), 0777);
    write_file(shop.store.nginx.path("page/all"),
               "<!--# include virtual=\"/shop/1\" -->"
               "<!--# include virtual=\"/other/2\" -->"
               "<!--# include virtual=\"/shop/3\" -->");
    CHECK(shop.http.get("/page/all").status == 200);
    CHECK(shop.http.get("/checked/").status == 200);
    CHECK(shop.back_end.count() == 5);
    for (const auto& request : shop.back_end.requests()) {
        INFO(request.target);
        CHECK(request.header("x-account")
              == (contains(request.target, "/other/") ? stores.theirs
                                                      : stores.ours.account));
    }
}

TEST_CASE("guard prefixes: a subrequest does not change what is reported")
{
    TwoPrefixes stores(
        R"(
        location /page/ { petstore_guard on; root %DIR%; ssi on; ssi_types *; }
        location /mirrored/ {
            petstore_guard on;
            mirror /copy;
            proxy_pass http://%BACK_END%;
        }
        location = /copy {
            internal;
            petstore_guard on;
            petstore_prefix nobody;
            proxy_pass http://%BACK_END%;
        })",
        [](const BackEnd::Request& request) {
            if (contains(request.target, "/mirrored/")) {
                std::this_thread::sleep_for(
                    500ms);  // until the copy is refused
            }
            return Response{200, "1.1", {}, "back end"};
        });
    auto& shop = stores.shop;
    mkdir(shop.store.nginx.path("page").c_str(), 0777);
    write_file(shop.store.nginx.path("page/one"),
               "<!--# include virtual=\"/other/1\" -->");
    const std::string account =
        " " + stores.ours.account + " " + stores.ours.id + " ";

    const auto page = shop.http.get("/page/one");
    CHECK(page.body == "back end");
    CHECK(rate_headers_of(page).remaining == 999'999);
    CHECK(stores.logged("/page/one" + account + "999999 [-]"));
    CHECK(shop.back_end.last().header("x-account") == stores.theirs);

    const auto mirrored = shop.http.get("/mirrored/");
    CHECK(mirrored.status == 200);
    CHECK(rate_headers_of(mirrored).remaining == 999'998);
    CHECK(stores.logged("/mirrored/" + account + "999998 [-]"));
    CHECK(shop.back_end.count() == 2);
}

// No request begins in the second location, so only the redirected ones can
// notice the change there.
TEST_CASE("guard prefixes: a key disabled in the second store is refused there")
{
    TwoPrefixes stores(R"(
        location /tried/v1/ {
            petstore_guard on;
            try_files /none @theirs;
        }
        location @theirs { petstore_prefix other; petstore /tried/v1; })",
                       redirecting);
    auto& http = stores.shop.http;
    const std::string pet = R"({"name":"Rex","categoryId":7})";
    CHECK(http.get("/shop/1").body == "back end");
    CHECK(http.get("/tried/v1/pets").status == 200);
    CHECK(http.post("/tried/v1/pets", pet).status == 201);

    stores.other({"key", "disable", stores.their_id});
    CHECK(kept_by(Clock::now() + 1s, [&] {
        return http.get("/shop/1").status == 401
               && http.get("/tried/v1/pets").status == 401
               && http.post("/tried/v1/pets", pet).status == 401;
    }));
    stores.other({"key", "enable", stores.their_id});
    CHECK(kept_by(Clock::now() + 1s,
                  [&] { return http.get("/shop/1").status == 200; }));
}

TEST_CASE("guard prefixes: a changed key is noticed beside other timeouts")
{
    NginxOptions options;
    options.server = R"(
        location /other/ {
            petstore_guard on;
            petstore_redis_timeout 7s;
            petstore_scope orders;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options, "", redirecting);
    auto& redis = shop.store.redis;
    const auto key =
        create_key(redis, {"--plan", "pro", "--scopes", "read,orders"});
    shop.http.use_key(key.secret);
    CHECK(shop.http.get("/shop/1").status == 200);
    CHECK(shop.back_end.last().header("x-plan") == "pro");

    ctl(redis.url(), {"key", "set", key.id, "--plan", "business"});
    CHECK(kept_by(Clock::now() + 1s, [&] {
        return shop.http.get("/shop/1").status == 200
               && shop.back_end.last().header("x-plan") == "business";
    }));
    ctl(redis.url(), {"key", "set", key.id, "--scopes", "read"});
    CHECK(kept_by(Clock::now() + 1s,
                  [&] { return shop.http.get("/shop/1").status == 403; }));
}

TEST_CASE(
    "guard prefixes: a limit of the first store bans nobody in the second")
{
    TwoPrefixes stores(R"(
        petstore_ban threshold=1;
        location /dry/ {
            petstore_guard on;
            petstore_limit_dry_run on;
            proxy_pass http://%BACK_END%;
        })",
                       redirecting);
    auto& http = stores.shop.http;
    const std::string secret = "key-of-another-customer-of-two-stores";
    const std::vector<std::string> two = {"--plan", "pro", "--per-minute", "2"};
    import_key(stores.shop.store.redis, secret, two);
    stores.import_other(secret, two);
    http.use_key(secret);
    for (int i = 0; i < 10; ++i) {
        CHECK(http.get("/dry/1").status == (i < 2 ? 200 : 429));
    }
    const auto direct = http.get("/other/1");
    CHECK(direct.status == 200);
    CHECK(rate_headers_of(direct).remaining == 1);
}
