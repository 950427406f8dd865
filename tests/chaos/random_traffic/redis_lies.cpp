#include "redis_lies.h"

#include <cstdint>
#include <functional>
#include <limits>

namespace petstore::e2e {

namespace {

Value text_value(std::string text)
{
    Value value;
    value.type = Value::Type::text;
    value.text = std::move(text);
    return value;
}

Value integer_value(std::int64_t number)
{
    Value value;
    value.type = Value::Type::integer;
    value.integer = number;
    return value;
}

std::string bulk(const std::string& text)
{
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// --- errors ------------------------------------------------------------------

Lie error(Random& random)
{
    const std::string text = random.pick<std::string>(
        {"READONLY You can't write against a read only replica.",
         "LOADING Redis is loading the dataset in memory",
         "OOM command not allowed when used memory > 'maxmemory'.",
         "MISCONF Redis is configured to save RDB snapshots",
         "MASTERDOWN Link with MASTER is down",
         "BUSY Redis is busy running a script.",
         "NOAUTH Authentication required.",
         "NOPERM this user has no permissions",
         "WRONGTYPE Operation against a key holding the wrong kind of value",
         "MOVED 3999 127.0.0.1:1",
         "ASK 3999 127.0.0.1:1",
         "TRYAGAIN Multiple keys request during rehashing of slot",
         "CLUSTERDOWN The cluster is down",
         "NOREPLICAS Not enough good replicas to write.",
         "EXECABORT Transaction discarded",
         "DAMAGED petstore:{petstore:pets}:bucket:0",
         "DAMAGED",
         "ERR user_script:1: Script attempted to access a non local key",
         "ERR",
         "",
         " ",
         "lower case",
         "\"code\":\"x\"} \x01\xff",
         std::string(200, 'E') + " long"});
    return {"-" + text.substr(0, text.find(' ')), "-" + text + "\r\n"};
}

// --- other types -------------------------------------------------------------

std::string nested(int depth)
{
    std::string text;
    for (int i = 0; i < depth; ++i) {
        text += "*1\r\n";
    }
    return text + ":1\r\n";
}

Lie other_type(Random& random)
{
    const std::string bytes = random.pick<std::string>({
        "$-1\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*0\r\n",
        ":0\r\n",
        ":1\r\n",
        ":-1\r\n",
        ":-2\r\n",
        ":9223372036854775807\r\n",
        ":-9223372036854775808\r\n",
        "+OK\r\n",
        "+\r\n",
        "$0\r\n\r\n",
        "*3\r\n$-1\r\n$-1\r\n$-1\r\n",
        "*3\r\n:1\r\n:2\r\n:3\r\n",
        "*2\r\n*0\r\n*1\r\n:5\r\n",
        "*1\r\n-ERR inside\r\n",
        "*2\r\n:1\r\n-NOSCRIPT inside\r\n",
        nested(2),
        nested(3),
        nested(6),
        bulk("a7:Rex"),
        bulk("a7:\xff\xfe"),
        bulk("a07:x"),
        bulk("s-5:"),
        bulk(random.bytes(static_cast<std::size_t>(random.between(1, 300)))),
        bulk(std::string(80, '\0')),
        bulk(std::string(80, '\xff')),
        bulk(std::string(100'000, 'z')),
    });
    return {"type " + excerpt(bytes, 24), bytes};
}

Lie no_resp2(Random& random)
{
    const std::string bytes = random.pick<std::string>({
        ":99999999999999999999\r\n",
        ":\r\n",
        ":1x\r\n",
        "*2147483647\r\n",
        "*-5\r\n",
        "*99999999999999\r\n",
        "$99999999999\r\n",
        "$-7\r\n",
        "$3\r\nabcdef\r\n",
        "%1\r\n+a\r\n:1\r\n",
        "_\r\n",
        "#t\r\n",
        ",1.5\r\n",
        "(12345678901234567890\r\n",
        ">2\r\n+a\r\n+b\r\n",
        "~1\r\n:1\r\n",
        "=7\r\ntxt:abc\r\n",
        nested(9),
        nested(64),
        "\r\n",
        std::string(1, '\0'),
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        std::string(70'000, '+'),
        random.bytes(static_cast<std::size_t>(random.between(1, 200))),
    });
    return {"garbage " + excerpt(bytes, 24), bytes};
}

// --- a reply that is nearly right --------------------------------------------

std::int64_t other_number(std::int64_t number, Random& random)
{
    switch (random.between(0, 7)) {
    case 0:
        return 0;
    case 1:
        return -1;
    case 2:
        return -2;
    case 3:
        return std::numeric_limits<std::int64_t>::max();
    case 4:
        return std::numeric_limits<std::int64_t>::min();
    case 5:
        return static_cast<std::int64_t>(random.next());
    default:
        // Unsigned, so that it wraps around near the limits of int64.
        return static_cast<std::int64_t>(
            static_cast<std::uint64_t>(number)
            + static_cast<std::uint64_t>(random.between(-200, 200)));
    }
}

std::string other_text(std::string text, Random& random)
{
    const auto at = text.empty() ? 0 : random.next() % text.size();
    switch (random.between(0, 5)) {
    case 0:
        return "";
    case 1:
        return text.substr(0, at);
    case 2:
        return text + random.bytes(static_cast<std::size_t>(at % 40 + 1));
    case 3:
        return random.bytes(text.size());
    default:
        if (!text.empty()) {
            text[at] = static_cast<char>(random.next());
        }
        return text;
    }
}

void change(Value& value, Random& random)
{
    if (random.chance(15)) {
        value =
            random.pick<Value>({Value{}, integer_value(-1), integer_value(7),
                                text_value("x"), text_value("")});
        return;
    }
    switch (value.type) {
    case Value::Type::integer:
        value.integer = other_number(value.integer, random);
        return;
    case Value::Type::text:
        value.text = other_text(value.text, random);
        return;
    case Value::Type::nil:
        value = text_value("a1:x");
        return;
    case Value::Type::error:
        value.text = "ERR " + value.text;
        return;
    case Value::Type::array:
        break;
    }
    auto& items = value.items;
    if (items.empty()) {
        items.push_back(text_value("a1:x"));
        return;
    }
    const auto at = static_cast<std::ptrdiff_t>(random.next() % items.size());
    switch (random.between(0, 5)) {
    case 0:
        items.erase(items.begin() + at);
        return;
    case 1:
        items.insert(items.begin() + at, Value(items[at]));
        return;
    case 2:
        items.resize(static_cast<std::size_t>(at));
        return;
    case 3:
        std::swap(items.front(), items.back());
        return;
    default:
        change(items[at], random);
    }
}

Lie mutated(const std::string& reply, Random& random)
{
    std::string rest = reply;
    Value value;
    if (!take_value(rest, value)) {
        return error(random);
    }
    for (int i = random.between(1, 3); i > 0; --i) {
        change(value, random);
    }
    const auto bytes = encode_value(value);
    return {"mutated to " + excerpt(bytes, 60), bytes};
}

}  // namespace

std::string encode_value(const Value& value)
{
    switch (value.type) {
    case Value::Type::nil:
        return "$-1\r\n";
    case Value::Type::integer:
        return ":" + std::to_string(value.integer) + "\r\n";
    case Value::Type::error:
        return "-" + value.text + "\r\n";
    case Value::Type::text:
        return bulk(value.text);
    case Value::Type::array:
        break;
    }
    std::string bytes = "*" + std::to_string(value.items.size()) + "\r\n";
    for (const auto& item : value.items) {
        bytes += encode_value(item);
    }
    return bytes;
}

Lie lie_instead_of(const std::string& command, const std::string& reply,
                   Random& random)
{
    // The only error that makes the module send another command; most
    // surprising where no script was called.
    if (random.chance(command == "EVALSHA" ? 10 : 35)) {
        return {"-NOSCRIPT", "-NOSCRIPT No matching script.\r\n"};
    }
    const int kind = random.between(1, 100);
    if (kind <= 30) {
        return error(random);
    }
    if (kind <= 50) {
        return other_type(random);
    }
    if (kind <= 80) {
        return mutated(reply, random);
    }
    if (kind <= 86) {
        return no_resp2(random);
    }
    if (kind <= 90) {
        return {"twice", reply + reply};
    }
    if (kind <= 93) {
        return {"dropped", ""};
    }
    if (kind <= 96) {
        return {"unasked before", "+OK\r\n" + reply};
    }
    const auto cut = reply.substr(0, random.next() % reply.size());
    return {"cut at " + std::to_string(cut.size()), cut, kind <= 98};
}

}  // namespace petstore::e2e
