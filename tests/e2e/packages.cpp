// What the Debian packages bring along: configurations for conf.d and the
// scripts of installation and removal. And scripts/apt-install.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "support/guarded_store.h"

using namespace petstore::e2e;
using namespace std::string_literals;

namespace {

std::string packaged(const std::string& name)
{
    return read_file(std::string(E2E_SUPPORT) + "/../../../debian/" + name);
}

}  // namespace

TEST_CASE("packages: site.conf serves the API, its log and the status")
{
    auto site = packaged("site.conf");
    replace_all(site, "petstore_redis redis://127.0.0.1:6379/0;", "");
    replace_all(site, "listen 127.0.0.1:8080;",
                "listen unix:%DIR%/site.sock; listen %ADDRESS%:%TLS_PORT%;");
    replace_all(site, "/var/log/nginx/", "");
    NginxOptions options;
    options.http = site;
    const Store store(options);

    auto http = Http(http_url(store.nginx.tls_port()), store.key.secret);
    const auto list = http.get("/v1/pets");
    expect_json(list, 200, "[]");
    const auto id = list.header("x-request-id");
    CHECK(id.size() == 32);
    expect_error(http.get("/v1/pets/1"), 404, "pet_not_found");
    const auto log = store.nginx.path("petstore.log");
    CHECK(wait_until([&] { return split(read_file(log), '\n').size() == 2; }));
    const auto line = nlohmann::json::parse(split(read_file(log), '\n').at(0));
    CHECK(line["path"] == "/v1/pets");
    CHECK(line["status"] == 200);
    CHECK(line["operation"] == "listPets");
    CHECK(line["account"] == store.key.account);
    CHECK(line["key_id"] == store.key.id);
    CHECK(line["limit"] == "PASSED");
    CHECK(line["error"] == "");
    CHECK(line["redis"].is_number_float());
    CHECK(line["request"] == id);

    const auto status = http.get("/status");
    CHECK(status.status == 200);
    CHECK(contains(status.body, "petstore_build_info"));
    CHECK(http.get("/livez").status == 204);
    CHECK(wait_until([&] { return http.get("/readyz").status == 204; }));
    CHECK(http.get("/docs").status == 301);
}

TEST_CASE("packages: guard-site.conf guards an API, beside the other examples")
{
    const BackEnd back_end;
    // As nginx reads petstore-admin.conf, petstore-guard.conf and
    // petstore.conf.
    auto files = packaged("../nginx-conf/admin.conf")
                 + packaged("guard-site.conf") + packaged("site.conf");
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>(
              "petstore_redis redis://127.0.0.1:6379/0;", ""),
          {"listen 127.0.0.1:8080;", "listen unix:%DIR%/site.sock;"},
          {"listen 127.0.0.1:8081;", "listen unix:%DIR%/admin.sock;"},
          {"listen 127.0.0.1:8082;",
           "listen unix:%DIR%/guard.sock; listen %ADDRESS%:%TLS_PORT%;"},
          {"proxy_pass http://127.0.0.1:9000;",
           "proxy_pass http://" + back_end.address() + ";"},
          {"/var/log/nginx/", ""}}) {
        INFO(from);
        CHECK(contains(files, from));
        replace_all(files, from, to);
    }
    NginxOptions options;
    options.http = files;
    const Store store(options);

    auto http = Http(http_url(store.nginx.tls_port()), store.key.secret);
    const auto order = http.get("/orders/7");
    CHECK(order.status == 200);
    CHECK(order.body == "back end");
    rate_headers_of(order);
    CHECK(back_end.last().target == "/orders/7");
    CHECK(back_end.last().header("x-account") == store.key.account);
    CHECK_FALSE(back_end.last().has("authorization"));
    expect_error(http.get("/orders/7", kNoKey), 401, "missing_api_key");
    CHECK(back_end.count() == 1);
    CHECK(http.get("/usage").json()["today"] == 1);
    expect_error(http.get("/other"), 404, "not_found");
    CHECK(contains(http.get("/status").body, "{route=\"orders\""));
    CHECK(http.get("/livez").status == 204);
    CHECK(wait_until([&] { return http.get("/readyz").status == 204; }));

    const auto log = store.nginx.path("petstore-guard.log");
    CHECK(wait_until([&] { return contains(read_file(log), "\n"); }));
    const auto line = nlohmann::json::parse(split(read_file(log), '\n').at(0));
    CHECK(line["path"] == "/orders/7");
    CHECK(line["status"] == 200);
    CHECK(line["route"] == "orders");
    CHECK(line["account"] == store.key.account);
    CHECK(line["key_id"] == store.key.id);
    CHECK(line["key_refusal"] == "");
    CHECK(line["limit"] == "PASSED");
    CHECK(line["request"] == order.header("x-request-id"));
}

