#include "idle_watch.h"

namespace petstore::ngx_redis {

IdleWatch::IdleWatch(User& user, const NodeSettings& settings,
                     redis::Pipeline& pipeline, ServerCheck& server,
                     const metrics::RedisMeter& meter, ngx_log_t* log)
    : user_(user), settings_(settings), pipeline_(pipeline), server_(server),
      role_(server.role()), meter_(meter),
      role_request_(redis::info_replication()), ping_("PING"),
      timer_(*this, log, ngx_base::OnExit::cancel)
{}

void IdleWatch::begin() noexcept
{
    check_.begin(ngx_current_msec);
    restart();
}

void IdleWatch::end() noexcept
{
    check_.reset();
    timer_.stop();
}

bool IdleWatch::prepare() noexcept
{
    // The reply to a check may be too late for a command in the same write.
    pipeline_.set_replication_id(role_.id(ngx_current_msec));
    if (check_.holding()) {
        return true;
    }
    const bool proves = must_prove();
    const bool asks =
        (proves && !check_.checking()) || role_.due(ngx_current_msec);
    if (asks && !add()) {
        return false;
    }
    if (proves) {
        check_.check_added();
        check_.commands_held(ngx_current_msec, settings_.timeout);
        pipeline_.hold();
    }
    return true;
}

// There is no gateway between a worker and a unix socket.
bool IdleWatch::must_prove() const noexcept
{
    return !settings_.endpoint.is_unix()
           && check_.must_prove(ngx_current_msec, pipeline_.empty());
}

bool IdleWatch::heard() noexcept
{
    const bool held = check_.holding();
    check_.heard(ngx_current_msec);
    if (held) {
        pipeline_.release();
    }
    return held;
}

Connection::Failure
IdleWatch::take_check_reply(const redis::Reply& reply) noexcept
{
    const Connection::Failure failure =
        role_.known() ? server_.take_role(reply) : Connection::Failure{};
    pipeline_.set_replication_id(role_.id(ngx_current_msec));
    return failure;
}

bool IdleWatch::add() noexcept
{
    if (!pipeline_.add(role_.known() ? role_request_ : ping_, nullptr,
                       ngx_current_msec + settings_.timeout)) {
        return false;
    }
    if (role_.known()) {
        role_.asked(ngx_current_msec);
    }
    meter_.redis.commands.add();
    return true;
}

void IdleWatch::on_timer() noexcept
{
    if (has_only_check()) {
        user_.on_idle_loss("did not answer");
        return;
    }
    server_.connection_lasted();
    if (!timer_awaits_check_ && !check_.holding() && must_prove() && add()) {
        check_.check_added();
        timer_awaits_check_ = true;
        timer_.start(settings_.timeout);
        user_.on_idle_check();
    } else {
        restart();
    }
}

void IdleWatch::restart() noexcept
{
    timer_awaits_check_ = false;
    timer_.stop();
    timer_.start(
        redis::IdleCheck::interval(static_cast<std::uint64_t>(ngx_random())));
}

}  // namespace petstore::ngx_redis
