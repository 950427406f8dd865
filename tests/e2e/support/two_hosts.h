#pragma once

#include "store.h"

namespace petstore::e2e {

// Two nginx with two workers each on one Redis: responses must not depend on
// the worker.
struct TwoHosts {
    NginxOptions options() const
    {
        NginxOptions options;
        options.redis = redis.url();
        options.workers = 2;
        return options;
    }

    RedisServer redis;
    const Key key = create_key(redis);
    NginxServer one{options()};
    NginxServer two{options()};
};

}  // namespace petstore::e2e
