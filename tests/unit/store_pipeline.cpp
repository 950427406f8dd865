#include "catch.h"

#include <string>
#include <vector>

#include "store/pipeline.h"
#include "store_replies.h"

using namespace petstore;
using store::Loss;
using store::Pipeline;

namespace {

struct Handler final : store::ReplyHandler {
    void on_reply(const resp::Reply&) noexcept override {}
    void on_loss(Loss loss) noexcept override
    {
        lost.push_back(loss);
        if (pipeline != nullptr) {
            pipeline->add(resp::Command("AGAIN"), this, 9);
        }
    }
    std::vector<Loss> lost;
    Pipeline* pipeline = nullptr;  // to add a command to when one is lost
};

const std::string kPing = "*1\r\n$4\r\nPING\r\n";

}  // namespace

TEST_CASE("a pipeline hands out bytes until they are written", "[store]")
{
    Pipeline pipeline;
    Handler handler;
    CHECK(pipeline.empty());
    CHECK(pipeline.unsent().empty());
    REQUIRE(pipeline.add(resp::Command("PING"), &handler, 5));
    REQUIRE(pipeline.add(resp::Command("PING"), nullptr, 7));
    CHECK(pipeline.unsent() == kPing + kPing);
    CHECK(pipeline.deadline() == 5);

    for (std::size_t i = 1; i <= 2 * kPing.size(); ++i) {
        pipeline.sent(1);
        CHECK(pipeline.unsent() == (kPing + kPing).substr(i));
    }
    REQUIRE(pipeline.add(resp::Command("PING"), &handler, 8));
    CHECK(pipeline.unsent() == kPing);
}

TEST_CASE("a pipeline expects replies to what was written only", "[store]")
{
    Pipeline pipeline;
    Handler handler;
    CHECK_FALSE(pipeline.expects_reply());
    pipeline.add(resp::Command("PING"), &handler, 5);
    pipeline.add(resp::Command("PING"), nullptr, 7);
    CHECK_FALSE(pipeline.expects_reply());
    pipeline.sent(kPing.size());
    CHECK(pipeline.expects_reply());
    CHECK(pipeline.pop() == &handler);
    CHECK_FALSE(pipeline.expects_reply());
    CHECK_FALSE(pipeline.empty());
    CHECK(pipeline.deadline() == 7);
    pipeline.sent(1);
    CHECK(pipeline.expects_reply());
    CHECK(pipeline.pop() == nullptr);
    CHECK(pipeline.empty());
}

TEST_CASE("a pipeline keeps its order over thousands of commands", "[store]")
{
    Pipeline pipeline;
    std::vector<Handler> handlers(5000);
    std::size_t added = 0;
    std::size_t popped = 0;
    const auto pop = [&] {
        REQUIRE(pipeline.expects_reply());
        REQUIRE(pipeline.pop() == &handlers[popped++]);
    };
    while (added < handlers.size()) {
        for (int i = 0; i < 7 && added < handlers.size(); ++i, ++added) {
            REQUIRE(
                pipeline.add(resp::Command("PING"), &handlers[added], added));
        }
        pipeline.sent(pipeline.unsent().size() - 3);  // never all of it
        pop();
        pop();
    }
    pipeline.sent(pipeline.unsent().size());
    while (popped < added) {
        pop();
    }
    CHECK(pipeline.empty());
}

TEST_CASE("a pipeline is full at its bounds", "[store]")
{
    Pipeline pipeline;
    SECTION("commands")
    {
        for (std::size_t i = 0; i < Pipeline::kMaxPending; ++i) {
            CHECK_FALSE(pipeline.full());
            pipeline.add(resp::Command("PING"), nullptr, 0);
        }
        CHECK(pipeline.full());
        pipeline.sent(pipeline.unsent().size());
        CHECK(pipeline.full());
        pipeline.pop();
        CHECK_FALSE(pipeline.full());
    }
    SECTION("bytes")
    {
        const std::string big(Pipeline::kMaxUnsentBytes, 'x');
        pipeline.add(resp::Command("SET").arg(big), nullptr, 0);
        CHECK(pipeline.full());
        pipeline.sent(100);
        CHECK_FALSE(pipeline.full());
    }
}

TEST_CASE("a lost connection tells each command whether it was written",
          "[store]")
{
    Pipeline pipeline;
    Handler written;
    Handler in_part;
    Handler waiting;
    pipeline.add(resp::Command("PING"), &written, 0);
    pipeline.add(resp::Command("PING"), nullptr, 0);
    pipeline.add(resp::Command("PING"), &in_part, 0);
    pipeline.add(resp::Command("PING"), &waiting, 0);
    pipeline.sent(2 * kPing.size() + 1);
    waiting.pipeline = &pipeline;
    pipeline.fail();
    CHECK(written.lost == std::vector<Loss>{Loss::unknown});
    CHECK(in_part.lost == std::vector<Loss>{Loss::unknown});
    CHECK(waiting.lost == std::vector<Loss>{Loss::not_sent});
    // Nothing of the old connection is left, and what was added meanwhile is.
    CHECK(pipeline.unsent() == "*1\r\n$5\r\nAGAIN\r\n");
    CHECK(pipeline.deadline() == 9);
    CHECK_FALSE(pipeline.expects_reply());
    CHECK(pipeline.pop() == &waiting);
    CHECK(pipeline.empty());
}
