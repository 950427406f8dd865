#include "decoder.h"

#include <algorithm>
#include <cstring>
#include <hiredis/hiredis.h>
#include <new>
#include <type_traits>
#include <vector>

namespace petstore::redis {

namespace {

// Memory for one reply at a time, released all at once and reused.
class Arena {
public:
    void* allocate(std::size_t size)
    {
        size = (size + kAlignment - 1) & ~(kAlignment - 1);
        while (current_ < blocks_.size()) {
            Block& block = blocks_[current_];
            if (size <= block.size - used_) {
                void* place = block.memory.get() + used_;
                used_ += size;
                return place;
            }
            ++current_;
            used_ = 0;
        }
        const std::size_t block_size = size > kBlock ? size : kBlock;
        blocks_.push_back(
            {std::unique_ptr<char[]>(new char[block_size]), block_size});
        used_ = size;
        return blocks_.back().memory.get();
    }

    // A worker must not keep the memory of one big reply forever.
    void reset() noexcept
    {
        std::size_t kept = 0;
        std::size_t keep = 0;
        while (keep < blocks_.size() && kept + blocks_[keep].size <= kKeep) {
            kept += blocks_[keep++].size;
        }
        blocks_.resize(keep);
        current_ = 0;
        used_ = 0;
    }

private:
    static constexpr std::size_t kAlignment = alignof(std::max_align_t);
    static constexpr std::size_t kBlock = 16 * 1024;
    static constexpr std::size_t kKeep = 64 * 1024;

    struct Block {
        std::unique_ptr<char[]> memory;
        std::size_t size;
    };
    std::vector<Block> blocks_;
    std::size_t current_ = 0;
    std::size_t used_ = 0;  // of blocks_[current_]
};

}  // namespace

// hiredis calls these functions for every element. Returning nullptr stops
// hiredis permanently. Exceptions must not cross its C frames.
struct ReplyBuilder {
    ReplyLimits limits;
    Arena arena;
    const char* problem = nullptr;

    Reply* refuse(const char* why) noexcept
    {
        problem = why;
        return nullptr;
    }

    Reply* add(const redisReadTask* task, Type type)
    {
        static_assert(std::is_trivially_destructible_v<Reply>);
        auto* reply = new (arena.allocate(sizeof(Reply))) Reply;
        reply->type_ = type;
        if (task->parent) {
            static_cast<Reply*>(task->parent->obj)->items_[task->idx] = reply;
        }
        return reply;
    }

    Reply* text(const redisReadTask* task, const char* bytes, std::size_t size)
    {
        if (size > limits.bytes) {
            return refuse("a reply is too long");
        }
        Type type;
        switch (task->type) {
        case REDIS_REPLY_STRING:
            type = Type::string;
            break;
        case REDIS_REPLY_STATUS:
            type = Type::status;
            break;
        case REDIS_REPLY_ERROR:
            type = Type::error;
            break;
        default:
            return refuse(kForeignType);
        }
        Reply* reply = add(task, type);
        auto* copy = static_cast<char*>(arena.allocate(size));
        std::memcpy(copy, bytes, size);
        reply->text_ = copy;
        reply->size_ = size;
        return reply;
    }

    Reply* array(const redisReadTask* task, std::size_t count)
    {
        if (task->type != REDIS_REPLY_ARRAY) {
            return refuse(kForeignType);
        }
        if (count > limits.elements) {
            return refuse("an array has too many elements");
        }
        std::size_t depth = 1;
        for (auto* up = task->parent; up; up = up->parent) {
            ++depth;
        }
        if (depth > limits.depth) {
            return refuse("arrays are nested too deep");
        }
        Reply* reply = add(task, Type::array);
        // An array of pointers. NOLINTNEXTLINE(bugprone-sizeof-expression)
        const std::size_t size = count * sizeof(Reply*);
        reply->items_ = static_cast<Reply**>(arena.allocate(size));
        reply->count_ = count;
        return reply;
    }

    Reply* integer(const redisReadTask* task, long long value)
    {
        if (task->type != REDIS_REPLY_INTEGER) {
            return refuse(kForeignType);
        }
        Reply* reply = add(task, Type::integer);
        reply->integer_ = value;
        return reply;
    }

    // RESP2 writes nil as a string or an array of length -1.
    Reply* nil(const redisReadTask* task)
    {
        if (task->type != REDIS_REPLY_STRING
            && task->type != REDIS_REPLY_ARRAY) {
            return refuse(kForeignType);
        }
        return add(task, Type::nil);
    }

