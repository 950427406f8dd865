#include "exchange.h"

#include <utility>

#include "../api/bearer.h"
#include "anonymous.h"
#include "module.h"
#include "str.h"

namespace petstore::ngx {

namespace {

// How long a denial from memory is good without asking Redis again: an
// operator's change has to show within a second. Traffic that goes on has it
// confirmed in the background before that.
constexpr store::Monotonic kDenialGoodFor = 900;
constexpr store::Monotonic kDenialConfirmAfter = 500;

// A record may change while it is read; more often than this is a fault.
constexpr int kMaxRefreshes = 3;

}  // namespace

void Exchange::authenticate()
{
    const auto* authorization = request_->headers_in.authorization;
    if (authorization == nullptr) {
        return refuse_key(api::ErrorCode::missing_api_key);
    }
    const auto token = api::bearer_token(view(authorization->value));
    if (!token) {
        return refuse_key(api::ErrorCode::missing_api_key);
    }
    // Known keys first: to look at the form costs as much as to look up.
    if (token->size() <= api::kMaxKeyLength) {
        digest_ = api::sha256(*token);
        key_ = store_.cache.find(digest_);
        if (key_ != nullptr) {
            return limit(Record::remembered);
        }
    }
    if (api::key_form(*token, store_.schema.prefix())
        == api::KeyForm::malformed) {
        return refuse_key(api::ErrorCode::invalid_api_key);
    }
    if (store_.cache.is_unknown(digest_, monotonic_now())) {
        return refuse_key(api::ErrorCode::invalid_api_key);
    }
    load_key();
}

void Exchange::load_key()
{
    wait_for_redis();
    store_.loader.load(digest_, epoch_, *this);
}

void Exchange::on_key(const store::KeyResult& result) noexcept
{
    deliver([&] {
        if (result.error) {
            return respond(*result.error);
        }
        key_ = result.key;
        key_ == nullptr ? forget_key() : limit(Record::fresh);
    });
}

// The record is older than its account's `epoch`. Another request may have read
// a newer one meanwhile.
void Exchange::refresh_key(std::int64_t epoch)
{
    epoch_ = epoch;
    auto current = store_.cache.find(digest_);
    if (current != nullptr && current != key_ && current->epoch >= epoch) {
        key_ = std::move(current);
        return limit(Record::remembered);
    }
    store_.cache.erase(digest_, *key_);
    load_key();
}

// There is no such key, or it opens nothing any more.
void Exchange::forget_key()
{
    info_.key = nullptr;
    if (key_ != nullptr) {
        store_.cache.erase(digest_, *key_);
    }
    store_.cache.put_unknown(digest_, monotonic_now());
    refuse_key(api::ErrorCode::invalid_api_key);
}

void Exchange::limit(Record record)
{
    if (!store_.is_usable(key_->record)) {
        return forget_key();
    }
    info_.key = key_;

    if (info_.charged) {  // before an internal redirect, or by the main request
        return settle(info_.decision);
    }
    if (info_.asking != nullptr) {  // for another subrequest
        info_.asking->followers_.push_back(this);
        return wait_for_redis();
    }
    if (deny_from_memory()) {
        return;
    }
    prepare_read();
    wait_for_redis();
    info_.asking = this;
    store_.limits.add(key_, record == Record::fresh, *this);
}

// The limiter's command is in its place. What is read ahead is read after it,
// so at least as new as the version that the limiter tells; it counts only if
// the limiter admits.
void Exchange::on_limit_sent() noexcept
{
    sent_ = monotonic_now();
    if (!over() && read_key_ && refreshes_ == 0) {
        // Not enter(): a request does without what was not read ahead.
        const Hold hold(*this);
        reading_ahead_ = guarded(ngx_cycle->log, false, [this] {
            return store_.reader.read_ahead(*read_key_);
        });
    }
}

void Exchange::on_limit(const store::Limiter::Answer& answer,
                        std::int64_t index) noexcept
{
    if (reading_ahead_
        && answer.result == store::Limiter::Answer::Result::decided) {
        store_.reader.confirm(*read_key_, answer.version);
    }
    proceed([&] { take_answer(answer, index); });
}

void Exchange::on_limit_error(const resp::Reply& error) noexcept
{
    proceed([&] { respond(store::failure_of(error, false)); });
}

void Exchange::on_limit_loss(store::Loss loss) noexcept
{
    proceed([&] { respond(store::failure_of(loss, false)); });
}

// The limiter has spoken, or failed to: what else of this request waits goes by
// it, or asks itself.
template <typename Body>
void Exchange::proceed(Body&& body) noexcept
{
    const auto followers = std::exchange(followers_, {});
    if (request_ != nullptr) {
        info_.asking = nullptr;
    }
    deliver(body);  // may delete this
    for (Exchange* follower : followers) {
        follower->deliver([follower] { follower->limit(Record::remembered); });
    }
}

void Exchange::take_answer(const store::Limiter::Answer& answer,
                           std::int64_t index)
{
    using Result = store::Limiter::Answer::Result;
    if (answer.result == Result::stale && refreshes_++ < kMaxRefreshes) {
        return refresh_key(answer.epoch);
    }
    if (answer.result == Result::damaged) {
        store_.store_log.damaged(
            store_.schema.account_state(key_->account->id));
        return respond(store::damage_error());
    }
    if (answer.result != Result::decided) {
        store_.store_log.unexpected_reply();
        return respond({api::ErrorCode::service_unavailable,
                        "The request could not be counted. Please try again "
                        "later."});
    }
    version_ = answer.version;
    const api::Decision decision = answer.decision(index);
    remember(*key_->account, decision, sent_);
    store_.redis_ahead = answer.now - host_now();
    if (!store_.is_usable(key_->record)) {
        return forget_key();  // it has expired, as is known now
    }
    settle(decision);
}

// Requests of an account that Redis denied a moment ago are denied without
// asking again.
bool Exchange::deny_from_memory()
{
    store::Account& account = *key_->account;
    const auto now = monotonic_now();
    // Another key of the account may have other numbers.
    if (!account.denied || now >= account.denied_until
        || now - account.confirmed >= kDenialGoodFor
        || account.denial.minute.limit != key_->limits.minute
        || account.denial.day.limit != key_->limits.day) {
        return false;
    }
    api::Decision decision = account.denial;
    decision.now = account.redis_now(now);
    settle(decision);
    if (now - account.confirmed >= kDenialConfirmAfter) {
        store_.strikes.report(key_, conf_.ban_policy);
    }
    return true;
}

void Exchange::settle(const api::Decision& decision)
{
    const bool again = std::exchange(info_.charged, true);
    info_.decision = decision;
    info_.has_windows = true;
    info_.rate = api::rate_view(decision);
    info_.has_rate = true;

    if (decision.verdict == api::Verdict::admitted) {
        info_.limit_status = "PASSED";
        return act();
    }
    if (conf_.limit_dry_run) {
        info_.limit_status = decision.verdict == api::Verdict::banned
                                 ? "BANNED_DRY_RUN"
                                 : "LIMITED_DRY_RUN";
        ngx_log_error(NGX_LOG_NOTICE, request_->connection->log, 0,
                      "petstore: account %s over its limit, dry run",
                      key_->account->id.c_str());
        return act();
    }
    again ? deny(decision) : strike(decision);
}

// Counts a denial. The one that goes over the threshold, as far as this worker
// knows, asks Redis before it is answered: it may be a ban.
void Exchange::strike(const api::Decision& decision)
{
    const api::BanPolicy& policy = conf_.ban_policy;
    if (decision.verdict == api::Verdict::banned || !policy.enabled) {
        return deny(decision);
    }

    store::Account& account = *key_->account;
    const auto now = monotonic_now();
    if (now - account.strikes_known_at
        >= static_cast<store::Monotonic>(policy.window) * 1000) {
        account.strikes_known = 0;
    }
    ++account.strikes;
    if (account.strikes_known + account.strikes
        <= policy.threshold_for(key_->limits)) {
        store_.strikes.add(key_, policy);
        return deny(decision);
    }
    info_.decision = decision;
    strikes_reported_ = std::exchange(account.strikes, 0);
    send_strike(false);
}

void Exchange::send_strike(bool eval)
{
    strike_with_eval_ = eval;
    sent_ = monotonic_now();
    send(store_.limiter.strike(key_->account->id, key_->epoch,
                               strikes_reported_, key_->limits,
                               conf_.ban_policy, eval),
         strike_slot_);
}

void Exchange::on_strike(const resp::Reply& reply)
{
    if (reply.is_error() && reply.error_code() == "NOSCRIPT"
        && !strike_with_eval_) {
        return send_strike(true);
    }
    store::Account& account = *key_->account;
    log_damage(reply);
    const auto standing = store::Limiter::parse_standing(reply, key_->limits);
    if (standing.result != store::Limiter::Answer::Result::decided) {
        account.denied = false;
        return deny(info_.decision);
    }
    remember(account, standing.decision, sent_);
    account.strikes_known = standing.strikes;
    account.strikes_known_at = monotonic_now();
    if (standing.new_ban) {
        log_ban(request_->connection->log, account, standing);
    }
    // A window that ended meanwhile does not make this request admitted: it
    // was denied and counted as such.
    deny(standing.decision.verdict == api::Verdict::admitted
             ? info_.decision
             : standing.decision);
}

// Of data that a script has found damaged.
void Exchange::log_damage(const resp::Reply& error) noexcept
{
    if (const auto key = store::damaged_key(error); !key.empty()) {
        store_.store_log.damaged(key);
    }
}

// A request that is denied stays so, whether that could be counted or not.
void Exchange::on_strike_lost(store::Loss loss)
{
    if (loss == store::Loss::not_sent) {
        key_->account->strikes += strikes_reported_;
    }
    deny(info_.decision);
}

void Exchange::deny(const api::Decision& decision)
{
    info_.decision = decision;
    info_.rate = api::rate_view(decision);
    info_.limit_status =
        decision.verdict == api::Verdict::banned ? "BANNED" : "LIMITED";
    if (!add_header_number(
            request_, "Retry-After",
            api::retry_after(api::denial_end(decision), decision.now))) {
        return finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    respond(api::denial(decision, decision.now));
}

// Requests without a valid key count in the window of their address, which
// reports, and refuses only where it is told to.
void Exchange::refuse_key(api::ErrorCode code)
{
    const auto window = anonymous_window(request_, conf_.main->zone,
                                         conf_.anonymous_limit, true);
    info_.rate = window.rate;
    info_.has_rate = true;
    info_.limit_status = "DENIED";

    if (conf_.anonymous_enforce && window.exceeded && !conf_.limit_dry_run) {
        api::Decision decision;
        decision.minute = {window.rate.limit, window.rate.limit,
                           window.rate.reset * 1000};
        decision.day = {1, 0, 0};
        const api::Millis now = ngx_time() * 1000;
        info_.limit_status = "LIMITED";
        if (!add_header_number(request_, "Retry-After",
                               api::retry_after(decision.minute.reset, now))) {
            return finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
        }
        return respond(api::denial(decision, now));
    }

    const bool sent = code == api::ErrorCode::invalid_api_key;
    add_header(request_, "WWW-Authenticate",
               sent ? "Bearer realm=\"petstore\", error=\"invalid_token\""
                    : "Bearer realm=\"petstore\"");
    respond({code, sent ? "The API key is not valid."
                        : "An API key is required: \"Authorization: Bearer "
                          "<API_KEY>\"."});
}

void Exchange::answer_options()
{
    if (route_.resource == api::Resource::unknown) {
        return respond({api::ErrorCode::not_found, "There is no such path."});
    }
    add_header(request_, "Allow", route_.allow);
    respond(NGX_HTTP_NO_CONTENT, {});
}

void Exchange::act()
{
    using api::ErrorCode;
    using api::Operation;

    if (route_.resource == api::Resource::unknown) {
        return respond({ErrorCode::not_found, "There is no such path."});
    }
    if (route_.operation == Operation::none) {
        add_header(request_, "Allow", route_.allow);
        return respond({ErrorCode::method_not_allowed,
                        "This method is not allowed here; see the Allow "
                        "header."});
    }
    if (!key_->record.allows(route_.operation)) {
        return respond({ErrorCode::insufficient_scope,
                        "The API key lacks the scope for this operation."});
    }
    if (route_.operation == Operation::create_pet) {
        return create();
    }
    if (is_gone()) {
        return respond({ErrorCode::gone,
                        "This operation has been shut down; list pets "
                        "instead."});
    }
    read();
}

}  // namespace petstore::ngx
