#include "operator.h"

#include <thread>

namespace petstore::e2e {

namespace {

const std::string kOperator = "operator";

// Starting new workers costs a sanitized nginx a large part of a second.
constexpr auto kBetweenReloads = 1200ms;

}  // namespace

Operator::Operator(World& world, RedisServer& redis, NginxServer& nginx,
                   std::function<NginxOptions()> configuration,
                   std::uint64_t seed)
    : world_(world), redis_(redis), nginx_(nginx),
      configuration_(std::move(configuration)), random_(seed, kOperator),
      forgetful_(random_.chance(50))
{}

void Operator::note(const std::string& what)
{
    world_.journal.note(kOperator, what);
}

void Operator::run(const std::atomic<bool>& stop)
{
    while (!stop) {
        try {
            act();
            if (forgetful_ && redis_runs_) {
                // Makes workers drop all cached pets.
                redis_.command({"INCR", "petstore:{petstore:pets}:changes"});
            }
        } catch (const HarnessError& problem) {
            // Redis was paused or killed in the middle of something. A dead
            // nginx is noticed elsewhere.
            note(problem.what());
        }
        std::this_thread::sleep_for(random_.millis(20, forgetful_ ? 100 : 500));
    }
}

void Operator::act()
{
    if (!redis_runs_) {
        note("starts Redis");
        redis_.start();
        redis_runs_ = true;
        return;
    }
    const int choice = random_.between(1, forgetful_ ? 300 : 100);
    if (choice > 100) {
        return;
    }
    if (choice <= 20) {
        reload();
    } else if (choice <= 45) {
        act_on_redis();
    } else if (choice <= 75 || world_.honest()) {
        act_on_keys();
    } else {
        damage();
    }
}

void Operator::reload()
{
    if (Clock::now() - reloaded_ < kBetweenReloads) {
        return;
    }
    const bool changed = random_.chance(50);
    note(changed ? "reloads another configuration" : "reloads");
    world_.journal.count("reloads");
    if (changed) {
        nginx_.change(configuration_());
    }
    nginx_.reload();
    reloaded_ = Clock::now();
}

void Operator::act_on_redis()
{
    switch (random_.between(0, 15)) {
    case 0:
    case 1: {
        const auto time = random_.millis(5, random_.pick({50, 50, 300, 900}));
        note("pauses Redis for " + std::to_string(time.count()) + " ms");
        redis_.pause();
        std::this_thread::sleep_for(time);
        redis_.resume();
        world_.journal.count("pauses");
        break;
    }
    case 2:
        note("kills Redis");
        redis_runs_ = false;
        redis_.kill_hard();
        world_.journal.count("kills");
        break;
    case 3:
        note("stops Redis");
        redis_runs_ = false;
        redis_.stop();
        world_.journal.count("stops");
        break;
    case 4:
        return command({"SCRIPT", "FLUSH", "SYNC"});
    case 5:
        return command({"CLIENT", "KILL", "TYPE", "normal"});
    case 6:
        return command({"CLIENT", "PAUSE",
                        std::to_string(random_.between(1, 150)),
                        random_.pick({"ALL", "WRITE"})});
    case 7:
        command({"CONFIG", "SET", "maxmemory", "1"});
        std::this_thread::sleep_for(random_.millis(1, 100));
        return command({"CONFIG", "SET", "maxmemory", "0"});
    case 8:
        // Makes Redis a replica without a primary: its writes fail with
        // READONLY.
        command({"REPLICAOF", "127.0.0.1", "1"});
        std::this_thread::sleep_for(random_.millis(1, 100));
        return command({"REPLICAOF", "NO", "ONE"});
    default:
        return command({"SCRIPT", "FLUSH", "ASYNC"});
    }
}

void Operator::act_on_keys()
{
    const auto& toggled = world_.key(Role::toggled).id;
    switch (random_.between(0, 9)) {
    case 0:
    case 1:
        return petstorectl({"key", "disable", toggled});
    case 2:
    case 3:
    case 4:
        return petstorectl({"key", "enable", toggled});
    case 5:
        return petstorectl(
            {"key", "set", toggled, "--label",
             "label " + std::to_string(random_.between(1, 1000))});
    case 6:
        // Not the limited key, whose windows are checked.
        return petstorectl({"key", "unban", toggled});
    case 7:
        return petstorectl({"key", "usage", world_.key(Role::limited).id});
    case 8:
        return petstorectl({"key", "show", toggled});
    default:
        if (world_.honest()) {
            return petstorectl({"doctor"});
        }
        return petstorectl({"pet", "set-status",
                            std::to_string(random_.between(1, World::kPets)),
                            random_.pick({"available", "pending", "sold"})});
    }
}

void Operator::damage()
{
    if (damaged_ && random_.chance(75)) {
        note("restores the data");
        world_.restore(redis_);
        damaged_ = false;
        return;
    }
    damaged_ = true;
    world_.journal.count("damages");
    const std::string pets = "petstore:{petstore:pets}:";
    const auto bucket =
        pets + "bucket:" + std::to_string(random_.between(0, 3));
    const auto state =
        "petstore:{"
        + world_.key(random_.pick({Role::good, Role::limited})).account
        + "}:state";
    switch (random_.between(0, 13)) {
    case 0:
        return command({"FLUSHALL"});
    case 1:
        return command({"DEL", bucket});
    case 2:
        return command({"SET", bucket, "text"});
    case 3:
        return command({"RPOP", bucket});
    case 4:
        return command({"LSET", bucket, std::to_string(random_.between(0, 40)),
                        random_.pick<std::string>(
                            {"", "x", "a1", "a1:\xff\xfe", "z9:name", "a1:"})});
    case 5:
        return command({"SET", pets + "count",
                        random_.pick({"0", "-5", "x", "100000", "129",
                                      "9223372036854775807"})});
    case 6:
        return command({"DEL", pets + "count"});
    case 7:
        return command({"SET", pets + "changes",
                        random_.pick({"0", "x", "9223372036854775807"})});
    case 8:
        return command({"SET", state, random_.bytes(80)});
    case 9:
        return command({"SET", state, "short"});
    case 10:
        command({"DEL", state});
        return command({"RPUSH", state, "a list"});
    case 11:
        return command({"DEL", pets + "status:sold"});
    case 12:
        command({"DEL", pets + "status:available"});
        return command({"RPUSH", pets + "status:available", "a list"});
    case 13:
        return command({"DEL", pets + "segments"});
    case 14:
        return command(
            {"SET", pets + "segments",
             random_.pick<std::string>(
                 {"", "x", random_.bytes(68),
                  "0000000001:0000000000000007 " + std::string(40, 'a')})});
    default:
        command({"SWAPDB", "0", "1"});
        std::this_thread::sleep_for(random_.millis(1, 200));
        return command({"SWAPDB", "0", "1"});
    }
}

void Operator::command(const Words& words)
{
    std::string text;
    for (const auto& word : words) {
        text += (text.empty() ? "" : " ") + excerpt(word, 40);
    }
    note(text);
    redis_.command(words);
}

void Operator::petstorectl(std::vector<std::string> arguments)
{
    std::string text = "petstorectl";
    for (const auto& argument : arguments) {
        text += " " + argument;
    }
    note(text);
    const auto result = ctl(redis_.url(), std::move(arguments));
    if (result.code < 0 || result.code == 2 || result.code > 4) {
        world_.journal.complain(kOperator, text + " ends with "
                                               + std::to_string(result.code)
                                               + ": " + result.err);
    }
}

void Operator::put_right()
{
    if (!redis_runs_) {
        redis_.start();
        redis_runs_ = true;
    }
    redis_.resume();
    command({"CLIENT", "UNPAUSE"});
    command({"CONFIG", "SET", "maxmemory", "0"});
    command({"REPLICAOF", "NO", "ONE"});
    if (!world_.honest()) {
        world_.restore(redis_);
        // Workers may have accepted a lie about the record, which only a new
        // epoch corrects.
        petstorectl({"key", "set", world_.key(Role::good).id, "--label", "x"});
    }
}

}  // namespace petstore::e2e
