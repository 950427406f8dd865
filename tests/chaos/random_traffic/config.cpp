#include "config.h"

#include <sys/stat.h>

#include <algorithm>

namespace petstore::e2e {

namespace {

// Every way to reach a petstore location indirectly, and to leave it:
// everything that can run before or after a module's handler. %…% as in
// NginxServer.
const char* const kLocations = R"(
        listen unix:%DIR%/h1.sock;
        listen unix:%DIR%/h2.sock http2;
        petstore_cors https://app.example.com;

        location /dry/v1/ { petstore /dry/v1; petstore_limit_dry_run on; }
        location /auth/v1/ {
            auth_request /v1/pets;
            petstore /auth/v1;
        }
        location /auth-dry/v1/ {
            auth_request /dry/v1/pets/1;
            petstore /auth-dry/v1;
            petstore_limit_dry_run on;
        }
        location /mirror/v1/ {
            mirror /v1/pets;
            mirror /dry/v1/pets/2;
            petstore /mirror/v1;
        }
        location /mirror-only/v1/ {
            mirror /dry/v1/pets;
            mirror_request_body off;
            petstore /mirror-only/v1;
            petstore_limit_dry_run on;
        }
        location /post/v1/ {
            petstore /post/v1;
            petstore_limit_dry_run on;
            post_action /v1/pets;
        }
        location /post-only/v1/ {
            petstore /post-only/v1;
            post_action /dry/v1/pets/3;
        }
        location /except/v1/ {
            limit_except GET OPTIONS { deny all; }
            petstore /except/v1;
        }
        location /rewritten/ { rewrite ^/rewritten/(.*)$ /dry/$1 last; }
        location /limited/v1/ {
            limit_req zone=requests burst=2 nodelay;
            limit_conn connections 8;
            petstore /limited/v1;
        }
        location /delayed/v1/ {
            limit_req zone=delays burst=20;
            petstore /delayed/v1;
        }
        location /gone/v1/ {
            petstore /gone/v1;
            petstore_get_sunset 2026-01-01;
        }
        location /small/v1/ {
            petstore /small/v1;
            petstore_max_body_size 100;
            petstore_anonymous_limit 5 enforce;
            petstore_limit_headers windows;
        }
        location /short/v1/ {
            petstore /short/v1;
            petstore_redis_timeout 30ms;
            petstore_redis_connect_timeout 20ms;
            petstore_limit_headers ietf;
        }
        location /direct/v1/ {
            petstore /direct/v1;
            petstore_redis %DIRECT%;
            petstore_ban threshold=5 window=2s duration=1s max=2s;
        }
        location /named/ {
            error_page 418 = @named;
            return 418;
        }
        location @named { petstore /named/v1; }
        location /try/ { try_files /nothing /dry/v1/pets; }

        location /out/v1/ {
            limit_except GET { deny all; }
            error_page 403 404 /v1/pets/1;
            error_page 400 408 413 500 503 = /dry/v1/pets/2;
            petstore /out/v1;
        }
        location /out-body/v1/ {
            error_page 400 401 404 408 413 415 429 500 503 /page.html;
            petstore /out-body/v1;
        }
        location /in/ { error_page 404 /v1/pets?limit=3; return 404; }
        location /in-as-it-is/ { error_page 404 = /dry/v1/pets; return 404; }
        location /proxied/ {
            auth_request /dry/v1/pets;
            proxy_pass http://unix:%DIR%/h1.sock:/v1/;
            proxy_set_header Host localhost;
            proxy_intercept_errors on;
            error_page 401 429 = /v1/pets/4;
            proxy_read_timeout 3s;
        }
        # nginx also applies send_timeout while a page waits for its parts.
        location /ssi-in/v1/ {
            send_timeout 30s;
            ssi on;
            ssi_types *;
            petstore /ssi-in/v1;
        }
        location /page { root %DIR%/pages; ssi on; send_timeout 30s; }

