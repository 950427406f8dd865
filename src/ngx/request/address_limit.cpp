#include "address_limit.h"

#include <array>
#include <cstring>

#include "../module.h"
#include "../worker/zone.h"

namespace petstore::ngx {

namespace {

constexpr std::size_t kSetSize = 8;

using Address = std::array<u_char, 8>;

struct Slot {
    Address address;
    std::uint32_t opened;  // Unix seconds; 0 = free
    std::uint32_t count;
};

}  // namespace

// Has sets * kSetSize slots.
struct AddressTable {
    std::size_t sets;
    std::uint32_t seed;  // so that clients cannot choose who shares a set
    Slot slots[1];
};

namespace {

// IPv4 addresses, including IPv4-mapped IPv6, are used in full; IPv6 addresses
// by their first 64 bits, which is what one customer gets. All clients of unix
// sockets share one address. No client has an IPv6 address that begins with
// 0xff (multicast, RFC 4291, section 2.7).
Address address_of(const sockaddr* address) noexcept
{
    Address key{0xff};
    if (address->sa_family == AF_INET) {
        const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
        key[1] = 4;
        std::memcpy(&key[4], &v4->sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
        const auto* bytes = v6->sin6_addr.s6_addr;
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
            key[1] = 4;
            std::memcpy(&key[4], bytes + 12, 4);
        } else {
            std::memcpy(key.data(), bytes, 8);
        }
    }
    return key;
}

// Seconds. A worker that was busy takes its time from before another one opened
// the window.
constexpr std::int32_t kMaxLag = 10;

// Also if the clock was set back.
bool is_over(const Slot& slot, std::uint32_t now) noexcept
{
    const auto age = static_cast<std::int32_t>(now - slot.opened);
    return age >= api::kMinuteSeconds || age < -kMaxLag;
}

Slot& slot_for(AddressTable& table, const Address& address,
               std::uint32_t now) noexcept
{
    std::array<u_char, 12> hashed;
    std::memcpy(hashed.data(), &table.seed, 4);
    std::memcpy(hashed.data() + 4, address.data(), 8);
    const std::size_t set =
        ngx_murmur_hash2(hashed.data(), hashed.size()) % table.sets;

    Slot* first = table.slots + set * kSetSize;
    Slot* oldest = first;
    for (Slot* slot = first; slot < first + kSetSize; ++slot) {
        if (slot->opened != 0 && slot->address == address) {
            return *slot;
        }
        if (slot->opened < oldest->opened) {
            oldest = slot;
        }
    }
    *oldest = {address, now, 0};
    return *oldest;
}

}  // namespace

AddressTable* create_address_table(ngx_slab_pool_t& pool,
                                   std::size_t bytes) noexcept
{
    const std::size_t sets =
        (bytes - offsetof(AddressTable, slots)) / (kSetSize * sizeof(Slot));
    auto* table = static_cast<AddressTable*>(ngx_slab_calloc(
        &pool, offsetof(AddressTable, slots) + sets * kSetSize * sizeof(Slot)));
    if (table != nullptr) {
        table->sets = sets;
        table->seed = static_cast<std::uint32_t>(ngx_random());
    }
    return table;
}

namespace {

// The window after `requests` more.
service::AddressWindow window_after(ngx_http_request_t* r, const Zone& zone,
                                    std::int64_t limit,
                                    std::uint32_t requests) noexcept
{
    const auto now = static_cast<std::uint32_t>(ngx_time());
    const Address address = address_of(r->connection->sockaddr);

    Slot seen;
    {
        const Zone::Lock lock(zone);
        Slot& slot = slot_for(zone.addresses(), address, now);
        if (is_over(slot, now)) {
            slot.opened = now;
            slot.count = 0;
        }
        if (slot.count < UINT32_MAX) {
            slot.count += requests;
        }
        seen = slot;
    }

    service::AddressWindow window;
    window.rate.limit = limit;
    window.rate.remaining = seen.count < limit ? limit - seen.count : 0;
    window.rate.reset = seen.opened + api::kMinuteSeconds;
    window.exceeded = seen.count > limit;
    return window;
}

}  // namespace

service::AddressWindow count_in_address_window(ngx_http_request_t* r,
                                               const Zone& zone,
                                               std::int64_t limit) noexcept
{
    return window_after(r, zone, limit, 1);
}

service::AddressWindow peek_address_window(ngx_http_request_t* r,
                                           const Zone& zone,
                                           std::int64_t limit) noexcept
{
    return window_after(r, zone, limit, 0);
}

}  // namespace petstore::ngx
