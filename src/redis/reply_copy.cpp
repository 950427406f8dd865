#include "reply_copy.h"

namespace petstore::redis {

namespace {

struct Size {
    std::size_t replies = 0;
    std::size_t bytes = 0;

    // The decoder limits the depth.
    void add(const Reply& reply) noexcept
    {
        ++replies;
        bytes += reply.text().size();
        for (std::size_t i = 0; i < reply.size(); ++i) {
            add(reply[i]);
        }
    }
};

}  // namespace

ReplyCopy::ReplyCopy(const Reply& original)
{
    Size size;
    size.add(original);
    replies_.reserve(size.replies);
    items_.reserve(size.replies);
    texts_.reserve(size.bytes);
    add(original);
}

// Never allocates: there is room for all elements.
Reply* ReplyCopy::add(const Reply& original) noexcept
{
    Reply& copy = replies_.emplace_back(original);
    const std::size_t text = texts_.size();
    texts_.append(original.text());
    copy.text_ = texts_.data() + text;
    const std::size_t first = items_.size();
    items_.resize(first + original.size());
    copy.items_ = items_.data() + first;
    for (std::size_t i = 0; i < original.size(); ++i) {
        copy.items_[i] = add(original[i]);
    }
    return &copy;
}

}  // namespace petstore::redis
