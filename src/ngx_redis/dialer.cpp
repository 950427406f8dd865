#include "dialer.h"

#include <utility>

#include "../ngx_base/timer.h"

namespace petstore::ngx_redis {

void Dialer::add(Server server)
{
    servers_.push_back(std::move(server));
    rotation_ = redis::Rotation(servers_.size());
}

void Dialer::remove_servers_after(std::size_t count) noexcept
{
    servers_.erase(servers_.begin() + static_cast<std::ptrdiff_t>(count),
                   servers_.end());
}

void Dialer::start(const redis::HandshakeCommands& commands) noexcept
{
    commands_ = commands;
    rotation_.begin_round();
    next_server();
}

void Dialer::start(const redis::HandshakeCommands& commands,
                   std::size_t first) noexcept
{
    rotation_ = redis::Rotation(servers_.size(), first);
    start(commands);
}

bool Dialer::has_next() const noexcept
{
    const bool has_time =
        timeout_for_ == TimeoutFor::address || ngx_base::time_left(end_) > 0;
    return (untried_ > 0 && has_time) || rotation_.left() > 0;
}

void Dialer::next() noexcept
{
    if (untried_ > 0) {
        next_address();
    } else {
        next_server();
    }
}

void Dialer::next_server() noexcept
{
    untried_ = 0;
    if (!rotation_.next()) {
        user_.on_none_left();
        return;
    }
    end_ = ngx_current_msec + timeout_;
    finding_ = true;
    server().source->find(*this, timeout_);
}

void Dialer::on_addresses(const Addresses& addresses) noexcept
{
    finding_ = false;
    addresses_ = addresses;
    untried_ = addresses_->size();
    next_address();
}

void Dialer::on_no_address(const char* reason) noexcept
{
    finding_ = false;
    addresses_ = nullptr;
    user_.on_no_address(reason);
}

void Dialer::next_address() noexcept
{
    --untried_;
    address_ = server().next_address % addresses_->size();
    server().next_address = address_ + 1;
    connection_.open((*addresses_)[address_], *server().login, commands_,
                     timeout_for_ == TimeoutFor::address
                         ? timeout_
                         : ngx_base::time_left(end_));
    if (connection_.is_open()) {
        user_.on_trying();
    }
}

void Dialer::prefer_current_address() noexcept
{
    if (connection_.is_open()) {
        server().next_address = address_;
    }
}

void Dialer::prefer_current_server() noexcept
{
    prefer_current_address();
    rotation_ = redis::Rotation(servers_.size(), rotation_.current());
}

void Dialer::close() noexcept
{
    if (finding_) {
        finding_ = false;
        server().source->cancel();
    }
    connection_.close();
}

const char* Dialer::address_text() const noexcept
{
    if (addresses_ != nullptr) {
        return (*addresses_)[address_].text.c_str();
    }
    const std::string& name = servers_[rotation_.current()].name;
    return name.empty() ? nullptr : name.c_str();
}

}  // namespace petstore::ngx_redis
