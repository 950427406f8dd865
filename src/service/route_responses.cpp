#include "route_responses.h"

#include <string>
#include <utility>

namespace petstore::service {

void answer_options(RequestTask& task, std::string_view allow)
{
    Response response;
    response.status = 204;
    response.allow = allow;
    task.respond(response);
}

void answer_document(RequestTask& task)
{
    Response response;
    response.cached = task.settings().document;
    response.etag = task.settings().document_etag;
    task.respond(response);
}

void refuse_method(RequestTask& task, std::string_view allow)
{
    Response response;
    response.allow = allow;
    task.refuse({api::ErrorCode::method_not_allowed,
                 "This method is not allowed here; see the Allow header."},
                std::move(response));
}

bool is_precluded(const Request& request) noexcept
{
    const auto match = request.header("If-Match");
    const auto none_match = request.header("If-None-Match");
    // A PUT creates what does not exist, of which "*" is not true.
    const bool creates = request.method() == api::Method::put;
    return (match && (match->value != "*" || creates))
           || (none_match && none_match->value == "*");
}

void refuse_condition(RequestTask& task)
{
    constexpr int kPreconditionFailed = 412;
    Response response;
    response.status = kPreconditionFailed;
    const auto code = api::code_name_for_status(kPreconditionFailed);
    task.report().error_code = code;
    const std::string body = api::error_body(
        code,
        "The condition does not hold or cannot be checked: nothing here has an ETag.",
        kPreconditionFailed);
    response.body = body;
    task.respond(response);
}

}  // namespace petstore::service
