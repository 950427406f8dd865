// docs/directives.md: what `nginx -t` accepts, but warns of.
#include "support/certificates.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

using Lines = std::vector<std::string>;

Lines warnings_of(const NginxOptions& options)
{
    NginxOptions complete = options;
    complete.redis = "redis://127.0.0.1:6379";
    const auto result = NginxServer::check(complete);
    INFO(result.err);
    CHECK(result.code == 0);
    Lines lines;
    for (const auto& line : split(result.err, '\n')) {
        // DATE TIME [warn] PID#TID: MESSAGE in FILE:LINE
        const auto level = line.find("[warn] ");
        if (level != std::string::npos) {
            const auto start = line.find(": ", level) + 2;
            lines.push_back(line.substr(start, line.find(" in /") - start));
        }
    }
    return lines;
}

Lines in_server(const std::string& lines)
{
    NginxOptions options;
    options.server = lines;
    return warnings_of(options);
}

Lines in_location(const std::string& lines)
{
    NginxOptions options;
    options.location = lines;
    return warnings_of(options);
}

std::string returns(const std::string& location, const std::string& directive)
{
    return "location \"" + location
           + "\" needs no API key: \"return\" answers before \"" + directive
           + "\""
           + (directive == "petstore"
                  ? ""
                  : "; \"petstore_guard off\" says that this is intended");
}

std::string basic(const std::string& location,
                  const std::string& or_else = " and \"satisfy any\"")
{
    return "no request can satisfy both \"auth_basic\" and the API key of location \""
           + location
           + "\": both are in the header \"Authorization\"; see \"petstore_key_header\""
           + or_else;
}

const std::string kStatus =
    "hint: anyone who reaches location \"/status\" can read \"petstore_status\"; protect it with \"allow\" and \"deny\"";

}  // namespace

TEST_CASE("configuration: a return before the key is checked is warned of")
{
    const std::string guard = "petstore_guard";
    CHECK(in_location("return 200 x;") == Lines{returns("/v1/", "petstore")});
    CHECK(
        in_location(
            "if ($arg_a) { set $b 1; } set $c x$arg_c; rewrite ^/v1/a(.*)$ /v1/pets$1; return 404;")
        == Lines{returns("/v1/", "petstore")});
    for (const std::string flag : {"last", "redirect", "permanent"}) {
        CHECK(
            in_location("rewrite ^/v1/a/(.*)$ /v1/$1 " + flag + "; return 404;")
            == Lines{returns("/v1/", "petstore")});
    }
    CHECK(
        in_location("rewrite ^/v1/a/(.*)$ /v1/$1 break; return 404;").empty());
    CHECK(in_server("location /a/ { petstore_guard on; return 200 x; }")
          == Lines{returns("/a/", guard)});
    CHECK(
        in_server(
            "petstore_guard on; location ~ ^/a { return 301 /b; } location /c { location = /c/d { return 404; } }")
        == Lines{returns("^/a", guard), returns("/c/d", guard)});
    CHECK(in_location("location /v1/a/ { return 200 x; }")
          == Lines{returns("/v1/a/", guard)});

    const auto server = [](const std::string& name) {
        return "location \"" + name
               + "\" is never entered: \"return\" of its server answers all requests, and needs no API key";
    };
    // Once, although it answers for several locations.
    CHECK(in_server("return 200 x; location /a/ { petstore_guard on; }")
          == Lines{server("/a/")});
    // Without any location, too.
    const auto next_server = [](const std::string& lines) {
        NginxOptions options;
        options.http = lines;
        return warnings_of(options);
    };
    const Lines no_effect{
        "\"petstore_guard\" has no effect: \"return\" of its server answers all requests, and needs no API key"};
    CHECK(next_server(
              "server { listen 127.0.0.1:1; petstore_guard on; return 200 x; }")
          == no_effect);
    CHECK(
        next_server(
            "server { listen 127.0.0.1:1; petstore_guard on; return 200 x; location /a/ { } }")
        == no_effect);
    for (
        const std::string fine :
        {"petstore_guard on; server { listen 127.0.0.1:1; return 301 https://$host; }",
         "server { listen 127.0.0.1:1; petstore_guard on; if ($arg_a) { return 403; } }"}) {
        INFO(fine);
        CHECK(next_server(fine).empty());
    }
    for (const std::string fine :
         {"if ($arg_a) { return 403; }", "if ($arg_a) { break; } return 403;",
          "rewrite ^/api/(.*) /v1/$1 last; return 404;"}) {
        INFO(fine);
        CHECK(in_server(fine).empty());
    }

    for (
        const std::string fine :
        {"location /a/ { petstore_guard on; if ($arg_a) { return 403; } }",
         "location /a/ { petstore_guard on; break; return 200 x; }",
         "location /a/ { petstore_guard on; if ($arg_a) { set $b 1; } if ($arg_c) { return 403; } set $d 1; }",
         "petstore_guard on; location /a/ { petstore_guard off; return 404; }",
         "petstore_guard on; location /a/ { internal; return 404; } location @a { return 404; } location /h { petstore_health live; }",
         "location /a/ { return 404; }", "petstore_guard on;"}) {
        INFO(fine);
        CHECK(in_server(fine).empty());
    }
    CHECK(in_location("location /v1/a/ { petstore_guard off; return 200 x; }")
              .empty());
}

