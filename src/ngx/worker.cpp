#include "worker.h"

#include "../api/digest.h"
#include "../store/script.h"
#include "guard.h"
#include "module.h"

namespace petstore::ngx {

namespace {

Worker* current_worker;

// OpenSSL initializes itself when it is first used, and crashes if memory runs
// out then. Not in a request, therefore.
void initialize_digests()
{
    static_cast<void>(api::sha256({}));
    store::scripts::limit();
    store::scripts::strike();
    store::scripts::create_pet();
    store::scripts::list_by_status();
}

}  // namespace

Worker::Worker(const MainConf& conf, ngx_log_t& log)
{
    initialize_digests();
    for (const auto& settings : conf.links) {
        links_.push_back(std::make_unique<RedisLink>(settings, log));
    }
    for (const auto& settings : conf.stores) {
        stores_.push_back(std::make_unique<Store>(
            settings, *links_[settings.link], conf,
            store::MemoryShares(conf.worker_memory), log));
    }
}

// What waits for Redis still works with its Store when it is told that no reply
// will come, and ends.
Worker::~Worker()
{
    for (const auto& link : links_) {
        link->close();
    }
}

Worker* Worker::current() noexcept
{
    return current_worker;
}

ngx_int_t Worker::start(ngx_cycle_t* cycle) noexcept
{
    // nullptr in a configuration without an http block
    const auto* conf = static_cast<MainConf*>(
        ngx_http_cycle_get_module_main_conf(cycle, ngx_http_petstore_module));
    if (conf == nullptr || !conf->in_use) {
        return NGX_OK;
    }
    return guarded(cycle->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
        current_worker = new Worker(*conf, *cycle->log);
        return static_cast<ngx_int_t>(NGX_OK);
    });
}

void Worker::stop(ngx_cycle_t*) noexcept
{
    delete current_worker;
    current_worker = nullptr;
}

}  // namespace petstore::ngx
