#pragma once

#include "config.h"

namespace petstore::ngx {

// Builds the OpenAPI documents of the locations that serve an API. Call after
// everything is merged: a document also describes another location. False,
// which is logged, if there is not enough memory.
bool choose_documents(ngx_conf_t* cf, MainConf& main) noexcept;

}  // namespace petstore::ngx
