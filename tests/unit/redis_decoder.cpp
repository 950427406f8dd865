#include "catch.h"

#include <memory>
#include <string>
#include <vector>

#include "redis/decoder.h"

using petstore::redis::Decoder;
using petstore::redis::Reply;
using petstore::redis::ReplyLimits;
using petstore::redis::Type;
using State = petstore::redis::Decoder::State;

namespace {

// A reply as text, so that whole trees can be compared.
std::string describe(const Reply& reply)
{
    switch (reply.type()) {
    case Type::nil:
        return "nil";
    case Type::integer:
        return std::to_string(reply.integer());
    case Type::string:
        return "'" + std::string(reply.text()) + "'";
    case Type::status:
        return "+" + std::string(reply.text());
    case Type::error:
        return "-" + std::string(reply.text());
    case Type::array: {
        std::string text = "[";
        for (std::size_t i = 0; i < reply.size(); ++i) {
            text += (i ? " " : "") + describe(reply[i]);
        }
        return text + "]";
    }
    }
    return "?";
}

// Takes all complete replies; "broken" ends the list.
void drain(Decoder& decoder, std::vector<std::string>& replies)
{
    for (;;) {
        const Reply* reply = nullptr;
        const State state = decoder.next(reply);
        if (state == State::incomplete) {
            return;
        }
        if (state == State::broken) {
            replies.push_back("broken");
            return;
        }
        replies.push_back(describe(*reply));
    }
}

std::vector<std::string> decode(std::string_view stream, std::size_t step)
{
    Decoder decoder;
    std::vector<std::string> replies;
    for (std::size_t at = 0; at < stream.size(); at += step) {
        decoder.feed(stream.substr(at, step));
        drain(decoder, replies);
    }
    return replies;
}

State state_after(std::string_view stream, ReplyLimits limits = {})
{
    Decoder decoder(limits);
    const Reply* reply = nullptr;
    decoder.feed(stream);
    return decoder.next(reply);
}

const std::string kStream = "+OK\r\n"
                            ":-42\r\n"
                            "$5\r\nhello\r\n"
                            "$0\r\n\r\n"
                            "$-1\r\n"
                            "*-1\r\n"
                            "*0\r\n"
                            "-NOSCRIPT No matching script.\r\n"
                            "*3\r\n:1\r\n$-1\r\n$2\r\n\r\n\r\n"
                            "*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n*1\r\n+deep\r\n"
                            ":9223372036854775807\r\n";

const std::vector<std::string> kReplies = {"+OK",
                                           "-42",
                                           "'hello'",
                                           "''",
                                           "nil",
                                           "nil",
                                           "[]",
                                           "-NOSCRIPT No matching script.",
                                           "[1 nil '\r\n']",
                                           "[[1 []] [[+deep]]]",
                                           "9223372036854775807"};

}  // namespace

TEST_CASE("replies are complete however the stream is split", "[redis]")
{
    for (std::size_t step = 1; step <= kStream.size(); ++step) {
        CAPTURE(step);
        REQUIRE(decode(kStream, step) == kReplies);
    }
}

TEST_CASE("a stream split anywhere gives the same replies", "[redis]")
{
    const std::string_view stream = kStream;
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        CAPTURE(cut);
        Decoder decoder;
        std::vector<std::string> replies;
        decoder.feed(stream.substr(0, cut));
        drain(decoder, replies);
        decoder.feed(stream.substr(cut));
        drain(decoder, replies);
        REQUIRE(replies == kReplies);
    }
}

TEST_CASE("many replies in one read are separated", "[redis]")
{
    std::string stream;
    for (int i = 0; i < 20000; ++i) {
        stream += ":" + std::to_string(i) + "\r\n$3\r\nabc\r\n";
    }
    Decoder decoder;
    decoder.feed(stream);
    const Reply* reply = nullptr;
    bool right = true;
    for (int i = 0; i < 20000; ++i) {
        right = right && decoder.next(reply) == State::reply
                && reply->integer() == i && decoder.next(reply) == State::reply
                && reply->text() == "abc";
    }
    CHECK(right);
    CHECK(decoder.next(reply) == State::incomplete);
}

TEST_CASE("one read may hold more bytes than one reply may have", "[redis]")
{
    ReplyLimits limits;
    limits.bytes = 100;
    std::string stream;
    for (int i = 0; i < 100; ++i) {
        stream += "+reply\r\n";
    }
    Decoder decoder(limits);
    decoder.feed(stream);
    const Reply* reply = nullptr;
    for (int i = 0; i < 100; ++i) {
        REQUIRE(decoder.next(reply) == State::reply);
    }
    CHECK(decoder.next(reply) == State::incomplete);
}

TEST_CASE("a reply outlives the bytes it was decoded from", "[redis]")
{
    auto bytes = std::make_unique<std::string>("*2\r\n$3\r\nabc\r\n+OK\r\n");
    Decoder decoder;
    decoder.feed(*bytes);
    bytes->assign(bytes->size(), 'x');
    bytes.reset();
    const Reply* reply = nullptr;
    REQUIRE(decoder.next(reply) == State::reply);
    CHECK(describe(*reply) == "['abc' +OK]");
}

TEST_CASE("texts may contain any byte", "[redis]")
{
    std::string all;
    for (int byte = 0; byte < 256; ++byte) {
        all += static_cast<char>(byte);
    }
    Decoder decoder;
    decoder.feed("$256\r\n" + all + "\r\n");
    const Reply* reply = nullptr;
    REQUIRE(decoder.next(reply) == State::reply);
    CHECK(reply->text() == all);
}

