#pragma once

#include <string>
#include <vector>

#include "../ngx_base/ngx.h"
#include "../redis/endpoint.h"

namespace petstore::ngx {

// One Redis of the configuration. Made at configuration time, lives in the
// configuration of its cycle.
struct NodeSettings {
    redis::Endpoint endpoint;
    std::string name;  // of the endpoint, for the log: no credentials
    ngx_msec_t connect_timeout = 250;
    ngx_msec_t timeout = 500;

    struct Address {
        std::vector<u_char> sockaddr;
        std::string text;
    };
    std::vector<Address> addresses;  // at least one; tried in turn
};

}  // namespace petstore::ngx
