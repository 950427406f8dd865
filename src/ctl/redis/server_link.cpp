#include "server_link.h"

#include <algorithm>
#include <utility>

#include "redis_error.h"

namespace petstore::ctl {

namespace {

// For the reply to the PING after a pause.
constexpr std::chrono::seconds kPatience(1);

}  // namespace

ServerLink::ServerLink(Pump& pump, OpenConnection open)
    : pump_(pump), name_(open.name), open_(std::move(open)),
      wrote_at_(pump.now()), due_since_(wrote_at_)
{
    pump_.add(*this);
}

ServerLink::ServerLink(Pump& pump, Connect connect)
    : pump_(pump), connect_(std::move(connect))
{
    pump_.add(*this);
}

ServerLink::~ServerLink()
{
    pump_.remove(*this);
    commands_.fail();
}

void ServerLink::send(const redis::Command& command,
                      redis::ReplyHandler& handler) noexcept
{
    if (commands_.empty()) {
        due_since_ = pump_.now();
    }
    if (!commands_.add(command, &handler, 0)) {
        handler.on_no_reply(redis::NoReply::not_sent);
    }
}

// Runs `use`, whose exceptions are those of the connection.
template <typename Use>
void ServerLink::use(Use&& use) noexcept
{
    try {
        try {
            use();
        } catch (const redis::ConnectionError& error) {
            lose(error.what());
        }
    } catch (const NotServing&) {
        fail(std::current_exception(), true);
    } catch (...) {
        fail(std::current_exception());
    }
}

void ServerLink::write() noexcept
{
    if (has_unsent()) {
        use([this] { write_commands(); });
    }
}

void ServerLink::write_commands()
{
    if (!open_ && connect_ && pump_.now() >= may_connect_at_) {
        open();
    } else if (!open_) {
        std::rethrow_exception(lost_);
    } else if (open_->reopen && !commands_.expects_reply()
               && pump_.now() - wrote_at_ >= kTrusted) {
        check_idle_connection();
    }
    for (;;) {
        const std::size_t sent = open_->connection.write(
            commands_.unsent(), !commands_.expects_reply());
        if (sent == 0) {
            return;
        }
        commands_.sent(sent);
        wrote_at_ = pump_.now();
    }
}

void ServerLink::open()
{
    if (open_) {
        return;
    }
    try {
        open_.emplace(connect_());
    } catch (...) {
        lost_ = std::current_exception();
        may_connect_at_ = pump_.now() + kPause;
        throw;
    }
    name_ = open_->name;
    wrote_at_ = pump_.now();
}

void ServerLink::check_idle_connection()
{
    wrote_at_ = pump_.now();
    try {
        open_->connection.ask(redis::Command("PING"), kPatience);
    } catch (const redis::ConnectionError&) {
        ++generation_;
        open_->connection = open_->reopen();
    }
}

pollfd ServerLink::waits_for(Pump::Time& until) const noexcept
{
    if (!open_ || commands_.empty()) {
        until = commands_.empty() ? until : Pump::Time::min();
        return {-1, 0, 0};
    }
    const redis::ByteStream& stream = open_->connection.stream();
    until =
        std::min(until, stream.has_input() ? Pump::Time::min() : deadline());
    return {stream.descriptor(),
            static_cast<short>(POLLIN | (has_unsent() ? POLLOUT : 0)), 0};
}

void ServerLink::proceed(bool ready) noexcept
{
    if (!open_ || commands_.empty()) {
        return;
    }
    use([&] {
        if (ready || open_->connection.stream().has_input()) {
            open_->connection.read();
            read_replies();
        }
        if (!commands_.empty() && pump_.now() >= deadline()) {
            throw redis::TimedOut("no answer in time");
        }
    });
}

void ServerLink::read_replies()
{
    while (const redis::Reply* const reply = open_->connection.next()) {
        if (!commands_.expects_reply()) {
            throw redis::ConnectionError(
                reply->is_error() ? std::string(reply->text())
                                  : "this is not Redis: unexpected reply");
        }
        due_since_ = pump_.now();
        pump_.replied(name_);
        if (reply->is_error()) {
            pump_.failed(
                std::make_exception_ptr(RedisError(name_.url, reply->text())),
                true);
        }
        commands_.pop()->on_reply(*reply);
    }
}

bool ServerLink::has_unsent() const noexcept
{
    return !commands_.unsent().empty()
           || (open_ && open_->connection.stream().has_output());
}

Pump::Time ServerLink::deadline() const noexcept
{
    return std::min<Pump::Time>(due_since_ + kReplyTimeout, pump_.last_time());
}

// Ends all commands.
void ServerLink::fail(std::exception_ptr problem,
                      bool may_recover_soon) noexcept
{
    pump_.failed(std::move(problem), may_recover_soon);
    commands_.fail();
}

void ServerLink::lose(const std::string& why)
{
    ++generation_;
    open_.reset();
    lost_ =
        std::make_exception_ptr(LostConnection(name_.url + ": " + why, false));
    fail(lost_);
}

}  // namespace petstore::ctl