TEST_CASE("packages: removal names the files that still need the module")
{
    TempDir dir;
    for (const char* folder :
         {"conf.d", "sites-available", "sites-enabled", "modules-enabled"}) {
        mkdir((dir / folder).c_str(), 0755);
    }
    auto script = packaged("libnginx-mod-http-petstore.postrm");
    REQUIRE(contains(script, " /etc/nginx "));
    replace_all(script, "/etc/nginx", dir.path());
    const auto removed = [&](const std::string& action = "remove") {
        const auto output = run({"sh", "-c", script, "postrm", action});
        CHECK(output.code == 0);
        CHECK(output.err == "");
        return output.out;
    };
    write_file(dir / "nginx.conf", "http {}\n# petstore_redis is elsewhere\n");
    write_file(dir / "modules-enabled/50-mod-http-petstore.conf",
               "load_module modules/ngx_http_petstore_module.so;\n");
    write_file(dir / "sites-available/unused", "petstore_zone 1m;\n");
    CHECK(removed() == "");

    write_file(dir / "conf.d/petstore.conf", packaged("site.conf"));
    write_file(dir / "sites-available/shop",
               "server { location /v1/ { petstore; } }\n");
    REQUIRE(symlink((dir / "sites-available/shop").c_str(),
                    (dir / "sites-enabled/shop").c_str())
            == 0);
    const auto lines = split(removed(), '\n');
    REQUIRE(lines.size() == 3);
    CHECK(contains(lines.at(0), "nginx cannot be reloaded or started"));
    CHECK(lines.at(1) == "  " + (dir / "conf.d/petstore.conf"));
    CHECK(lines.at(2) == "  " + (dir / "sites-enabled/shop"));
    CHECK(removed("upgrade") == "");
}

TEST_CASE("packages: an upgrade says what to do next")
{
    const auto script = packaged("libnginx-mod-http-petstore.postinst");
    const auto said = [&](const std::string& old_version) {
        const auto output =
            run({"sh", "-c", script, "postinst", "configure", old_version});
        CHECK(output.code == 0);
        CHECK(output.err == "");
        return output.out;
    };
    CHECK(said("") == "");
    CHECK(contains(said("0.1.0"), "stop nginx on all hosts"));
    CHECK_FALSE(contains(said("0.1.0"), "restart nginx"));
    CHECK(contains(said("0.2.0+deb12"), "systemctl restart nginx"));
}

TEST_CASE("packages: an installation says if nginx still has another module")
{
    const TempDir dir;
    auto script = packaged("libnginx-mod-http-petstore.postinst");
    for (const char* path : {"/run/nginx.pid", "/proc/"}) {
        REQUIRE(contains(script, path));
        replace_all(script, path, dir.path() + path);
    }
    for (const char* folder : {"run", "proc", "proc/4711"}) {
        mkdir((dir / folder).c_str(), 0755);
    }
    const auto said = [&](const std::string& old_version = "") {
        const auto output =
            run({"sh", "-c", script, "postinst", "configure", old_version});
        CHECK(output.code == 0);
        CHECK(output.err == "");
        return output.out;
    };
    const std::string map =
        "7f0000000000-7f0000001000 r--p 00000000 fe:00 1 "
        "/usr/lib/nginx/modules/ngx_http_petstore_module.so";
    write_file(dir / "proc/4711/maps", map + " (deleted)\n");
    CHECK(said() == "");
    write_file(dir / "run/nginx.pid", "4711\n");
    CHECK(contains(said(), "systemctl restart nginx"));
    CHECK(contains(said("0.1.0"), "stop nginx on all hosts"));
    write_file(dir / "proc/4711/maps", map + "\n");
    CHECK(said() == "");
    write_file(dir / "run/nginx.pid", "4712\n");
    CHECK(said() == "");
}

TEST_CASE("packages: a killed scripts/apt-install leaves no policy that holds")
{
    TempDir dir;
    auto script = packaged("../scripts/apt-install");
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>("/var/lib/dpkg", dir.path()),
          {"/usr/sbin/policy-rc.d", dir / "policy"},
          {"apt-get -qq", dir / "apt"}}) {
        REQUIRE(contains(script, from));
        replace_all(script, from, to);
    }
    // What a package asks before it starts its service.
    const auto policy = [&] { return run({"sh", dir / "policy"}).code; };
    const auto install = [&](const std::string& apt) {
        write_file(dir / "apt", "#!/bin/sh\n" + apt);
        chmod((dir / "apt").c_str(), 0755);
        return run({"bash", "-c", script, "apt-install", "hello"}).code;
    };
    const auto ask = "sh " + (dir / "policy") + " && exit 7; exit 0\n";
    CHECK(install(ask) == 0);
    CHECK(access((dir / "policy").c_str(), F_OK) != 0);

    CHECK(install("kill -s KILL $PPID\n") == 128 + SIGKILL);
    CHECK(access((dir / "policy").c_str(), F_OK) == 0);
    CHECK(wait_until([&] { return policy() == 0; }));  // apt still had the lock
    CHECK(install(ask) == 0);
    CHECK(access((dir / "policy").c_str(), F_OK) != 0);

    // The administrator's.
    write_file(dir / "policy", "exit 101\n");
    CHECK(install("") == 0);
    CHECK(policy() == 101);
}
