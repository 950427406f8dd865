#include "zone.h"

#include <new>

#include "../../metrics/busy_accounts.h"
#include "../../metrics/shared_list.h"
#include "../module.h"

namespace petstore::ngx {

namespace {

// Rounded up, because the slab allocator allocates such sizes in whole pages.
std::size_t slot_pages() noexcept
{
    return (sizeof(metrics::Slot) + ngx_pagesize - 1) / ngx_pagesize;
}

// Pages that the slab allocator splits into small pieces, for the Processes.
std::size_t process_pages(std::size_t pages) noexcept
{
    return pages / 64 + 1;
}

// The routes and the busiest accounts take 60k; smaller zones do without.
constexpr std::size_t kSizeForRoutes = std::size_t{256} << 10;

// Metrics get a quarter of the pages, or in a small zone up to half, for one
// slot that all workers share.
std::size_t slots_for(std::size_t pages) noexcept
{
    const std::size_t slots = pages / 4 / slot_pages();
    return slots == 0 && pages / 2 >= slot_pages() ? 1 : slots;
}

// nullptr if out of memory.
template <typename T>
T* make(ngx_slab_pool_t& pool) noexcept
{
    void* memory = ngx_slab_calloc(&pool, sizeof(T));
    return memory == nullptr ? nullptr : new (memory) T;
}

// Puts a new item in front of a list that other processes may be reading.
// nullptr if out of memory.
template <typename T>
T* add_to(std::atomic<T*>& list, ngx_slab_pool_t& pool) noexcept
{
    void* memory = ngx_slab_calloc_locked(&pool, sizeof(T));
    if (memory == nullptr) {
        return nullptr;
    }
    auto* item = new (memory) T;
    metrics::push_front(list, *item);
    return item;
}

}  // namespace

struct Zone::Layout {
    AddressTable* addresses;
    metrics::Directory metrics;
};

ngx_shm_zone_t* Zone::add(ngx_conf_t* cf, std::size_t size) noexcept
{
    // No name that others give their zones.
    ngx_str_t name = ngx_string("ngx_http_petstore_module");
    auto* zone =
        ngx_shared_memory_add(cf, &name, size, &ngx_http_petstore_module);
    if (zone != nullptr) {
        zone->init = init;
    }
    return zone;
}

ngx_slab_pool_t* Zone::pool() const noexcept
{
    return reinterpret_cast<ngx_slab_pool_t*>(zone_->shm.addr);
}

ngx_int_t Zone::init(ngx_shm_zone_t* zone, void* previous) noexcept
{
    if (previous != nullptr) {  // reload: keep windows and counters
        zone->data = previous;
        return NGX_OK;
    }
    auto* pool = Zone(zone).pool();
    if (zone->shm.exists) {
        zone->data = pool->data;
        return NGX_OK;
    }

    void* memory = ngx_slab_calloc(pool, sizeof(Layout));
    if (memory != nullptr) {
        auto* layout = new (memory) Layout;
        if (zone->shm.size >= kSizeForRoutes) {
            layout->metrics.routes = make<metrics::Routes>(*pool);
            layout->metrics.busy = make<metrics::BusyAccounts>(*pool);
        }
        const std::size_t slots = slots_for(pool->pfree);
        layout->metrics.free_slots = slots;
        layout->addresses =
            create_address_table(*pool, (pool->pfree - slots * slot_pages()
                                         - process_pages(pool->pfree))
                                            * ngx_pagesize);
        if (layout->addresses != nullptr) {
            pool->data = layout;
            zone->data = layout;
            return NGX_OK;
        }
    }
    ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                  "petstore: no memory in zone \"%V\"", &zone->shm.name);
    return NGX_ERROR;
}

AddressTable& Zone::addresses() const noexcept
{
    return *static_cast<Layout*>(zone_->data)->addresses;
}

metrics::Directory& Zone::metrics() const noexcept
{
    return static_cast<Layout*>(zone_->data)->metrics;
}

metrics::Slot* Zone::add_slot() const noexcept
{
    metrics::Directory& directory = metrics();
    if (directory.free_slots == 0) {
        return nullptr;
    }
    metrics::Slot* const slot = add_to(directory.slots, *pool());
    directory.free_slots -= slot != nullptr ? 1 : 0;
    return slot;
}

metrics::Process* Zone::add_process() const noexcept
{
    return add_to(metrics().processes, *pool());
}

Zone::Lock::Lock(const Zone& zone) noexcept : mutex_(&zone.pool()->mutex)
{
    ngx_shmtx_lock(mutex_);
}

Zone::Lock::~Lock()
{
    ngx_shmtx_unlock(mutex_);
}

}  // namespace petstore::ngx
