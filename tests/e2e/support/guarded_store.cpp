#include "guarded_store.h"

namespace petstore::e2e {

const Headers kNoKey = {{"Authorization", ""}};
const Headers kUnknownKey = {{"Authorization", "Bearer no-such-key"}};

namespace {

NginxOptions with_shop(NginxOptions options, const std::string& shop)
{
    options.server +=
        "location /shop/ { petstore_guard on;proxy_pass http://%BACK_END%;"
        + shop + "}";
    return options;
}

}  // namespace

NginxOptions with_back_end(NginxOptions options, const BackEnd& back_end)
{
    for (auto* text : {&options.http, &options.server, &options.location,
                       &options.servers}) {
        replace_all(*text, "%BACK_END%", back_end.address());
    }
    return options;
}

GuardedStore::GuardedStore(NginxOptions options, const std::string& shop,
                           BackEnd::Script script)
    : back_end(std::move(script)),
      store(with_back_end(with_shop(std::move(options), shop), back_end))
{}

long long GuardedStore::charged() const
{
    return used(store.redis, store.key, "day");
}

void expect_guarded(const Store& store, const std::string& path, int status)
{
    INFO(path);
    Http http(store.nginx.url(), limited_key(store.redis, 1).secret);
    expect_error(http.get(path, kNoKey), 401, "missing_api_key");
    const auto passed = http.get(path);
    CHECK(passed.status == status);
    CHECK(rate_headers_of(passed).remaining == 0);
    expect_error(http.get(path), 429, "rate_limit_exceeded");
}

}  // namespace petstore::e2e
