#include "redis_server.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "catch.h"

namespace petstore::e2e {

RedisServer::RedisServer(std::vector<std::string> config, Start start)
    : config_(std::move(config)), socket_(dir_ / "redis.sock")
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

void RedisServer::start()
{
    std::string text = "bind 127.0.0.1\n"
                       "unixsocketperm 777\n"
                       "appendonly yes\n"
                       "save \"\"\n"
                       "logfile redis.log\n";
    text += "dir " + dir_.path() + "\n";
    text += "unixsocket " + socket_ + "\n";
    for (const auto& line : config_) {
        text += line + "\n";
    }
    for (int attempt = 0; attempt < 5; ++attempt) {
        unlink(socket_.c_str());
        write_file(dir_ / "redis.conf",
                   text + "port " + std::to_string(port_) + "\n");
        process_ = Process({{"redis-server", dir_ / "redis.conf"},
                            {},
                            "",
                            dir_ / "out",
                            dir_ / "out"});
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
            30s);
        if (settled && process_.running()) {
            return;
        }
        process_ = {};
        port_ = free_port();  // somebody took ours
    }
    throw HarnessError("redis-server does not start: " + read_file(dir_ / "out")
                       + read_file(dir_ / "redis.log"));
}

void RedisServer::stop()
{
    process_.signal(SIGTERM);
    if (!process_.wait(20s)) {
        throw HarnessError("redis-server does not stop");
    }
}

void RedisServer::kill_hard()
{
    process_.signal(SIGKILL);
    process_.wait(20s);
}

void RedisServer::restart()
{
    stop();
    start();
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

std::string RedisServer::tcp_url() const
{
    return "redis://127.0.0.1:" + std::to_string(port_);
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
    // Redis prints commands in the order it executes them.
    const std::string mark = "e2e-mark-" + std::to_string(++marks_);
    redis_.command({"ECHO", mark});
    std::vector<Command> found;
    for (;;) {
        std::string line;
        if (!client_.read_line(line, 20s)) {
            throw HarnessError("MONITOR is silent");
        }
        if (contains(line, mark)) {
            return found;
        }
        // +1339518083.107412 [0 127.0.0.1:60866] "keys" "*"
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
        command.time = std::atof(line.c_str() + line.find('+') + 1);
        command.role_check = command.name == "INFO"
                             && contains(line, "\"INFO\" \"replication\"");
        found.push_back(std::move(command));
    }
}

std::vector<std::string> Monitor::names()
{
    std::vector<std::string> names;
    for (const auto& command : commands()) {
        if (!command.from_script && !command.role_check) {
            names.push_back(command.name);
        }
    }
    return names;
}

}  // namespace petstore::e2e