    static constexpr char kForeignType[] = "a reply of a type outside RESP2";
};

namespace {

template <class Build>
void* guarded(const redisReadTask* task, Build build) noexcept
{
    auto& builder = *static_cast<ReplyBuilder*>(task->privdata);
    try {
        return build(builder);
    } catch (const std::bad_alloc&) {
        return builder.refuse("out of memory");
    }
}

void* create_string(const redisReadTask* task, char* bytes, std::size_t size)
{
    return guarded(task,
                   [&](ReplyBuilder& b) { return b.text(task, bytes, size); });
}

// The count is an int in hiredis 0.14 and a size_t from 1.0 on.
template <class Count>
void* create_array(const redisReadTask* task, Count count)
{
    return guarded(task, [&](ReplyBuilder& b) {
        return b.array(task, static_cast<std::size_t>(count));
    });
}

void* create_integer(const redisReadTask* task, long long value)
{
    return guarded(task,
                   [&](ReplyBuilder& b) { return b.integer(task, value); });
}

void* create_nil(const redisReadTask* task)
{
    return guarded(task, [&](ReplyBuilder& b) { return b.nil(task); });
}

#if HIREDIS_MAJOR >= 1
void* create_double(const redisReadTask* task, double, char*, std::size_t)
{
    return guarded(task, [](ReplyBuilder& b) {
        return b.refuse(ReplyBuilder::kForeignType);
    });
}

void* create_bool(const redisReadTask* task, int)
{
    return guarded(task, [](ReplyBuilder& b) {
        return b.refuse(ReplyBuilder::kForeignType);
    });
}
#endif

// Without freeObject: the arena owns the replies.
redisReplyObjectFunctions* functions()
{
    static redisReplyObjectFunctions table = [] {
        redisReplyObjectFunctions made = {};
        made.createString = create_string;
        made.createArray = create_array;
        made.createInteger = create_integer;
        made.createNil = create_nil;
#if HIREDIS_MAJOR >= 1
        made.createDouble = create_double;
        made.createBool = create_bool;
#endif
        return made;
    }();
    return &table;
}

struct FreeReader {
    void operator()(redisReader* reader) const noexcept
    {
        redisReaderFree(reader);
    }
};

using OwnedReader = std::unique_ptr<redisReader, FreeReader>;

// Null if memory is exhausted. hiredis has no functions for the fields that we
// access, and its macro redisReaderSetPrivdata is not valid C++ in 0.14.
OwnedReader make_reader(ReplyBuilder& builder) noexcept
{
    OwnedReader reader(redisReaderCreateWithFunctions(functions()));
    if (reader) {
        reader->privdata = &builder;
        // By default, hiredis 0.14 replaces a large buffer that is empty, and
        // aborts the process if it cannot allocate the new one.
        reader->maxbuf = 0;
    }
    return reader;
}

// The size up to which an empty buffer is kept, in bytes.
constexpr std::size_t kKeptBuffer = 64 * 1024;

}  // namespace

struct Decoder::Impl {
    ReplyBuilder builder;
    OwnedReader reader;
    std::size_t largest = 0;     // the most bytes that this reader has buffered
    std::size_t unfinished = 0;  // bytes fed since the last complete reply
    bool whole = false;          // the arena holds a reply already returned
    bool broken = false;
    std::string problem;

    void fail(const char* why)
    {
        broken = true;
        problem = why;
    }

    // Lets go of a large buffer that is empty, with its reader, unless memory
    // is exhausted.
    void shrink() noexcept
    {
        if (largest <= kKeptBuffer || reader->pos != reader->len
            || reader->ridx != -1) {
            return;
        }
        if (auto small = make_reader(builder)) {
            reader = std::move(small);
            largest = 0;
        }
    }
};

Decoder::Decoder(ReplyLimits limits) : impl_(std::make_unique<Impl>())
{
    impl_->builder.limits = limits;
    impl_->reader = make_reader(impl_->builder);
    if (!impl_->reader) {
        throw std::bad_alloc();
    }
}

Decoder::~Decoder() = default;

bool Decoder::feed(std::string_view bytes)
{
    Impl& impl = *impl_;
    if (impl.broken) {
        return false;
    }
    if (redisReaderFeed(impl.reader.get(), bytes.data(), bytes.size())
        != REDIS_OK) {
        impl.fail("out of memory");
        return false;
    }
    impl.unfinished += bytes.size();
    impl.largest = std::max(impl.largest, impl.reader->len);
    return true;
}

Decoder::State Decoder::next(const Reply*& reply)
{
    Impl& impl = *impl_;
    if (impl.broken) {
        return State::broken;
    }
    if (impl.whole) {
        impl.builder.arena.reset();
        impl.whole = false;
    }
    void* built = nullptr;
    if (redisReaderGetReply(impl.reader.get(), &built) != REDIS_OK) {
        // Not hiredis's message, which quotes the stream.
        const char* why = impl.builder.problem;
        impl.fail(why ? why : "no valid RESP");
        return State::broken;
    }
    if (!built) {
        // Everything buffered belongs to one reply. Count received bytes,
        // because the announced length cannot be trusted.
        if (impl.unfinished > impl.builder.limits.bytes) {
            impl.fail("a reply is too long");
            return State::broken;
        }
        impl.shrink();
        return State::incomplete;
    }
    impl.unfinished = 0;
    impl.whole = true;
    reply = static_cast<const Reply*>(built);
    return State::reply;
}

const std::string& Decoder::problem() const noexcept
{
    return impl_->problem;
}

}  // namespace petstore::redis
