#pragma once

#include <string>

#include "unit/redis_replies.h"

// A reply that is decoded before memory runs out.
class Ready {
public:
    explicit Ready(const std::string& text) : reply_(replies_(text)) {}
    operator const petstore::redis::Reply&() const { return reply_; }

private:
    Replies replies_;
    const petstore::redis::Reply& reply_;
};
