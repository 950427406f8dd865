#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "printable.h"

namespace petstore::metrics {

// A host of the store: an nginx, with the version of its module.
struct StoreHost {
    // Truncated, NUL-terminated, and printable ASCII: programs may have written
    // anything to Redis.
    char name[64] = {};
    char configuration[96] = {};
    char version[32] = {};
    std::uint64_t until = 0;  // in Unix seconds of this host

    // Hosts count for three minutes. Further ahead, it is the time of a clock
    // that has been set back since.
    bool counts(std::uint64_t now) const noexcept
    {
        return until > now && until <= now + 240;
    }

    friend bool operator<(const StoreHost& a, const StoreHost& b) noexcept
    {
        const int names = std::strcmp(a.name, b.name);
        return names < 0
               || (names == 0
                   && std::strcmp(a.configuration, b.configuration) < 0);
    }
};

// The hosts that share a Redis with this one, as its worker has last read them.
// In shared memory; the owner of the memory locks it.
class StoreHosts {
public:
    static constexpr std::size_t kSize = 32;

    // Adds a host, or what has changed of it. It replaces one that no longer
    // counts, or else is left out.
    void add(std::string_view name, std::string_view configuration,
             std::string_view version, std::uint64_t until,
             std::uint64_t now) noexcept
    {
        StoreHost added;
        set_printable(added.name, name);
        set_printable(added.configuration, configuration);
        set_printable(added.version, version);
        added.until = until;
        StoreHost* place = nullptr;
        for (StoreHost& host : hosts_) {
            if (!(host < added) && !(added < host)) {
                place = &host;
                break;
            }
            if (place == nullptr && !host.counts(now)) {
                place = &host;
            }
        }
        if (place != nullptr) {
            *place = added;
        }
    }

    const std::array<StoreHost, kSize>& all() const noexcept { return hosts_; }

private:
    std::array<StoreHost, kSize> hosts_;
};

}  // namespace petstore::metrics