TEST_CASE("configuration: what only a guard follows is warned of without one")
{
    for (const auto& [directive, argument] :
         {std::pair("petstore_allow_plans", "pro"),
          std::pair("petstore_scope", "reports:read"),
          std::pair("petstore_cost", "10"),
          std::pair("petstore_route", "reports")}) {
        const auto line = std::string(directive) + " " + argument + ";";
        const Lines warning{
            "\"" + std::string(directive)
            + "\" has no effect: location \"/a/\" has no \"petstore_guard on\" and needs no API key"};
        INFO(line);
        CHECK(in_server("location /a/ { " + line + " }") == warning);
        CHECK(in_server("petstore_guard on; location /a/ { petstore_guard off; "
                        + line + " }")
              == warning);
        for (const std::string more :
             {"if ($arg_a) { return 405; }", "limit_except GET { deny all; }",
              "location ~ \\.pdf$ { expires 1h; if ($arg_a) { break; } }",
              "location /a/b { petstore_guard off; }",
              "location = /a/live { petstore_health live; }"}) {
            INFO(more);
            CHECK(in_server("location /a/ { " + line + more + " }") == warning);
        }
        const auto alone = [](const std::string& lines) {
            NginxOptions options;
            options.file =
                "load_module %MODULE%; events { } http { server { listen "
                "127.0.0.1:1; "
                + lines + " } }";
            return warnings_of(options);
        };
        CHECK(alone("location /a/ { " + line + " }") == warning);
        CHECK(
            alone(line + "location /a/ { if ($arg_a) { break; } }")
            == Lines{
                "\"" + std::string(directive)
                + "\" has no effect: the server has no \"petstore_guard on\" and needs no API key"});
        for (const std::string inner :
             {"petstore_guard on;", "petstore_usage;", "petstore_admin;",
              "location /a/b/ { petstore_guard on; }"}) {
            INFO(inner);
            CHECK(alone(line + "location /a/ { " + inner + " }").empty());
        }
        for (const std::string& fine :
             {"petstore_guard on; location /a/ { " + line + " }",
              "location /a/ { petstore_guard on; " + line + " }", line,
              "location /a/ { " + line
                  + " location /a/b { petstore_guard on; } }",
              "location /a/ { " + line
                  + " location /a/b { location ~ ^/a/b/c { petstore_guard on; "
                    "} } }",
              "location /a/ { petstore_usage; " + line + " }"}) {
            INFO(fine);
            CHECK(in_server(fine).empty());
        }
    }
}

TEST_CASE("configuration: auth_basic beside an API key is warned of")
{
    const std::string basics = "auth_basic staff; auth_basic_user_file u;";
    CHECK(in_location(basics) == Lines{basic("/v1/")});
    CHECK(in_location("limit_except GET { " + basics + " }")
          == Lines{basic("/v1/")});
    CHECK(in_server("location /a/ { petstore_guard on; " + basics + " }")
          == Lines{basic("/a/")});
    // Once for each directive.
    CHECK(
        in_server(
            basics
            + "location /a/ { petstore_guard on; } location /b/ { petstore_guard on; if ($arg_a) { set $b 1; } }")
            .size()
        == 1);

    for (const std::string handler :
         {"petstore_usage;", "petstore_admin; allow 127.0.0.1;"}) {
        INFO(handler);
        CHECK(in_server("location /a/ { " + handler + basics + " }")
              == Lines{basic("/a/")});
        CHECK(in_server("location /a/ { petstore_key_header X-API-Key; "
                        + handler + basics + " }")
                  .empty());
    }

    CHECK(in_location("satisfy any; " + basics) == Lines{basic("/v1/", "")});
    CHECK(in_location("satisfy any; allow 127.0.0.1; " + basics).empty());
    CHECK(in_server("satisfy any; allow 127.0.0.1; " + basics).empty());
    CHECK(in_server("satisfy any; allow ::1; " + basics).empty());
    CHECK(
        in_server(
            basics
            + "location /s { petstore_health live; } location /a/ { root /; }")
        == Lines{basic("/v1/")});
    CHECK(in_location("auth_basic off;").empty());
    CHECK(in_server("location /a/ { " + basics + " }").empty());
    CHECK(in_location("location /v1/a/ { petstore_guard off; " + basics + " }")
              .empty());
}

