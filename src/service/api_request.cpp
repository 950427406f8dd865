#include "api_request.h"

#include "refusal.h"
#include "route_responses.h"

namespace petstore::service {

ApiRequest::ApiRequest(const RequestTask::Context& context,
                       BodySource& body) noexcept
    : AdmittedTask(context),
      route_(api::route(context.request.method(), context.request.path(),
                        context.settings.base_path)),
      body_(body)
{
    report().operation = route_.operation;
    report().deprecated = route_.operation == api::Operation::get_pet;
    report().wants_document =
        route_.is_document && request().method() != api::Method::options;
}

void ApiRequest::run()
{
    if (!needs_no_key(request().method(), route_)) {
        ask_for_admission();
    } else if (request().method() == api::Method::options) {
        answer_options();
    } else {
        answer_document();
    }
}

void ApiRequest::answer_options()
{
    if (route_.allow.empty()) {
        return refuse(no_such_path());
    }
    service::answer_options(*this, route_.allow);
}

// Needs no API key and is not charged.
void ApiRequest::answer_document()
{
    if (!api::is_get_or_head(request().method())) {
        return refuse_method(*this, route_.allow);
    }
    service::answer_document(*this);
}

void ApiRequest::prepare()
{
    // May be called again if the key's record was stale, and on admission.
    const auto& key = admission().key();
    if (handler_.get() == nullptr && route_.operation != api::Operation::none
        && key.record.allows(route_.operation)
        && is_plan_allowed(settings(), key)) {
        make_handler(route_.operation, *this, handler_);
        handler_->prepare();
    }
}

bool ApiRequest::needs_version() const noexcept
{
    return handler_.get() != nullptr;
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
    if (!is_plan_allowed(settings(), admission().key())) {
        return refuse(plan_not_allowed());
    }
    if (route_.allow.empty()) {
        return refuse(no_such_path());
    }
    if (route_.operation == api::Operation::none) {
        return refuse_method(*this, route_.allow);
    }
    if (!admission().key().record.allows(route_.operation)) {
        return refuse(insufficient_scope());
    }
    prepare();  // not yet called if the limiter was not asked
    handler_->on_admitted();
}

void ApiRequest::on_key_confirmed()
{
    const auto& key = admission().key();
    if (!is_plan_allowed(settings(), key)) {
        return refuse(plan_not_allowed());
    }
    if (!key.record.allows(route_.operation)) {
        return refuse(insufficient_scope());
    }
    handler_->on_key_confirmed();
}

}  // namespace petstore::service
