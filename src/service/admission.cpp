#include "admission.h"

#include <algorithm>
#include <utility>

#include "../api/bearer.h"
#include "../store/failure.h"

namespace petstore::service {

namespace {

// A record may change while it is read, or its account may move to another
// server of a Cluster. More refreshes than this indicate a fault.
constexpr int kMaxRefreshes = 8;

// The most requests of one worker that may wait for Redis at a time, per Redis
// and prefix. Many can share a command, so the bound on commands does not bound
// their memory, which is 1 KB each once the client has left.
constexpr std::size_t kMaxWaiting = 16'384;

constexpr const char* kLimitedDryRun = "LIMITED_DRY_RUN";

// A dry run leads to no ban, not even for denials counted in other locations.
constexpr api::BanPolicy kNoBan = {false};

}  // namespace

void Admission::run()
{
    const auto authorization = task_.request().header(Header::authorization);
    if (!authorization) {
        return refuse_key({api::KeyRefusal::missing, nullptr});
    }
    const auto token = api::bearer_token(authorization->value);
    if (!token) {
        return refuse_key({api::KeyRefusal::missing, nullptr});
    }
    // Look up known keys first: checking the form costs as much as the look-up.
    store::Storage& storage = task_.storage();
    if (token->size() <= api::kMaxKeyLength) {
        digest_ = api::sha256(*token);
        key_ = storage.keys.find(digest_);
        if (key_ != nullptr) {
            storage.lookups.key.add(true);
            return check_limits(Record::remembered);
        }
    }
    if (api::key_form(*token, storage.schema.prefix())
        == api::KeyForm::malformed) {
        return refuse_key({api::KeyRefusal::malformed, nullptr});
    }
    const auto* refused = storage.keys.find_refused(digest_, task_.now());
    storage.lookups.key.add(refused != nullptr);
    if (refused != nullptr) {
        return refuse_key(*refused);
    }
    load_key();
}

void Admission::abandon() noexcept
{
    if (!task_.gone() && task_.state().decision.asker == this) {
        task_.state().decision.stop_asking();
    }
}

// Refuses the request and returns false if too many wait for Redis.
bool Admission::may_wait()
{
    store::Storage& storage = task_.storage();
    if (storage.waiting_requests < kMaxWaiting) {
        return true;
    }
    storage.log.request_refused();
    task_.refuse(store::failure_of(redis::NoReply::not_sent, false).error);
    return false;
}

void Admission::load_key()
{
    if (!may_wait()) {
        return;
    }
    task_.wait();
    const std::string_view account =
        key_ != nullptr ? std::string_view(key_->account->id()) : "";
    task_.storage().key_loader.load(digest_, {epoch_, account}, *this);
}

void Admission::on_key(const store::KeyResult& result) noexcept
{
    task_.deliver([&] {
        if (result.error) {
            return task_.refuse(*result.error);
        }
        key_ = result.key;
        key_ == nullptr ? forget_key() : check_limits(Record::fresh);
    });
}

// Replaces a record that is older than its account's `epoch`. Another request
// may have read a newer one meanwhile.
void Admission::refresh_key(std::int64_t epoch)
{
    store::KeyCache& keys = task_.storage().keys;
    epoch_ = epoch;
    auto current = keys.find(digest_);
    if (current != nullptr && current != key_ && current->epoch >= epoch) {
        key_ = std::move(current);
        return check_limits(Record::remembered);
    }
    keys.erase(digest_, *key_);
    load_key();
}

// The key does not exist, or is no longer usable.
void Admission::forget_key()
{
    store::KeyCache& keys = task_.storage().keys;
    store::RefusedKey refused{api::KeyRefusal::unknown, nullptr};
    if (key_ != nullptr) {
        keys.erase(digest_, *key_);
        refused.refusal = key_->record.disabled ? api::KeyRefusal::disabled
                                                : api::KeyRefusal::expired;
        refused.id = std::make_shared<const std::string>(key_->record.id());
    }
    store::Monotonic until = task_.now() + store::KeyCache::kRefusedFor;
    if (refused.refusal == api::KeyRefusal::expired) {
        until =
            std::min(until, task_.storage().redis_clock.confirmed_until(*key_));
    }
    keys.put_refused(digest_, refused, until);
    refuse_key(refused);
}

// By the last reading of Redis's clock the key has expired, or there is none.
void Admission::ask_clock()
{
    if (may_wait()) {
        task_.wait();
        task_.storage().redis_clock.ask(*key_, *this);
    }
}

void Admission::on_clock(const std::optional<api::Error>& failure) noexcept
{
    asked_clock_ = true;
    task_.deliver([&] {
        failure ? task_.refuse(*failure) : check_limits(Record::remembered);
    });
}

// Counts requests without a valid key in the window of their address, which
// limits them only where it is enforced.
void Admission::refuse_key(const store::RefusedKey& key)
{
    RequestState& state = task_.state();
    state.key = {nullptr, key};
    if (!state.address) {
        state.address = task_.request().count_address();
    }
    const AddressWindow& window = *state.address;
    state.rate = window.rate;
    task_.report().limit_status = "DENIED";

    Response response;
    const Settings& settings = task_.settings();
    if (settings.enforce_address_limit && window.exceeded) {
        if (!settings.limit_dry_run) {
            return refuse_address(window.rate);
        }
        task_.report().limit_status = kLimitedDryRun;
        task_.log().dry_run(nullptr);
    }

    const bool sent = key.refusal != api::KeyRefusal::missing;
    response.authenticate = sent ? api::kChallengeToKey : api::kChallenge;
    task_.refuse(
        sent
            ? api::Error{api::ErrorCode::invalid_api_key,
                         "The API key is not valid."}
            : api::
                Error{api::ErrorCode::missing_api_key,
                      "An API key is required: \"Authorization: Bearer <API_KEY>\"."},
        std::move(response));
}

void Admission::refuse_address(const api::RateView& rate)
{
    const api::Millis now = task_.storage().clock.host_time() / 1000 * 1000;
    api::Decision decision;
    decision.minute = {rate.limit, rate.limit, rate.reset * 1000};
    decision.day = {1, 0, 0};
    task_.report().limit_status = "LIMITED";
    Response response;
    response.retry_after = api::retry_after(decision.minute.reset, now);
    task_.refuse(api::denial(decision, now), std::move(response));
}

void Admission::check_limits(Record record)
{
    store::Storage& storage = task_.storage();
    RequestState& state = task_.state();
    const store::Expiry expiry = storage.redis_clock.expiry(*key_);
    if (key_->record.disabled || expiry == store::Expiry::expired) {
        return forget_key();
    }
    if (expiry == store::Expiry::unconfirmed && !asked_clock_) {
        return ask_clock();
    }
    state.key = {key_, {}};

    using Stage = SharedDecision::Stage;
    switch (state.decision.stage) {
    case Stage::none:
        break;
    case Stage::asked:
        state.decision.asker->followers_.push_back(this);
        return task_.wait();
    case Stage::made:  // before an internal redirect, or for a subrequest
        return apply_decision(state.decision.value);
    case Stage::lost:
        return task_.refuse(
            store::failure_of(redis::NoReply::in_doubt, false).error);
    }
    if (deny_from_memory() || !may_wait()) {
        return;
    }
    client_.prepare();
    task_.wait();
    state.decision.ask(*this);
    storage.limits.add(key_, {record == Record::fresh, placed_}, *this);
}

// Denies the request if Redis denied requests of this account a moment ago and
// would deny this one too.
bool Admission::deny_from_memory()
{
    const auto now = task_.now();
    const auto decision = key_->account->denial(key_->limits, now);
    if (!decision) {
        return false;
    }
    const bool confirm = key_->account->needs_confirmation(now);
    apply_decision(*decision);
    if (confirm) {
        const Settings& settings = task_.settings();
        task_.storage().denials.report(
            key_, settings.limit_dry_run ? kNoBan : settings.ban);
    }
    return true;
}

void Admission::on_limit_sent() noexcept
{
    sent_ = task_.now();
    if (!task_.over() && refreshes_ == 0 && !placed_) {
        task_.attempt([this] { client_.on_limit_sent(); });
    }
}

void Admission::on_limit(const store::LimitResult& result,
                         std::int64_t index) noexcept
{
    // Reads ahead were sent right behind the first command.
    if (result.kind == store::LimitResult::Kind::decided && result.version
        && refreshes_ == 0) {
        task_.attempt([&] { client_.on_limit_decided(*result.version); });
    }
    end_limit_check([&] { take_result(result, index); });
}

void Admission::on_limit_error(const redis::Reply& error) noexcept
{
    end_limit_check(
        [&] { task_.refuse(store::failure_of(error, false).error); });
}

void Admission::on_limit_no_reply(redis::NoReply cause) noexcept
{
    if (!task_.gone() && cause == redis::NoReply::in_doubt) {
        task_.state().decision.stop_asking(SharedDecision::Stage::lost);
    }
    end_limit_check(
        [&] { task_.refuse(store::failure_of(cause, false).error); });
}

// Runs `body`, then resumes the subrequests that wait for the same decision. If
// there is none, the first of them asks again, unless a reply was lost.
template <typename Body>
void Admission::end_limit_check(Body&& body) noexcept
{
    const auto followers = std::exchange(followers_, {});
    if (!task_.gone()) {
        task_.state().decision.stop_asking();
    }
    task_.deliver(std::forward<Body>(body));  // may destroy this
    for (Admission* follower : followers) {
        follower->task_.deliver(
            [follower] { follower->check_limits(Record::remembered); });
    }
}

void Admission::take_result(const store::LimitResult& result,
                            std::int64_t index)
{
    using Kind = store::LimitResult::Kind;
    store::Storage& storage = task_.storage();
    if (result.kind == Kind::stale && refreshes_++ < kMaxRefreshes) {
        return refresh_key(result.epoch);
    }
    if (result.kind == Kind::unplaced && !placed_) {
        if (may_wait()) {
            task_.wait();
            storage.limits_marker.read(*this);
        }
        return;
    }
    if (result.kind == Kind::damaged) {
        storage.log.damaged(storage.schema.account_state(key_->account->id()));
        return task_.refuse(store::damage_error());
    }
    if (result.kind == Kind::elsewhere) {
        storage.log.limits_elsewhere();
        return refuse_uncounted();
    }
    if (result.kind != Kind::decided) {
        storage.log.unexpected_limiter_reply();
        return refuse_uncounted();
    }
    version_ = result.version;
    const api::Decision decision = result.decision(index);
    key_->account->remember(decision, sent_, task_.now());
    storage.redis_clock.set(*key_, result.now, sent_);
    if (!key_->record.usable_at(result.now / 1000)) {
        return forget_key();  // it has just expired
    }
    apply_decision(decision);
}

void Admission::refuse_uncounted()
{
    task_.refuse({api::ErrorCode::service_unavailable,
                  "The request could not be counted. Please try again later."});
}

// In a Cluster, for an account without a state, which is new unless all
// accounts were moved.
void Admission::on_marker(Marker marker) noexcept
{
    task_.deliver([&] {
        if (marker == Marker::elsewhere) {
            task_.storage().log.limits_elsewhere();
            return refuse_uncounted();
        }
        placed_ = true;
        check_limits(Record::remembered);
    });
}

void Admission::on_marker_error(const redis::Reply& error) noexcept
{
    task_.deliver([&] { task_.refuse(store::failure_of(error, false).error); });
}

void Admission::on_no_marker(redis::NoReply cause) noexcept
{
    task_.deliver([&] { task_.refuse(store::failure_of(cause, false).error); });
}

void Admission::apply_decision(const api::Decision& decision)
{
    RequestState& state = task_.state();
    const bool first = state.decision.make(decision);
    state.rate = api::rate_view(decision);

    if (decision.verdict == api::Verdict::admitted) {
        task_.report().limit_status = "PASSED";
        return client_.on_admitted();
    }
    if (task_.settings().limit_dry_run) {
        task_.report().limit_status = decision.verdict == api::Verdict::banned
                                          ? "BANNED_DRY_RUN"
                                          : kLimitedDryRun;
        task_.log().dry_run(key_->account.get());
        return client_.on_admitted();
    }
    first ? count_denial(decision) : deny(decision);
}

// If the denial exceeds the ban threshold, the client is answered only once
// Redis has counted it, because it may have caused a ban.
void Admission::count_denial(const api::Decision& decision)
{
    const api::BanPolicy& policy = task_.settings().ban;
    if (decision.verdict == api::Verdict::banned || !policy.enabled) {
        return deny(decision);
    }
    store::DenialReporter& denials = task_.storage().denials;
    if (!key_->account->count_denial(policy, key_->limits, task_.now())) {
        denials.queue(key_, policy);
        return deny(decision);
    }
    task_.wait();
    denials.report_and_wait(key_, policy, decision, *this);
}

void Admission::account_banned(const store::Account& account,
                               const store::AccountStatus& status) noexcept
{
    store::BanLog& log = task_.over()
                             ? static_cast<store::BanLog&>(task_.storage().log)
                             : task_.log();
    log.account_banned(account, status);
}

void Admission::on_denial_counted(const api::Decision& decision) noexcept
{
    task_.deliver([&] { deny(decision); });
}

void Admission::deny(const api::Decision& decision)
{
    RequestState& state = task_.state();
    state.decision.make(decision);
    state.rate = api::rate_view(decision);
    task_.report().limit_status =
        decision.verdict == api::Verdict::banned ? "BANNED" : "LIMITED";
    Response response;
    response.retry_after =
        api::retry_after(api::denial_end(decision), decision.now);
    task_.refuse(api::denial(decision, decision.now), std::move(response));
}

}  // namespace petstore::service
