#include "address_limit.h"

#include <array>
#include <cstring>
#include <new>

#include "module.h"

namespace petstore::ngx {

namespace {

constexpr std::size_t kSetSize = 8;

using Address = std::array<u_char, 8>;

struct Slot {
    Address address;
    std::uint32_t opened;  // Unix seconds; 0 = free
    std::uint32_t count;
};

// Allocated from the zone's slab pool, with sets * kSetSize slots.
struct Table {
    std::size_t sets;
    std::uint32_t seed;  // clients must not choose who shares a set
    Slot slots[1];
};

Table* table_of(ngx_shm_zone_t* zone) noexcept
{
    return static_cast<Table*>(zone->data);
}

ngx_slab_pool_t* pool_of(ngx_shm_zone_t* zone) noexcept
{
    return reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
}

ngx_int_t init_zone(ngx_shm_zone_t* zone, void* previous) noexcept
{
    if (previous != nullptr) {  // reload: keep the windows
        zone->data = previous;
        return NGX_OK;
    }
    auto* pool = pool_of(zone);
    if (zone->shm.exists) {
        zone->data = pool->data;
        return NGX_OK;
    }

    // The largest array that the slab allocator can allocate contiguously.
    const std::size_t pages =
        static_cast<std::size_t>(pool->pfree) * ngx_pagesize;
    const std::size_t sets =
        (pages - offsetof(Table, slots)) / (kSetSize * sizeof(Slot));
    void* memory = ngx_slab_calloc(pool, offsetof(Table, slots)
                                             + sets * kSetSize * sizeof(Slot));
    if (memory == nullptr) {
        ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                      "petstore: no memory in zone \"%V\"", &zone->shm.name);
        return NGX_ERROR;
    }
    auto* table = static_cast<Table*>(memory);
    table->sets = sets;
    table->seed = static_cast<std::uint32_t>(ngx_random());
    pool->data = table;
    zone->data = table;
    return NGX_OK;
}

// IPv4 addresses, including IPv4-mapped IPv6, are used in full; IPv6 addresses
// by their first 64 bits, which is what one customer gets. All clients of unix
// sockets share one address.
Address address_of(const sockaddr* address) noexcept
{
    Address key{};
    if (address->sa_family == AF_INET) {
        const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
        std::memcpy(&key[4], &v4->sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
        const auto* bytes = v6->sin6_addr.s6_addr;
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
            std::memcpy(&key[4], bytes + 12, 4);
        } else {
            std::memcpy(key.data(), bytes, 8);
        }
    }
    return key;
}

Slot& slot_for(Table& table, const Address& address, std::uint32_t now) noexcept
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

ngx_shm_zone_t* add_address_zone(ngx_conf_t* cf, std::size_t size) noexcept
{
    ngx_str_t name = ngx_string("petstore");
    auto* zone =
        ngx_shared_memory_add(cf, &name, size, &ngx_http_petstore_module);
    if (zone != nullptr) {
        zone->init = init_zone;
    }
    return zone;
}

service::AddressWindow address_window(ngx_http_request_t* r,
                                      ngx_shm_zone_t* zone, std::int64_t limit,
                                      bool charge) noexcept
{
    const auto now = static_cast<std::uint32_t>(ngx_time());
    const Address address = address_of(r->connection->sockaddr);
    auto* pool = pool_of(zone);

    ngx_shmtx_lock(&pool->mutex);
    Slot& slot = slot_for(*table_of(zone), address, now);
    // Unsigned, so a window also ends if the clock was set back past its start.
    if (now - slot.opened >= api::kMinuteSeconds) {
        slot.opened = now;
        slot.count = 0;
    }
    if (charge && slot.count < UINT32_MAX) {
        ++slot.count;
    }
    const Slot seen = slot;
    ngx_shmtx_unlock(&pool->mutex);

    service::AddressWindow window;
    window.rate.limit = limit;
    window.rate.remaining = seen.count < limit ? limit - seen.count : 0;
    window.rate.reset = seen.opened + api::kMinuteSeconds;
    window.exceeded = seen.count > limit;
    return window;
}

}  // namespace petstore::ngx
