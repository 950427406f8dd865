#include "redis_client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace petstore::e2e {

namespace {

struct FreeReply {
    void operator()(void* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<void, FreeReply>;

struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
};

Value value_of(const redisReply& reply)
{
    Value value;
    switch (reply.type) {
    case REDIS_REPLY_NIL:
        break;
    case REDIS_REPLY_INTEGER:
        value.type = Value::Type::integer;
        value.integer = reply.integer;
        break;
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_STRING:
        value.type = Value::Type::text;
        value.text.assign(reply.str, reply.len);
        break;
    case REDIS_REPLY_ERROR:
        value.type = Value::Type::error;
        value.text.assign(reply.str, reply.len);
        break;
    case REDIS_REPLY_ARRAY:
        value.type = Value::Type::array;
        for (std::size_t i = 0; i < reply.elements; ++i) {
            value.items.push_back(value_of(*reply.element[i]));
        }
        break;
    default:
        throw HarnessError("no RESP2: type " + std::to_string(reply.type));
    }
    return value;
}

}  // namespace

std::string encode(const Words& command)
{
    std::vector<const char*> words;
    std::vector<std::size_t> sizes;
    for (const auto& word : command) {
        words.push_back(word.data());
        sizes.push_back(word.size());
    }
    char* bytes = nullptr;
    const auto size = redisFormatCommandArgv(
        &bytes, static_cast<int>(command.size()), words.data(), sizes.data());
    if (size < 0) {
        throw HarnessError("out of memory");
    }
    std::string encoded(bytes, static_cast<std::size_t>(size));
    redisFreeCommand(bytes);
    return encoded;
}

bool take_value(std::string& bytes, Value& value)
{
    const std::unique_ptr<redisReader, FreeReader> reader(redisReaderCreate());
    void* parsed = nullptr;
    if (redisReaderFeed(reader.get(), bytes.data(), bytes.size()) != REDIS_OK
        || redisReaderGetReply(reader.get(), &parsed) != REDIS_OK) {
        throw HarnessError("no RESP: " + bytes.substr(0, 40));
    }
    const Reply reply(parsed);
    if (!reply) {
        return false;
    }
    value = value_of(*static_cast<redisReply*>(parsed));
    bytes.erase(0, bytes.size() - (reader->len - reader->pos));
    return true;
}

// Not redisConnectUnix(): servers started by tests would inherit its socket.
RedisClient::RedisClient(const std::string& unix_path)
{
    const int fd = connect_unix(unix_path);
    if (fd < 0) {
        throw HarnessError("no Redis at " + unix_path);
    }
    context_.reset(redisConnectFd(fd));
    if (!context_) {
        close(fd);
        throw HarnessError("out of memory");
    }
    if (redisSetTimeout(context_.get(), timeval{60, 0}) != REDIS_OK) {
        throw HarnessError(context_->errstr);
    }
}

void RedisClient::send(const std::string& bytes)
{
    int done =
        redisAppendFormattedCommand(context_.get(), bytes.data(), bytes.size())
        != REDIS_OK;
    while (done == 0) {
        if (redisBufferWrite(context_.get(), &done) != REDIS_OK) {
            break;
        }
    }
    if (context_->err != 0) {
        throw HarnessError("connection to Redis broke: "
                           + std::string(context_->errstr));
    }
}

Value RedisClient::read()
{
    void* parsed = nullptr;
    if (redisGetReply(context_.get(), &parsed) != REDIS_OK) {
        throw HarnessError("no reply of Redis: "
                           + std::string(context_->errstr));
    }
    const Reply reply(parsed);
    return value_of(*static_cast<redisReply*>(parsed));
}

Value RedisClient::command(const Words& words)
{
    send(encode(words));
    return read();
}

std::string RedisClient::raw_command(const Words& words)
{
    send(encode(words));
    std::string raw;
    for (;;) {
        char chunk[65536];
        const auto n = recv(context_->fd, chunk, sizeof(chunk), 0);
        if (n <= 0) {
            throw HarnessError("no reply of Redis");
        }
        raw.append(chunk, static_cast<std::size_t>(n));
        std::string rest = raw;
        Value value;
        if (take_value(rest, value)) {
            return raw;
        }
    }
}

}  // namespace petstore::e2e
