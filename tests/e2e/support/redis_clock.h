#pragma once

#include <cstdio>
#include <ctime>

#include "limits.h"

namespace petstore::e2e {

// A clock for Redis that the test can set.
class FakeClock {
public:
    FakeClock() { set(0); }

    // Sets the offset from the true time, in seconds.
    void set(long long offset) const
    {
        write_file(dir_ / "new", std::to_string(offset));
        std::rename((dir_ / "new").c_str(), (dir_ / "clock").c_str());
    }

    std::vector<std::pair<std::string, std::string>> env() const
    {
        return {{"LD_PRELOAD", E2E_FAKE_CLOCK}, {"FAKE_CLOCK", dir_ / "clock"}};
    }

private:
    TempDir dir_;
};

// A Redis with such a clock.
struct ClockedRedis {
    ClockedRedis() : redis({}, RedisServer::Start::now, clock.env()) {}
    ~ClockedRedis() { redis_clock_ahead = 0; }

    NginxOptions options(const std::string& location = "")
    {
        NginxOptions options;
        options.redis = redis.url();
        options.location = "petstore_limit_headers windows;" + location;
        return options;
    }

    // Sets the offset from the true time, in seconds, and waits until Redis
    // notices: Valkey 9 reads the clock only now and then.
    void set_clock(long long offset) const
    {
        clock.set(offset);
        redis_clock_ahead = offset;
        REQUIRE(wait_until([&] {
            const auto off = redis_now(redis) - unix_time() - offset;
            return off >= -1 && off <= 1;
        }));
    }

    // Sets a moment in UTC, such as "2027-02-28 23:59:00", and returns it in
    // Unix seconds.
    long long set_time(const std::string& text) const
    {
        const auto time = unix_seconds(text);
        set_clock(time - unix_time());
        return time;
    }

    static long long unix_seconds(const std::string& text)
    {
        std::tm time{};
        REQUIRE(strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &time) != nullptr);
        return timegm(&time);
    }

    FakeClock clock;
    RedisServer redis;
};

}  // namespace petstore::e2e
