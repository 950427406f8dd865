#include "cut_redis.h"

namespace petstore::e2e {

CutRedis::CutRedis(const RedisServer& redis)
    : redis_(redis), forward_(forward_to(redis)),
      fake_([this](const Words& command) { return answer(command); })
{}

CutRedis::~CutRedis()
{
    wake();
}

void CutRedis::cut_at(int number, How how, const char* counted)
{
    const std::lock_guard lock(mutex_);
    left_ = number;
    counted_ = counted;
    how_ = how;
    cut_ = false;
    awake_ = false;
}

bool CutRedis::was_cut()
{
    const std::lock_guard lock(mutex_);
    return cut_;
}

void CutRedis::wake()
{
    {
        const std::lock_guard lock(mutex_);
        awake_ = true;
    }
    changed_.notify_all();
}

FakeRedis::Answer CutRedis::answer(const Words& command)
{
    {
        std::unique_lock lock(mutex_);
        const bool counts =
            command.front().compare(0, counted_.size(), counted_) == 0;
        if (left_ > 0 && counts && --left_ == 0) {
            cut_ = true;
            if (how_ == How::sleep) {
                changed_.wait(lock, [this] { return awake_; });
            } else {
                if (how_ == How::after) {
                    forward_(command);
                }
                forward_ = forward_to(redis_);  // its connection is broken, too
                return {"", false, true};
            }
        }
    }
    return forward_(command);
}

}  // namespace petstore::e2e
