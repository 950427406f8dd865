#include "start_log.h"

#include "../../api/build_version.h"
#include "../config/config.h"
#include "../module.h"

namespace petstore::ngx {

ngx_int_t log_start(ngx_cycle_t* cycle) noexcept
{
    // The same conditions as for nginx's own line about its event method.
    if (ngx_test_config || ngx_process > NGX_PROCESS_MASTER) {
        return NGX_OK;
    }
    const auto* conf = static_cast<const MainConf*>(
        ngx_http_cycle_get_module_main_conf(cycle, ngx_http_petstore_module));
    if (conf != nullptr && conf->has_effect()) {
        ngx_log_error(NGX_LOG_NOTICE, cycle->log, 0, "petstore: version %s",
                      api::build_version());
    }
    return NGX_OK;
}

}  // namespace petstore::ngx
