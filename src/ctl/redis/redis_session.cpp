#include "redis_session.h"

#include <utility>

#include "../../redis/reply_fields.h"
#include "../../store/damage.h"
#include "redis_error.h"

namespace petstore::ctl {

// The result of one command.
class RedisSession::Result final : public redis::ReplyHandler {
public:
    Result(const Pump& pump, std::string key) : key(std::move(key)), pump_(pump)
    {}

    void on_reply(const redis::Reply& original) noexcept override
    {
        from = &pump_.server();
        try {
            reply.emplace(original);
        } catch (...) {
            problem = std::current_exception();
        }
        ended = true;
    }

    void on_no_reply(redis::NoReply why) noexcept override
    {
        cause = why;
        problem = pump_.problem();
        ended = true;
    }

    const std::string key;  // of the command
    bool ended = false;
    std::optional<redis::ReplyCopy> reply;
    const ServerName* from = nullptr;
    redis::NoReply cause = redis::NoReply::not_sent;  // unless there is a reply
    std::exception_ptr problem;

private:
    const Pump& pump_;
};

RedisSession::RedisSession(Pump& pump, OpenConnection server)
    : pump_(pump),
      server_(std::make_unique<ServerLink>(pump, std::move(server))),
      link_(server_.get())
{}

RedisSession::RedisSession(Pump& pump, std::unique_ptr<ClusterServers> servers)
    : pump_(pump),
      cluster_(std::make_unique<Cluster>(pump, std::move(servers))),
      link_(&cluster_->link())
{}

RedisSession::~RedisSession() = default;

redis::Link& RedisSession::link_for(const redis::Command& command)
{
    return cluster_ && command.routing_key().empty() ? cluster_->any_server()
                                                     : *link_;
}

void RedisSession::send(const redis::Command& command)
{
    redis::Link& link = link_for(command);
    due_.emplace_back(pump_, std::string(command.routing_key()));
    link.send(command, due_.back());
}

const redis::Reply& RedisSession::receive_any()
{
    const Result& result = due_.front();
    pump_.run_until([&] { return result.ended; });
    if (!result.reply) {
        throw_failure(result);
    }
    replied_.clear();
    replied_.splice(replied_.begin(), due_, due_.begin());
    return replied_.front().reply->get();
}

const std::string& RedisSession::last_host() const
{
    return replied_.front().from->host;
}

// Abandons the other commands, too.
void RedisSession::throw_failure(const Result& result)
{
    const bool others = due_.size() > 1;
    const auto problem = result.problem;
    const bool in_doubt = result.cause == redis::NoReply::in_doubt;
    const std::string key = result.key;
    abandoned_.splice(abandoned_.end(), due_);
    if (cluster_ && !in_doubt && !key.empty() && link_->group_of(key) == 0) {
        throw NotServing("no server of the cluster serves the slot "
                         + std::to_string(redis::hash_slot(key)));
    }
    if (problem == nullptr) {
        throw LostConnection("no answer in time", in_doubt);
    }
    try {
        std::rethrow_exception(problem);
    } catch (const LostConnection& lost) {
        // Other servers may have executed their commands.
        throw LostConnection(lost.what(), in_doubt || (cluster_ && others));
    }
}

void RedisSession::throw_cluster_node(const std::string& url) const
{
    throw Failure(
        url + " is a node of a Redis Cluster: put \"cluster\" before its URL",
        Failure::Kind::redis_unavailable);
}

void RedisSession::refuse_cluster_node() const
{
    if (server_ && server_->is_cluster_node()) {
        throw_cluster_node(server_->name().url);
    }
}

const redis::Reply& RedisSession::receive()
{
    const redis::Reply& reply = receive_any();
    check(reply);
    return reply;
}

void RedisSession::receive_all()
{
    while (due() > 0) {
        receive();
    }
}

void RedisSession::check(const redis::Reply& reply, std::string_view key) const
{
    if (!reply.is_error()) {
        return;
    }
    const std::string& url = replied_.front().from->url;
    if (reply.error_code() == "MOVED" && !is_cluster()) {
        throw_cluster_node(url);
    }
    const store::Damage damage = store::damage_of(reply, key);
    if (!damage.key.empty()) {
        throw Failure(damage.message());
    }
    throw RedisError(url, reply.text());
}

const redis::Reply& RedisSession::receive_naming_key()
{
    const redis::Reply& reply = receive_any();
    check(reply, replied_.front().key);
    return reply;
}

const redis::Reply& RedisSession::run(redis::Command command)
{
    send(command);
    const redis::Reply* reply = &receive_any();
    if (command.fall_back_to_text(*reply)) {
        send(command);
        reply = &receive_any();
    }
    check(*reply, replied_.front().key);
    return *reply;
}

void RedisSession::each_server(const Visit& visit)
{
    if (!cluster_) {
        return visit(*this);
    }
    const auto before = settled_map();
    for (const redis::ServerAddress& primary : before.primaries()) {
        RedisSession session = open(primary);
        visit(session);
    }
    // A key that moved in between may have been missed.
    const auto after = settled_map();
    for (int i = 0; i < redis::kHashSlots; ++i) {
        const auto slot = static_cast<std::uint16_t>(i);
        const auto was = before.primary_of(slot);
        const auto is = after.primary_of(slot);
        if (!was || !is || before.primaries()[*was] != after.primaries()[*is]) {
            throw Failure(
                "slots of the cluster have moved, or have no server: run the command again");
        }
    }
}

// Throws Failure while a slot moves from one server to another.
redis::SlotMap RedisSession::settled_map()
{
    auto map = cluster_->map();
    for (const redis::ServerAddress& primary : map.primaries()) {
        RedisSession session = open(primary);
        const redis::Reply& reply =
            session.call(redis::Command("CLUSTER").arg("NODES"));
        // "[93->-ID]", on the line of the server itself.
        if (reply.text().find(" [") != std::string_view::npos) {
            throw Failure(
                "slots of the cluster are being moved: complete that first");
        }
    }
    return map;
}

api::UnixTime time_of(RedisSession& redis)
{
    const auto time = redis::parse_time(redis.call(redis::Command("TIME")));
    if (!time) {
        throw Failure("unexpected reply of Redis to TIME");
    }
    return *time / 1000;
}

void send_batched(RedisSession& redis, const redis::Command& command,
                  std::size_t most)
{
    redis.send(command);
    if (redis.due() == most) {
        redis.receive_all();
    }
}

void read_all(RedisSession& redis, redis::Scan scan,
              const std::function<void(const redis::Reply&)>& use)
{
    while (!scan.done()) {
        const redis::Command command = scan.next();
        const redis::Reply* const part = scan.take(redis.call(command));
        if (part == nullptr) {
            throw Failure("unexpected reply of Redis to "
                          + std::string(command.argv().front()));
        }
        use(*part);
    }
}

void require_settled(RedisSession& redis)
{
    redis.each_server([](RedisSession&) {});
}

void each_key(RedisSession& redis, const std::string& pattern,
              const std::function<void(std::string_view)>& use)
{
    redis.each_server([&](RedisSession& server) {
        read_all(server, redis::Scan::of_keys(pattern),
                 [&](const redis::Reply& names) {
                     for (std::size_t i = 0; i < names.size(); ++i) {
                         use(names[i].text());
                     }
                 });
    });
}

}  // namespace petstore::ctl
