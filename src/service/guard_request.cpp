#include "guard_request.h"

#include <string>

#include "refusal.h"

namespace petstore::service {

void GuardRequest::on_admitted()
{
    const store::CachedKey& key = admission().key();
    if (!is_plan_allowed(settings(), key)) {
        return refuse(plan_not_allowed());
    }
    const std::string& scope = settings().scope;
    if (scope.empty() && !key.record.allows(request().client_method())) {
        return refuse({api::ErrorCode::insufficient_scope,
                       "The API key lacks the scope for this method."});
    }
    if (!scope.empty()
        && !api::has_scope(key.record, key.record.further_scopes(), scope)) {
        return refuse({api::ErrorCode::insufficient_scope,
                       "The API key lacks the scope " + scope + '.'});
    }
    finish();
    gate_.admit();
}

}  // namespace petstore::service
