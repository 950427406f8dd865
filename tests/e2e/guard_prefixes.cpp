// A client's request to guarded locations of two stores: with another
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
        const auto made = ctl(shop.store.redis.url(),
                              {"--prefix", "other", "key", "import", "-",
                               "--plan", "pro", "--json"},
                              kSecret + "\n");
        REQUIRE(made.code == 0);
        theirs = nlohmann::json::parse(made.out)["account"];
        shop.http.use_key(kSecret);
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
};

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