TEST_CASE("configuration: petstore_status that anyone may read is warned of")
{
    const auto at = [](const std::string& listen, const std::string& more) {
        NginxOptions options;
        options.servers = "server { " + listen
                          + " location = /status { petstore_status; " + more
                          + " } }";
        return warnings_of(options);
    };
    for (const std::string listen :
         {"listen 18999;", "listen 0.0.0.0:18999;", "listen [::]:18999;",
          "listen 127.0.0.1:18999; listen 18998;"}) {
        INFO(listen);
        CHECK(at(listen, "") == Lines{kStatus});
        for (const std::string rule :
             {"deny all;", "allow 10.0.0.0/8; deny all;",
              "allow fd00::/8; deny ::/0;", "allow unix:;",
              "auth_basic staff; auth_basic_user_file u;", "internal;",
              "auth_request /check;"}) {
            INFO(rule);
            CHECK(at(listen, rule).empty());
        }
        CHECK(at(listen + " allow 127.0.0.1; deny all;", "").empty());
        CHECK(at(listen, "auth_basic off;") == Lines{kStatus});
        CHECK(at(listen, "if ($arg_a) { set $b 1; }") == Lines{kStatus});
    }
    for (const std::string listen :
         {"listen 127.0.0.1:18999;", "listen 127.9.9.9:18999;",
          "listen [::1]:18999;", "listen unix:%DIR%/status.sock;"}) {
        INFO(listen);
        CHECK(at(listen, "").empty());
    }
}

TEST_CASE("configuration: petstore_status with client certificates")
{
    const CertificateAuthority authority;
    authority.issue("server", "DNS:petstore.test");
    const auto with = [&](const std::string& verify) {
        NginxOptions options;
        options.servers = "server { listen 18999 ssl; ssl_certificate "
                          + authority.file("server.crt")
                          + "; ssl_certificate_key "
                          + authority.file("server.key") + ";" + verify
                          + "location = /status { petstore_status; } }";
        return warnings_of(options);
    };
    CHECK(with("") == Lines{kStatus});
    CHECK(with("ssl_verify_client off;") == Lines{kStatus});
    CHECK(with("ssl_verify_client on; ssl_client_certificate "
               + authority.certificate() + ";")
              .empty());
}

TEST_CASE("configuration: variables that are empty in a zone's key")
{
    const auto with = [](const std::string& lines) {
        NginxOptions options;
        options.http = lines;
        return warnings_of(options);
    };
    const auto empty = [](const std::string& key, const std::string& zone) {
        return "the key \"" + key + "\" of zone \"" + zone
               + "\" is empty: limit_req and limit_conn use it before variables \"$petstore_…\" are set";
    };
    CHECK(with("limit_req_zone $petstore_account zone=slow:1m rate=1r/s;")
          == Lines{empty("$petstore_account", "slow")});
    CHECK(with("limit_conn_zone $petstore_key_id zone=few:1m;")
          == Lines{empty("$petstore_key_id", "few")});
    CHECK(
        with(
            "limit_req_zone $binary_remote_addr zone=fine:1m rate=1r/s; limit_conn_zone $server_name zone=few:1m; limit_req_zone a${petstore_plan} zone=slow:1m rate=5r/m;")
        == Lines{empty("a${petstore_plan}", "slow")});
    CHECK(
        with(
            "limit_req_zone $http_petstore_plan zone=a:1m rate=1r/s; limit_conn_zone $binary_remote_addr zone=b:1m;")
            .empty());
    // Even if nothing else uses the module: a guard may have been forgotten.
    NginxOptions unused;
    unused.file = "load_module %MODULE%; events { } http { limit_req_zone "
                  "$petstore_account zone=slow:1m rate=1r/s; server { listen "
                  "127.0.0.1:1; petstore_cors *; } }";
    CHECK(
        warnings_of(unused)
        == Lines{
            empty("$petstore_account", "slow"),
            "\"petstore_cors\" has no effect: no location with \"petstore\" or \"petstore_guard\" uses it"});
}
