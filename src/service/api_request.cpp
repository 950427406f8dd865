#include "api_request.h"

namespace petstore::service {

namespace {

api::Error no_such_path() noexcept
{
    return {api::ErrorCode::not_found, "There is no such path."};
}

}  // namespace

ApiRequest::ApiRequest(const Task::Context& context) noexcept
    : AdmittedTask(context),
      route_(api::route(context.request.method(), context.request.path(),
                        context.settings.base_path))
{
    report().operation = route_.operation;
    report().deprecated = route_.operation == api::Operation::get_pet;
}

void ApiRequest::run()
{
    request().method() == api::Method::options ? answer_options()
                                               : ask_for_admission();
}

void ApiRequest::answer_options()
{
    if (route_.resource == api::Resource::unknown) {
        return refuse(no_such_path());
    }
    Response response;
    response.status = 204;
    response.allow = route_.allow;
    respond(response);
}

void ApiRequest::prepare()
{
    // Called again if the key's record was stale, and once more on admission.
    if (handler_.get() == nullptr && route_.operation != api::Operation::none
        && admission().key().record.allows(route_.operation)) {
        make_handler(route_.operation, *this, handler_);
        handler_->prepare();
    }
}

void ApiRequest::on_limit_sent()
{
    if (handler_.get() != nullptr) {
        handler_->on_limit_sent();
    }
}

void ApiRequest::on_limit_decided(const store::Version& version)
{
    if (handler_.get() != nullptr) {
        handler_->on_limit_decided(version);
    }
}

void ApiRequest::on_admitted()
{
    if (route_.resource == api::Resource::unknown) {
        return refuse(no_such_path());
    }
    if (route_.operation == api::Operation::none) {
        Response response;
        response.allow = route_.allow;
        return refuse({api::ErrorCode::method_not_allowed,
                       "This method is not allowed here; see the Allow "
                       "header."},
                      std::move(response));
    }
    if (!admission().key().record.allows(route_.operation)) {
        return refuse({api::ErrorCode::insufficient_scope,
                       "The API key lacks the scope for this operation."});
    }
    prepare();  // not yet done if decided without asking the limiter
    handler_->run();
}

}  // namespace petstore::service