        # Behind a guard, and pages of its refusals, all by way of a back end
        # that shows what it gets.
        location /guarded/ {
            petstore_guard on;
            proxy_pass http://unix:%DIR%/h1.sock:/handler/admitted/;
            proxy_set_header Host localhost;
            proxy_read_timeout 3s;
            error_page 401 403 = @refused;
            error_page 429 503 /refused/x;
            location /guarded/mirrored/ {
                mirror /v1/pets/5;
                proxy_pass http://unix:%DIR%/h1.sock:/handler/admitted/;
            }
            location /guarded/tried/ { try_files /nothing /guarded/x; }
            location /guarded/accel/ {
                proxy_pass http://unix:%DIR%/h1.sock:/handler/accel/;
            }
            location /guarded/other/ {
                petstore_key_header X-API-Key;
                proxy_pass http://unix:%DIR%/h1.sock:/handler/admitted/;
            }
        }
        location @refused {
            rewrite ^ /handler/refused/ break;
            proxy_pass http://unix:%DIR%/h1.sock;
            proxy_set_header Host localhost;
            proxy_read_timeout 3s;
        }
        location /refused/ {
            proxy_pass http://unix:%DIR%/h1.sock:/handler/refused/;
            proxy_set_header Host localhost;
            proxy_read_timeout 3s;
        }
        location /handler/ {
            return 200 "$uri $http_authorization $http_x_api_key";
        }
        location /handler/accel/ {
            add_header X-Accel-Redirect /guarded/x;
            return 200 "$http_authorization";
        }
        location = /rest { stub_status; access_log off; }
)";

const char* const kHttp = R"(
    limit_req_zone $binary_remote_addr zone=requests:1m rate=20r/s;
    limit_req_zone $binary_remote_addr zone=delays:1m rate=200r/s;
    limit_conn_zone $binary_remote_addr zone=connections:1m;
    limit_req_status 429;
    client_header_timeout 6s;
    client_body_timeout 2s;
    send_timeout 1s;
    lingering_time 1s;
    lingering_timeout 500ms;
    log_format petstore '*$connection "$request_method $request_uri" $status $petstore_operation '
                        '$petstore_key_id $petstore_plan $petstore_limit_status '
                        '$petstore_limit_remaining $petstore_error_code $petstore_redis_time';
)";

// Adds a line to half of all configurations.
void maybe(std::string& text, Random& random, const std::string& line)
{
    if (random.chance(50)) {
        text += "    " + line + "\n";
    }
}

const std::string& path_of(const Route& route)
{
    return route.prefix;
}
const std::string& path_of(const std::string& page)
{
    return page;
}

// Restricts locations to those in PETSTORE_RANDOM_ONLY, separated by commas, to
// find out which of them a failure needs.
template <typename T>
std::vector<T> only(std::vector<T> all)
{
    const auto wanted = split(env_or("PETSTORE_RANDOM_ONLY", ""), ',');
    std::vector<T> some;
    for (const auto& one : all) {
        if (std::find(wanted.begin(), wanted.end(), path_of(one))
            != wanted.end()) {
            some.push_back(one);
        }
    }
    return wanted.empty() ? all : some;
}

}  // namespace

const std::vector<Route>& routes()
{
    static const std::vector<Route> all = [] {
        const auto service = Route::service;
        const auto mixed = Route::mixed;
        // prefix, answers, dry_run, gone, refuses_post, limits, asks_others,
        // mirrors
        return only<Route>({
            {"/v1", service},
            {"/v1", service},
            {"/v1", service},
            {"/dry/v1", service, true},
            {"/dry/v1", service, true},
            {"/dry/v1", service, true},
            {"/auth/v1", service, false, false, false, false, true},
            {"/auth-dry/v1", service, true, false, false, false, true},
            {"/mirror/v1", service, false, false, false, false, false, true},
            {"/mirror-only/v1", service, true, false, false, false, false,
             true},
            {"/post/v1", service, true},
            {"/post-only/v1", service},
            {"/except/v1", service, false, false, true},
            {"/rewritten/v1", service, true},
            {"/limited/v1", service, false, false, false, true},
            {"/delayed/v1", service, false, false, false, true},
            {"/gone/v1", service, false, true},
            {"/small/v1", service},
            {"/short/v1", service},
            {"/direct/v1", service},
            {"/named/v1", service},
            {"/out/v1", mixed},
            {"/out-body/v1", mixed},
            {"/ssi-in/v1", mixed},
            {"/proxied", mixed},
        });
    }();
    return all;
}

