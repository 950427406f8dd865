#include "route_answers.h"

#include <utility>

namespace petstore::service {

void answer_options(Task& task, std::string_view allow)
{
    Response response;
    response.status = 204;
    response.allow = allow;
    task.respond(response);
}

void answer_document(Task& task)
{
    Response response;
    response.cached = task.settings().document;
    response.etag = task.settings().document_etag;
    task.respond(response);
}

void refuse_method(Task& task, std::string_view allow)
{
    Response response;
    response.allow = allow;
    task.refuse({api::ErrorCode::method_not_allowed,
                 "This method is not allowed here; see the Allow header."},
                std::move(response));
}

}  // namespace petstore::service
