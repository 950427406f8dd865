#pragma once

#include "../../metrics/slot.h"
#include "../../ngx_base/ngx.h"
#include "../request/address_limit.h"

namespace petstore::ngx {

// The module's shared memory and the only owner of its layout: the windows of
// client addresses, and the metrics. Survives a reload that leaves its size
// unchanged.
class Zone {
public:
    // Call once per configuration. nullptr if the zone cannot be created; the
    // reason is logged.
    static ngx_shm_zone_t* add(ngx_conf_t* cf, std::size_t size) noexcept;

    explicit Zone(ngx_shm_zone_t* zone) noexcept : zone_(zone) {}

    AddressTable& addresses() const noexcept;
    metrics::Directory& metrics() const noexcept;

    // nullptr if the zone's share for metrics is used up. The zone must be
    // locked.
    metrics::Slot* add_slot() const noexcept;
    metrics::Process* add_process() const noexcept;

    // While this object exists, no other process changes the zone, and what
    // the others have written is visible: nginx's compare-and-swap is a full
    // barrier. nginx unlocks the zone if a worker dies.
    class Lock {
    public:
        explicit Lock(const Zone& zone) noexcept;
        ~Lock();
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;

    private:
        ngx_shmtx_t* mutex_;
    };

private:
    struct Layout;

    static ngx_int_t init(ngx_shm_zone_t* zone, void* previous) noexcept;
    ngx_slab_pool_t* pool() const noexcept;

    ngx_shm_zone_t* zone_;
};

}  // namespace petstore::ngx
