#include "sentinel_server.h"

#include <csignal>

namespace petstore::e2e {

SentinelServer::SentinelServer(const RedisServer& primary,
                               const std::vector<std::string>& config,
                               int primary_port)
    : port_(free_port())
{
    if (primary_port == 0) {
        primary_port = primary.port();
    }
    std::string text = "bind " + own_address() + "\nprotected-mode no\nport "
                       + std::to_string(port_) + "\nunixsocket "
                       + (dir_ / "sentinel.sock") + "\nlogfile "
                       + (dir_ / "sentinel.log") + "\ndir " + dir_.path()
                       + "\nsentinel monitor pets " + own_address() + " "
                       + std::to_string(primary_port)
                       + " 1\n"
                         "sentinel down-after-milliseconds pets 500\n"
                         "sentinel failover-timeout pets 2000\n";
    for (const auto& line : config) {
        text += line + "\n";
    }
    write_file(dir_ / "sentinel.conf", text);
    process_ = Process({{redis_binary(), dir_ / "sentinel.conf", "--sentinel"},
                        {},
                        "",
                        dir_ / "out",
                        dir_ / "out"});
    const bool started = wait_until([this] {
        if (!process_.running()) {
            return true;
        }
        try {
            const auto pong = command({"PING"}).text;
            return pong == "PONG" || contains(pong, "NOAUTH");
        } catch (const HarnessError&) {
            return false;
        }
    });
    if (!started || !process_.running()) {
        process_ = {};
        throw HarnessError("the Sentinel does not start: "
                           + read_file(dir_ / "out")
                           + read_file(dir_ / "sentinel.log"));
    }
}

std::string SentinelServer::url() const
{
    return "redis://" + own_address() + ":" + std::to_string(port_);
}

Value SentinelServer::command(const Words& words) const
{
    return RedisClient(dir_ / "sentinel.sock").command(words);
}

std::string SentinelServer::primary() const
{
    const auto reply = command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "pets"});
    return reply.items.size() != 2
               ? ""
               : reply.items[0].text + ":" + reply.items[1].text;
}

bool SentinelServer::knows_a_replica() const
{
    const auto reply = command({"SENTINEL", "REPLICAS", "pets"});
    for (const auto& replica : reply.items) {
        for (std::size_t i = 0; i + 1 < replica.items.size(); i += 2) {
            if (replica.items[i].text == "master-link-status"
                && replica.items[i + 1].text == "ok") {
                return true;
            }
        }
    }
    return false;
}

}  // namespace petstore::e2e
