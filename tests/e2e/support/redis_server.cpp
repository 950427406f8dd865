#include "redis_server.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "catch.h"

namespace petstore::e2e {

std::string redis_binary()
{
    return env_or("PETSTORE_REDIS_SERVER", "redis-server");
}

RedisServer::RedisServer(std::vector<std::string> config, Start start,
                         std::vector<std::pair<std::string, std::string>> env)
    : config_(std::move(config)), env_(std::move(env)),
      socket_(dir_ / "redis.sock")
{
    for (const auto& line : config_) {
        if (line.rfind("requirepass ", 0) == 0) {
            password_ = line.substr(12);
        }
    }
    port_ = free_port();
    if (start == Start::now) {
        this->start();
    }
}

RedisServer::~RedisServer()
{
    if (process_.running()) {
        resume();
        stop();
    }
    for (const auto& file : files_below(dir_.path())) {
        const auto text = read_file(file);
        for (const auto& secret : secrets()) {
            if (file != dir_ / "redis.conf" && contains(text, secret)) {
                FAIL_CHECK(file << " holds a secret");
            }
        }
    }
}

void RedisServer::write_config(const std::string& file, bool is_sentinel) const
{
    std::string text = "bind " + own_address() + "\n";
    text += "unixsocketperm 777\n"
            "save \"\"\n"
            "logfile redis.log\n";
    // A Sentinel has no append-only file, and Redis 8.0.6 crashes without one.
    if (!is_sentinel) {
        // Each write reaches the kernel before its reply, which is enough to
        // survive SIGKILL. "everysec" delays it while a sync is slow.
        text += "appendonly yes\n"
                "appendfsync no\n";
    }
    text += "dir " + dir_.path() + "\n";
    text += "unixsocket " + socket_ + "\n";
    for (const auto& line : config_) {
        text += line + "\n";
    }
    write_file(file, text + "port " + std::to_string(port_) + "\n");
}

void RedisServer::start()
{
    const bool is_sentinel =
        std::any_of(config_.begin(), config_.end(), [](const auto& line) {
            return line.rfind("sentinel ", 0) == 0;
        });
    const std::string file = dir_ / "redis.conf";
    // Only once: Sentinels save a server's role in its file (CONFIG REWRITE).
    if (access(file.c_str(), F_OK) != 0) {
        write_config(file, is_sentinel);
    }
    unlink(socket_.c_str());
    std::vector<std::string> argv = {redis_binary(), file};
    if (is_sentinel) {
        argv.push_back("--sentinel");
    }
    process_ = Process({argv, env_, "", dir_ / "out", dir_ / "out"});
    const bool settled = wait_until(
        [this] {
            if (!process_.running()) {
                return true;
            }
            try {
                RedisClient probe(socket_);
                const auto pong = probe.command({"PING"});
                return pong.text == "PONG" || contains(pong.text, "NOAUTH");
            } catch (const HarnessError&) {
                return false;
            }
        },
        60s);
    if (!settled || !process_.running()) {
        process_ = {};
        throw HarnessError(redis_binary()
                           + " does not start: " + read_file(dir_ / "out")
                           + read_file(dir_ / "redis.log"));
    }
}

void RedisServer::stop()
{
    process_.signal(SIGTERM);
    if (!process_.wait(60s)) {
        throw HarnessError(redis_binary() + " does not stop");
    }
}

void RedisServer::kill_hard()
{
    process_.signal(SIGKILL);
    process_.wait(60s);
}

void RedisServer::restart()
{
    stop();
    start();
}

void RedisServer::lose_data()
{
    for (const auto& file : files_below(dir_.path())) {
        unlink(file.c_str());
    }
}

void RedisServer::exchange_data(RedisServer& other) const
{
    for (const char* const name : {"nodes.conf", "appendonlydir"}) {
        const std::string mine = dir_ / name;
        const std::string others = other.dir_ / name;
        const std::string aside = mine + ".aside";
        if (rename(mine.c_str(), aside.c_str()) != 0
            || rename(others.c_str(), mine.c_str()) != 0
            || rename(aside.c_str(), others.c_str()) != 0) {
            throw HarnessError(std::string("cannot exchange ") + name);
        }
    }
}

void RedisServer::pause() const
{
    process_.signal(SIGSTOP);
    const std::string stat =
        "/proc/" + std::to_string(process_.pid()) + "/stat";
    wait_until([&] { return contains(read_file(stat), ") T"); });
}

void RedisServer::resume() const
{
    process_.signal(SIGCONT);
}

std::string RedisServer::address() const
{
    return own_address() + ":" + std::to_string(port_);
}

std::string RedisServer::tcp_url() const
{
    return "redis://" + address();
}

void RedisServer::authenticate(RedisClient& client) const
{
    if (!password_.empty()) {
        client.command({"AUTH", password_});
    }
}

RedisClient RedisServer::client() const
{
    RedisClient client(socket_);
    authenticate(client);
    return client;
}

Value RedisServer::command(const Words& words) const
{
    return client().command(words);
}

std::int64_t RedisServer::info(const std::string& field) const
{
    const auto text = command({"INFO", "everything"}).text;
    const auto at = text.find("\n" + field + ":");
    if (at == std::string::npos) {
        throw HarnessError("Redis knows no " + field);
    }
    return std::atoll(text.c_str() + at + field.size() + 2);
}

Monitor::Monitor(const RedisServer& redis)
    : redis_(redis), client_(redis.client())
{
    client_.command({"MONITOR"});
}

std::vector<Monitor::Command> Monitor::commands()
{
    // Redis prints commands in execution order.
    const std::string mark = "e2e-mark-" + std::to_string(++marks_);
    redis_.command({"ECHO", mark});
    std::vector<Command> found;
    for (;;) {
        const std::string line = client_.read().text;
        if (contains(line, mark)) {
            return found;
        }
        // 1339518083.107412 [0 127.0.0.1:60866] "keys" "*"
        const auto open = line.find('[');
        const auto name = line.find("] \"", open);
        if (name == std::string::npos) {
            throw HarnessError("MONITOR says " + line);
        }
        Command command;
        command.line = line;
        command.from_script =
            line.compare(open, name - open + 1, "[0 lua]") == 0
            || contains(line.substr(open, name - open), " lua");
        command.name =
            line.substr(name + 3, line.find('"', name + 3) - name - 3);
        std::transform(
            command.name.begin(), command.name.end(), command.name.begin(),
            [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        command.time = std::atof(line.c_str());
        command.role_check = command.name == "INFO"
                             && contains(line, "\"INFO\" \"replication\"");
        command.host_task = contains(line, ":plans\"")
                            || contains(line, ":hosts\"")
                            || contains(line, ":{probe}:usage:");
        found.push_back(std::move(command));
    }
}

std::vector<std::string> Monitor::names()
{
    std::vector<std::string> names;
    for (const auto& command : commands()) {
        if (!command.from_script && !command.role_check && !command.host_task) {
            names.push_back(command.name);
        }
    }
    return names;
}

}  // namespace petstore::e2e
