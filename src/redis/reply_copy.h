#pragma once

#include <string>
#include <vector>

#include "reply.h"

namespace petstore::redis {

// A copy of a reply, to keep it after its decoder has produced the next one.
class ReplyCopy {
public:
    // Throws std::bad_alloc.
    explicit ReplyCopy(const Reply& original);
    ReplyCopy(const ReplyCopy&) = delete;
    ReplyCopy& operator=(const ReplyCopy&) = delete;

    // Valid as long as the copy.
    const Reply& get() const noexcept { return replies_.front(); }

private:
    Reply* add(const Reply& original) noexcept;

    // Replies point into all three, which therefore never grow.
    std::vector<Reply> replies_;
    std::vector<Reply*> items_;
    std::string texts_;
};

}  // namespace petstore::redis
