#pragma once

#include "../../redis/in_flight.h"
#include "../module.h"
#include "../nginx/handlers.h"
#include "../worker/worker.h"
#include "request_info.h"

namespace petstore::ngx {

// A content handler whose request is an `Item`: one that the worker owns in
// `list`, and that nginx abandons when it frees the request.
template <typename Item>
ngx_int_t serve(ngx_http_request_t* r,
                redis::InFlight<Item> Worker::*list) noexcept
{
    return run_handler(r, [&]() -> ngx_int_t {
        const LocConf& conf = *loc_conf(r);
        RequestInfo* info = request_info(r, true);
        ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r, 0);
        Worker* worker = Worker::current();
        if (info == nullptr || cleanup == nullptr || worker == nullptr) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
        info->entered.handled |= r == r->main;
        info->entered.served |= r == r->main;
        Item& item = (worker->*list).start(r, *info, conf, *worker);
        cleanup->data = &item;
        cleanup->handler = [](void* data) {
            static_cast<Item*>(data)->abandon();
        };
        return item.run();
    });
}

}  // namespace petstore::ngx
