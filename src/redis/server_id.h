#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "command.h"
#include "reply.h"

namespace petstore::redis {

// Which server is at an address: in a Cluster the node's id, behind Sentinels
// the run ID. Empty if unknown. Allocates nothing.
class ServerId {
public:
    static constexpr std::size_t kMaxSize = 64;  // Redis's have 40

    ServerId() = default;

    // Empty unless the text consists of 1 to kMaxSize visible ASCII characters.
    explicit ServerId(std::string_view text) noexcept;

    bool empty() const noexcept { return size_ == 0; }
    std::string_view text() const noexcept { return {text_.data(), size_}; }

    bool operator==(const ServerId& other) const noexcept
    {
        return text() == other.text();
    }
    bool operator!=(const ServerId& other) const noexcept
    {
        return !(*this == other);
    }

    // Whether both are known and differ.
    bool contradicts(const ServerId& other) const noexcept
    {
        return !empty() && !other.empty() && *this != other;
    }

private:
    std::array<char, kMaxSize> text_{};
    std::size_t size_ = 0;
};

// A server's address as reported by Sentinels or by other servers of its
// Cluster.
struct ServerAddress {
    std::string host;  // an IP address; a name if they announce names
    int port = 0;

    // Of the server that is meant; not part of the address. The IP address is
    // empty if it is unknown, as where `host` is one.
    ServerId id{};
    std::string ip{};

    bool operator==(const ServerAddress& other) const noexcept
    {
        return host == other.host && port == other.port;
    }
    bool operator!=(const ServerAddress& other) const noexcept
    {
        return !(*this == other);
    }
};

// Ask a server who it is. The id is empty if the server refuses to say.
Command node_id_request();  // of a Cluster
ServerId node_id(const Reply& reply) noexcept;
Command run_id_request();
ServerId run_id(const Reply& reply) noexcept;

}  // namespace petstore::redis
