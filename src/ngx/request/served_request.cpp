#include "served_request.h"

#include "../worker/worker.h"

namespace petstore::ngx {

service::RequestTask::Context ServedRequest::context(const LocConf& conf,
                                                     Worker& worker) noexcept
{
    return {http_,
            *this,
            *this,
            log_,
            info_.service,
            conf.service,
            worker.storage(*conf.storage),
            worker.durable_link(conf)};
}

}  // namespace petstore::ngx