const std::vector<std::string>& pages()
{
    static const std::vector<std::string> all = only<std::string>(
        {"/page.html", "/page.html", "/page.html", "/in/x", "/in-as-it-is/x",
         "/try/x", "/proxied/pets", "/nowhere", "/guarded/x", "/guarded/x",
         "/guarded/mirrored/x", "/guarded/tried/x", "/guarded/accel/x",
         "/guarded/other/x", "/guarded/other/x"});
    return all;
}

NginxOptions random_configuration(Random& random,
                                  const std::vector<std::string>& redis,
                                  const std::string& direct)
{
    NginxOptions options;
    options.redis = random.pick(redis);
    options.workers = random.between(1, 2);
    options.tls = true;
    options.main = "worker_rlimit_nofile 4096;";

    std::string http = kHttp;
    maybe(http, random, "petstore_zone 32k;");
    maybe(http, random, "petstore_plan enterprise minute=50 day=5000;");
    // Always sets both, because the harness may set patient ones.
    http += "    petstore_redis_connect_timeout 250ms; petstore_redis_timeout "
            + random.pick<std::string>({"100ms", "500ms"}) + ";\n";
    maybe(http, random,
          "petstore_ban threshold=10 window=5s duration=1s max=4s;");
    maybe(http, random, "petstore_base_url https://api.example.com/;");
    maybe(http, random, "petstore_json_errors on;");
    maybe(http, random,
          "client_header_buffer_size 256; large_client_header_buffers 2 1k;");
    maybe(http, random, "client_body_buffer_size 64;");
    maybe(http, random, "client_body_in_file_only clean;");
    maybe(http, random, "output_buffers 1 512; postpone_output 0;");
    maybe(http, random, "keepalive_requests 7;");
    maybe(http, random, "reset_timedout_connection on;");
    maybe(http, random, "lingering_close always;");
    maybe(http, random,
          "gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;");
    maybe(http, random, "http2_max_concurrent_streams 8;");
    maybe(http, random, "ssi_min_file_chunk 1; ssi_silent_errors on;");
    options.http = http;

    options.server = kLocations;
    replace_all(options.server, "%DIRECT%", direct);
    options.server += "        access_log access.log petstore;\n";
    return options;
}

std::vector<Target> targets(const NginxServer& nginx, bool http2)
{
    const auto socket = nginx.path(http2 ? "h2.sock" : "h1.sock");
    Target tls{nginx.tls_port(), "", true, http2};
    Target local{0, socket, false, http2};
    if (http2) {
        return {tls, local, local};
    }
    const Target tcp{nginx.port(), "", false, false};
    return {tcp, tcp, tcp, tls, local};
}

void write_pages(const NginxServer& nginx)
{
    mkdir(nginx.path("pages").c_str(), 0755);
    write_file(nginx.path("pages/page.html"), R"(<html>
<!--#include virtual="/v1/pets" -->
<!--#include virtual="/v1/pets/1" -->
<!--#include virtual="/dry/v1/pets?limit=100" wait="yes" -->
<!--#include virtual="/dry/v1/nowhere" -->
<!--#include virtual="/direct/v1/pets/7" -->
<!--#include virtual="/v1/pets/2" set="one" -->
<!--#include virtual="/auth/v1/pets?limit=1" stub="x" -->
<!--#include virtual="/in/x" -->
<!--#echo var="one" -->
<!--#include virtual="/page-inner.html" -->
</html>
)");
    write_file(nginx.path("pages/page-inner.html"), R"(<p>
<!--#include virtual="/v1/pets?status=sold&limit=5" -->
<!--#include virtual="/out/v1/nowhere" -->
</p>
)");
}

}  // namespace petstore::e2e
