#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include "raw_client.h"
#include "store.h"

namespace petstore::e2e {

// Reloads nginx while each of these clients has sent a part of its request, so
// that the old workers will answer. No client may be connected before. nginx
// and key must outlive this object.
class OldClients {
public:
    OldClients(NginxServer& nginx, const Key& key, std::size_t count = 200)
        : key_(key)
    {
        const auto before = nginx.sockets_at_rest();
        for (std::size_t i = 0; i < count; ++i) {
            clients_.emplace_back(nginx.port());
            clients_.back().send("GET /v1/pets HTTP/1.1\r\n");
        }
        REQUIRE(wait_until([&] { return nginx.sockets() >= before + count; }));
        nginx.reload();
    }

    // The response to the next client, which then leaves.
    Response get()
    {
        REQUIRE(!clients_.empty());
        RawClient client = std::move(clients_.back());
        clients_.pop_back();
        client.send("Host: localhost\r\nAuthorization: Bearer " + key_.secret
                    + "\r\n\r\n");
        return client.read();
    }

    // Whether the old workers return to serving. Waits after each failure, so
    // that the clients last for the timeout of wait_until().
    bool recover()
    {
        return wait_until([&] {
            if (get().status == 200) {
                return true;
            }
            std::this_thread::sleep_for(400ms);
            return false;
        });
    }

    void leave() { clients_.clear(); }

private:
    const Key& key_;
    std::vector<RawClient> clients_;
};

}  // namespace petstore::e2e
