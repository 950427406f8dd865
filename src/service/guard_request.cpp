#include "guard_request.h"

namespace petstore::service {

void GuardRequest::on_admitted()
{
    if (!admission().key().record.allows(request().client_method())) {
        return refuse({api::ErrorCode::insufficient_scope,
                       "The API key lacks the scope for this method."});
    }
    finish();
    gate_.admit();
}

}  // namespace petstore::service
