#include "get_usage.h"

#include <memory>
#include <string>

#include "../api/administration_json.h"
#include "../store/failure.h"
#include "route_responses.h"

namespace petstore::service {

namespace {

// The windows as the rate headers show them.
api::Decision windows_of(const api::AccountUsage& usage,
                         const api::Limits& limits)
{
    api::Decision decision;
    decision.verdict = usage.banned_until > usage.now ? api::Verdict::banned
                                                      : api::Verdict::admitted;
    decision.ban_until = usage.banned_until;
    decision.now = usage.now;
    for (const auto& [name, window] : api::usage_windows(usage, limits)) {
        for (const api::WindowKind& kind : api::kWindows) {
            if (kind.name == name) {
                decision.*kind.window = window;
            }
        }
    }
    return decision;
}

}  // namespace

GetUsage::GetUsage(const Context& context) noexcept : RequestTask(context)
{
    if (request().method() != api::Method::options) {
        report().operation = api::Operation::get_usage;
    }
}

void GetUsage::run()
{
    if (request().method() != api::Method::options) {
        return authentication_.run();
    }
    answer_options(*this, kUsageMethods);
}

void GetUsage::on_key(Authentication::Record record)
{
    record_ = record;
    // The limits are the plan's.
    if (storage().plans.current()) {
        read();
    } else if (may_wait()) {
        storage().plans.wait(plans_read_.begin());
    }
}

void GetUsage::read()
{
    if (may_wait()) {
        const auto& key = authentication_.key();
        storage().own_usage.read(key->account->id(),
                                 storage().limit_queue.epoch_of(*key),
                                 usage_read_.begin());
    }
}

void GetUsage::take_usage(const store::SharedUsage& usage)
{
    if (is_outdated(*usage)) {
        return authentication_.renew(usage->epoch);
    }
    const auto& key = authentication_.key();
    if (!key->record.usable_at(usage->now / 1000)) {
        return authentication_.refuse();
    }
    storage().plans.update(*key);
    show_rate(*usage);
    if (!api::is_get_or_head(request().method())) {
        return refuse_method(*this, kUsageMethods);
    }
    const std::string body =
        api::own_usage_json(*usage, key->record.plan(), key->limits);
    Response response;
    response.body = body;
    respond(response);
}

// Whether the key's records may be older than the account's latest change.
// Without a state there is no epoch to compare, so they must have been read for
// this request, or a moment ago.
bool GetUsage::is_outdated(const api::AccountUsage& usage) const noexcept
{
    const auto& key = authentication_.key();
    if (usage.epoch == 0) {
        return record_ != Authentication::Record::fresh
               && !authentication_.renewed()
               && now() - key->asked >= store::Account::kDecisionValidFor;
    }
    return usage.epoch != storage().limit_queue.epoch_of(*key);
}

// Unless a decision about the same client's request is shown, or the main
// request has a rate of its own.
void GetUsage::show_rate(const api::AccountUsage& usage)
{
    if (state().decision.stage == SharedDecision::Stage::made
        || !is_reported()) {
        return;
    }
    state().windows = std::make_unique<const api::Decision>(
        windows_of(usage, authentication_.key()->limits));
    state().rate = api::rate_view(*state().windows);
}

}  // namespace petstore::service