TEST_CASE("big and small replies alternate", "[redis]")
{
    const std::string big(1000000, 'b');
    Decoder decoder;
    for (int i = 0; i < 20; ++i) {
        decoder.feed("*2\r\n$1000000\r\n" + big + "\r\n$1\r\ns\r\n:7\r\n");
        const Reply* reply = nullptr;
        REQUIRE(decoder.next(reply) == State::reply);
        CHECK(((*reply)[0].text() == big && (*reply)[1].text() == "s"));
        REQUIRE(decoder.next(reply) == State::reply);
        CHECK(reply->integer() == 7);
    }
}

TEST_CASE("an error's code is its first word", "[redis]")
{
    Decoder decoder;
    decoder.feed("-MOVED 1 host:1\r\n-ERR\r\n-\r\n+ERR x\r\n");
    const Reply* reply = nullptr;
    REQUIRE(decoder.next(reply) == State::reply);
    CHECK(reply->error_code() == "MOVED");
    REQUIRE(decoder.next(reply) == State::reply);
    CHECK(reply->error_code() == "ERR");
    REQUIRE(decoder.next(reply) == State::reply);
    CHECK(reply->is_error());
    CHECK(reply->error_code().empty());
    REQUIRE(decoder.next(reply) == State::reply);
    CHECK(reply->error_code().empty());
}

TEST_CASE("anything but RESP2 breaks the decoder", "[redis]")
{
    const auto* const broken = GENERATE(
        "*2147483647\r\n", "*65537\r\n", "*-2\r\n", "*4611686018427387904\r\n",
        "*9223372036854775808\r\n", "*x\r\n", "*1 \r\n", "$-5\r\n",
        "$9223372036854775808\r\n", "$x\r\nabc\r\n", ":x\r\n",
        ":9223372036854775808\r\n", "GET / HTTP/1.1\r\n\r\n", "\r\n",
        // the types of RESP3
        ",3.14\r\n", "#t\r\n", "_\r\n", "%1\r\n+a\r\n:1\r\n", "~1\r\n+a\r\n",
        ">2\r\n+message\r\n+x\r\n",
        "(3492890328409238509324850943850943825\r\n", "=7\r\ntxt:abc\r\n",
        "|1\r\n+a\r\n+b\r\n:1\r\n", "!5\r\nERR x\r\n", "*2\r\n+a\r\n#t\r\n",
        "*1\r\n_\r\n");
    CAPTURE(broken);
    CHECK(state_after(broken) == State::broken);
}

TEST_CASE("arrays nested deeper than allowed break the decoder", "[redis]")
{
    std::string deep;
    for (int i = 0; i < 100000; ++i) {
        deep += "*1\r\n";
    }
    CHECK(state_after(deep) == State::broken);

    CHECK(state_after("*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n") == State::reply);
    CHECK(state_after("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n") == State::broken);
    CHECK(state_after("*1\r\n*1\r\n*1\r\n*1\r\n*0\r\n") == State::broken);
}

TEST_CASE("an array may have as many elements as allowed", "[redis]")
{
    std::string most = "*65536\r\n";
    for (int i = 0; i < 65536; ++i) {
        most += ":1\r\n";
    }
    CHECK(state_after(most) == State::reply);
}

TEST_CASE("a reply that never ends breaks the decoder", "[redis]")
{
    const auto* const start =
        GENERATE("$2000000000\r\n", "$4611686018427387904\r\n", "+", "-", "$",
                 "*65536\r\n$2000000000\r\n");
    CAPTURE(start);
    ReplyLimits limits;
    limits.bytes = 1000000;
    Decoder decoder(limits);
    const Reply* reply = nullptr;
    const std::string chunk(16384, '1');
    std::size_t fed = 0;
    decoder.feed(start);
    while (decoder.next(reply) == State::incomplete && fed < 2 * limits.bytes) {
        decoder.feed(chunk);
        fed += chunk.size();
    }
    CHECK(decoder.next(reply) == State::broken);
    CHECK(fed <= limits.bytes + chunk.size());
}

TEST_CASE("a text longer than a reply may be breaks the decoder", "[redis]")
{
    ReplyLimits limits;
    limits.bytes = 100;
    CHECK(state_after("$101\r\n" + std::string(101, 'x') + "\r\n", limits)
          == State::broken);
    CHECK(state_after("$90\r\n" + std::string(90, 'x') + "\r\n", limits)
          == State::reply);
}

TEST_CASE("the limit on bytes applies to each reply", "[redis]")
{
    ReplyLimits limits;
    limits.bytes = 1000;
    Decoder decoder(limits);
    const std::string half(500, 'x');
    const Reply* reply = nullptr;
    for (int i = 0; i < 100; ++i) {
        decoder.feed("$500\r\n");
        REQUIRE(decoder.next(reply) == State::incomplete);
        decoder.feed(half);
        REQUIRE(decoder.next(reply) == State::incomplete);
        decoder.feed("\r\n");
        REQUIRE(decoder.next(reply) == State::reply);
    }
}

TEST_CASE("a broken decoder stays broken and reports the problem", "[redis]")
{
    Decoder decoder;
    const Reply* reply = nullptr;
    CHECK(decoder.problem().empty());
    decoder.feed(":1\r\nsecret!\r\n:2\r\n");
    REQUIRE(decoder.next(reply) == State::reply);
    REQUIRE(decoder.next(reply) == State::broken);
    CHECK(decoder.next(reply) == State::broken);
    CHECK_FALSE(decoder.feed(":3\r\n"));
    CHECK(decoder.next(reply) == State::broken);
    CHECK_FALSE(decoder.problem().empty());
    CHECK(decoder.problem() == "no valid RESP");
}
