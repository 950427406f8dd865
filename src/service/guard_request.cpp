#include "guard_request.h"

namespace petstore::service {

// The scope is checked once: an internal redirect turns POST into GET.
void GuardRequest::on_admitted()
{
    if (!state().passed_guard
        && !admission().key().record.allows(request().client_method())) {
        return refuse({api::ErrorCode::insufficient_scope,
                       "The API key lacks the scope for this method."});
    }
    if (request().is_main()) {
        state().passed_guard = true;
    }
    finish();
    responder_.admit();
}

}  // namespace petstore::service
