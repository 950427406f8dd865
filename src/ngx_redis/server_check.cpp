#include "server_check.h"

#include "../redis/error_table.h"

namespace petstore::ngx_redis {

namespace {

using Failure = Connection::Failure;
using Cause = metrics::FailureCause;
using Retry = redis::Breaker::Retry;
using Finding = redis::RoleWatch::Finding;

constexpr char kOtherServer[] = "is another server than the one meant";

}  // namespace

ServerCheck::ServerCheck(const NodeSettings& settings,
                         const AddressSource& source, redis::Breaker& breaker,
                         const metrics::RedisMeter& meter, NodeLog& log)
    : settings_(settings), source_(source), breaker_(breaker), meter_(meter),
      log_(log)
{
    if (settings.redirects) {
        request_ = redis::node_id_request();
    } else if (settings.sentinels) {
        request_ = redis::run_id_request();
    }
}

Failure ServerCheck::take_identity(const redis::Reply& reply) noexcept
{
    id_ = settings_.redirects ? redis::node_id(reply) : redis::run_id(reply);
    return is_other() ? Connection::failure(Cause::other, kOtherServer)
                      : Failure{};
}

bool ServerCheck::is_other() const noexcept
{
    return id_.contradicts(settings_.redirects ? settings_.node_id
                                               : source_.meant());
}

Failure ServerCheck::take_first_role(const redis::Reply& reply) noexcept
{
    const Finding finding = role_.take(reply, ngx_current_msec);
    if (finding == Finding::unanswered) {
        return Connection::failure(Cause::login,
                                   log_.reason("refused with", reply));
    }
    return judge(finding, reply, Retry::after_backoff);
}

Failure ServerCheck::take_role(const redis::Reply& reply) noexcept
{
    const Finding finding = role_.take(reply, ngx_current_msec);
    if (finding == Finding::other_history) {
        ++generation_;
        log_.history_changed();
    }
    return judge(finding, reply, Retry::at_once);
}

Failure ServerCheck::judge(Finding finding, const redis::Reply& reply,
                           Retry retry) noexcept
{
    if (finding == Finding::unknown) {
        log_.role_unknown(reply);
    }
    if (finding == Finding::replica && !settings_.redirects) {
        return Connection::failure(Cause::replica, "is a replica", 0, retry);
    }
    return {};
}

Failure ServerCheck::take_error(const redis::Reply& error,
                                const redis::ReplyHandler& handler) noexcept
{
    const auto& row = redis::error_row(error.text());
    if (row.replica) {
        breaker_.write_refused();
        return Connection::failure(
            Cause::replica, log_.reason("is a replica, answered with", error),
            0, Retry::at_once);
    }
    switch (handler.reports(error) ? redis::ErrorRow::Log::nothing : row.log) {
    case redis::ErrorRow::Log::nothing:
        break;
    case redis::ErrorRow::Log::warning:
        meter_.redis.add(Cause::error);
        log_.warning_reply(error);
        break;
    case redis::ErrorRow::Log::error:
        meter_.redis.add(Cause::error);
        log_.error_reply(error);
        break;
    case redis::ErrorRow::Log::outage:
        return Connection::failure(Cause::error,
                                   log_.reason("refused with", error));
    }
    return {};
}

void ServerCheck::connection_lasted() noexcept
{
    if (const auto outage = breaker_.end_outage()) {
        log_.recovered(*outage);
    }
}

}  // namespace petstore::ngx_redis
