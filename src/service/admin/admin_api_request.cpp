#include "admin_api_request.h"

#include <string>
#include <utility>

#include "../../api/key.h"
#include "../refusal.h"
#include "../request_body.h"
#include "../route_responses.h"

namespace petstore::service {

namespace {

bool has_scope(const store::CachedKey& key) noexcept
{
    return api::has_scope(key.record, key.record.further_scopes(), "admin");
}

// Of what a repetition must have in common with the first request. Only a POST
// has an Idempotency-Key.
api::Digest digest_of_post(std::string_view path, std::string_view body)
{
    std::string all("POST ");
    all.append(path).append("\n").append(body);
    return api::sha256(all);
}

// Whether it may take as much of Redis's queue as a ListSemaphore assumes.
bool reads_many(const AdminCall& call) noexcept
{
    using api::Operation;
    switch (call.operation) {
    case Operation::list_accounts:
        return call.query.external_id.empty();
    case Operation::list_keys:
        return !call.query.sha256;
    default:
        return call.operation == Operation::list_usage
               || call.operation == Operation::delete_plan;
    }
}

RequestTask::Context answered_by(Responder& responder,
                                 const RequestTask::Context& context) noexcept
{
    return {context.request, responder,           context.owner,
            context.log,     context.state,       context.settings,
            context.storage, context.durable_link};
}

}  // namespace

AdminApiRequest::AdminApiRequest(const RequestTask::Context& context,
                                 BodySource& body, AdminStore& store) noexcept
    : AdmittedTask(answered_by(slot_release_, context)),
      route_(api::admin_route(context.request.method(), context.request.path(),
                              context.settings.base_path)),
      body_(body), store_(store), slot_release_(slot_, context.responder)
{
    report().operation = route_.operation;
    report().wants_document =
        route_.is_document && !has_method(api::Method::options);
}

void AdminApiRequest::run()
{
    if (!has_method(api::Method::options)) {
        ask_for_admission();
    } else if (route_.allow.empty()) {
        refuse(no_such_path());
    } else {
        answer_options(*this, route_.allow);
    }
}

// What only waits for a slot is not begun.
void AdminApiRequest::abandon() noexcept
{
    finish();
    slot_.give_up();
    AdmittedTask::abandon();
}

void AdminApiRequest::on_admitted()
{
    const store::CachedKey& key = admission().key();
    if (!is_plan_allowed(settings(), key)) {
        return refuse(plan_not_allowed());
    }
    if (route_.allow.empty()) {
        return refuse(no_such_path());
    }
    const bool reads_document =
        route_.is_document && api::is_get_or_head(request().method());
    if (route_.operation == api::Operation::none && !reads_document) {
        return refuse_method(*this, route_.allow);
    }
    if (!has_scope(key)) {
        return refuse(insufficient_scope());
    }
    if (reads_document) {
        return answer_document(*this);
    }
    if (!api::is_get_or_head(request().method()) && is_precluded(request())) {
        return refuse_condition(*this);
    }
    if (!api::has_admin_body(route_.operation)) {
        return parse({});
    }
    const std::size_t limit = settings().max_body;
    const BodyType type =
        has_method(api::Method::patch) ? BodyType::merge_patch : BodyType::json;
    if (const auto error = check_body_headers(request(), type, limit)) {
        return refuse(*error);
    }
    if (has_method(api::Method::post)) {
        if (const auto error = read_idempotency_key(request(), once_)) {
            return refuse(*error);
        }
    }
    body_.read(limit, *this);
}

void AdminApiRequest::on_body(Result result, const std::string& body) noexcept
{
    enter([&] {
        if (const auto error = body_error(result, settings().max_body)) {
            return refuse(*error);
        }
        parse(body);
    });
}

void AdminApiRequest::parse(const std::string& body)
{
    call_.operation = route_.operation;
    call_.id = route_.id;
    auto query = api::parse_admin_query(route_.operation, request().query());
    if (const auto* error = std::get_if<api::Error>(&query)) {
        return refuse(*error);
    }
    call_.query = std::get<api::AdminQuery>(std::move(query));
    if (api::has_admin_body(route_.operation)) {
        auto parsed = api::parse_admin_body(route_.operation, body);
        if (const auto* error = std::get_if<api::Error>(&parsed)) {
            return refuse(*error);
        }
        call_.body = std::get<api::AdminBody>(std::move(parsed));
    }
    if (once_) {
        call_.once = {*once_, digest_of_post(request().path(), body)};
    }
    const std::string_view base = settings().base_path;
    call_.list = settings().link_base;
    call_.list.append(request().path().substr(base.size()));
    if (!reads_many(call_)) {
        return confirm_key();
    }
    if (may_wait()) {
        slot_.acquire(slot_awaited_.begin());
    }
}

// Only now: the key may have been revoked while the request waited.
void AdminApiRequest::on_slot(const store::Done&)
{
    confirm_key();
}

void AdminApiRequest::on_key_confirmed()
{
    const store::CachedKey& key = admission().key();
    if (!is_plan_allowed(settings(), key)) {
        return refuse(plan_not_allowed());
    }
    if (!has_scope(key)) {
        return refuse(insufficient_scope());
    }
    call_.caller_key_id = key.record.id();
    call_.caller_account_id = key.account->id();
    start();
}

void AdminApiRequest::start()
{
    if (!may_wait()) {
        return;
    }
    wait();
    try {
        answer(std::move(call_), store_, running_, *this);
    } catch (...) {
        deliver([] { throw; });
    }
}

void AdminApiRequest::on_result(
    const store::Outcome<AdminResponse>& outcome) noexcept
{
    deliver([&] {
        if (const store::Failure* failure = outcome.failure()) {
            refuse_operation(*failure);
        } else {
            take(outcome.value());
        }
    });
}

void AdminApiRequest::take(const AdminResponse& result)
{
    Response response;
    response.status = result.status;
    response.body = result.body;
    response.link = result.link;
    response.replayed = result.replayed;
    if (!result.location.empty()) {
        response.location = settings().link_base + result.location;
    }
    respond(response);
}

void AdminApiRequest::refuse_operation(const store::Failure& failure)
{
    if (failure.refusal == store::Refusal::damaged) {
        const std::string problem(failure.error.message.text());
        log().exception(problem.c_str());
        return refuse({api::ErrorCode::internal_error,
                       "The service failed to handle the request."});
    }
    refuse(failure.error);
}

}  // namespace petstore::service
