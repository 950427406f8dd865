#include "two_redis.h"

#include "guarded_store.h"

namespace petstore::e2e {

namespace {

NginxOptions with_shop(NginxOptions options, const BackEnd& back_end)
{
    options.server +=
        "location /shop/ { petstore_guard on;proxy_pass http://%BACK_END%; }";
    return with_back_end(std::move(options), back_end);
}

}  // namespace

Output TwoRedis::ctl(std::vector<std::string> arguments,
                     const std::string& input) const
{
    arguments.insert(arguments.begin(), {"--limit-redis", limits.url()});
    return e2e::ctl(main.url(), arguments, input);
}

void TwoRedis::charge_main(const Key& key) const
{
    NginxOptions one;
    one.redis = main.url();
    CHECK(Http(NginxServer(one).url(), key.secret).get("/v1/pets").status
          == 200);
}

Key TwoRedis::create_key(std::vector<std::string> arguments) const
{
    arguments.insert(arguments.end(), {"--limit-redis", limits.url()});
    return e2e::create_key(main, arguments);
}

Key TwoRedis::limited_key(long long per_minute, long long per_day) const
{
    return create_key({"--plan", "enterprise", "--per-minute",
                       std::to_string(per_minute), "--per-day",
                       std::to_string(per_day)});
}

NginxOptions TwoRedis::with(NginxOptions options) const
{
    options.redis = main.url();
    options.http += "petstore_limit_redis " + limits.url() + ";";
    return options;
}

std::string limits_marker(const RedisServer& redis)
{
    const auto text = redis.command({"GET", kLimitsMarker}).text;
    return text.substr(0, text.find(' '));
}

void check_fails(const Output& output, const std::string& message, int code)
{
    INFO(output.err);
    CHECK(output.code == code);
    CHECK(output.out.empty());
    CHECK(contains(output.err, message));
}

TwoRedisStore::TwoRedisStore(NginxOptions options,
                             const std::vector<std::string>& config)
    : redis(config), key(redis.create_key()),
      nginx(with_shop(redis.with(std::move(options)), back_end)),
      http(nginx.url(), key.secret)
{}

}  // namespace petstore::e2e
