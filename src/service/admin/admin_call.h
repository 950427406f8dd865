#pragma once

#include <optional>
#include <string>

#include "../../api/admin_body.h"
#include "../../api/admin_query.h"
#include "../../api/digest.h"
#include "../../store/operations.h"
#include "../../store/waiter.h"
#include "admin_store.h"

namespace petstore::service {

// What a request to the admin API asks for.
struct AdminCall {
    api::Operation operation = api::Operation::none;
    std::string id;  // of the path
    api::AdminQuery query;
    api::AdminBody body;
    std::string list;  // the path of a list, for its links

    std::string caller_key_id;
    std::string caller_account_id;

    // The digests of its Idempotency-Key, and of its method, path and body.
    struct Once {
        api::Digest key;
        api::Digest request;
    };
    std::optional<Once> once;
};

// The response of an operation. The location is relative to the base path.
struct AdminResponse {
    int status = 200;
    std::string body;
    std::string location;
    std::string link;
    bool replayed = false;
};

// Answers a call. What fails is the client's error, with a message for the
// client; of damaged data, for the log. Throws std::bad_alloc. `store` and
// `running` must stay alive until the waiter was called, or until `running` is
// destroyed.
void answer(AdminCall call, AdminStore& store, store::Operations& running,
            store::Waiter<AdminResponse>& waiter);

}  // namespace petstore::service
