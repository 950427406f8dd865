#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "e2e/support/redis_server.h"
#include "fake_redis.h"

namespace petstore::e2e {

// A connection to a real Redis that fails once, at a chosen command.
class CutRedis {
public:
    enum class How {
        before,  // the connection breaks and the command is not executed
        after,   // the command is executed, and the connection breaks instead
                 // of a reply
        sleep,   // the command, and all behind it, wait for wake()
    };

    explicit CutRedis(const RedisServer& redis);
    ~CutRedis();

    std::string url() const { return fake_.url(); }

    // Starts counting commands from 1; the `number`th fails.
    void cut_at(int number, How how) { cut_at(number, how, ""); }

    // The same, but counts only calls of scripts.
    void cut_at_script(int number, How how) { cut_at(number, how, "EVAL"); }

    bool was_cut();  // since cut_at()
    void wake();

private:
    void cut_at(int number, How how, const char* counted);
    FakeRedis::Answer answer(const Words& command);

    const RedisServer& redis_;
    FakeRedis::Script forward_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int left_ = 0;         // commands until the failure; 0: none
    std::string counted_;  // how their names start
    How how_ = How::before;
    bool cut_ = false;
    bool awake_ = false;
    FakeRedis fake_;  // last: its threads use the rest
};

}  // namespace petstore::e2e
