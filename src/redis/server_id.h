#pragma once

#include <array>
#include <cstddef>
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

// Ask a server who it is. The id is empty if the server refuses to say.
Command node_id_request();  // of a Cluster
ServerId node_id(const Reply& reply) noexcept;
Command run_id_request();
ServerId run_id(const Reply& reply) noexcept;

}  // namespace petstore::redis
