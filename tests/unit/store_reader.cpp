#include "catch.h"

#include <vector>

#include "store/reader.h"
#include "store_replies.h"

using namespace petstore;
using store::Loss;
using store::Reader;
using store::ReadKey;
using store::ReadResult;

namespace {

// A link whose other end is the test.
class FakeLink final : public store::TurnLink {
public:
    void send(const resp::Command& command,
              store::ReplyHandler& handler) noexcept override
    {
        if (full) {
            return handler.on_loss(Loss::not_sent);
        }
        sent.push_back(words(command).front());
        handlers.push_back(&handler);
    }
    void defer(store::Deferred& deferred) noexcept override { deferred.emit(); }
    std::uint64_t session() const noexcept override { return 1; }

    void reply(std::string_view text)
    {
        auto* handler = handlers.front();
        handlers.erase(handlers.begin());
        Replies replies;
        handler->on_reply(replies(text));
    }

    bool full = false;
    std::vector<std::string> sent;
    std::vector<store::ReplyHandler*> handlers;
};

struct Waiter final : store::ReadWaiter {
    void on_read(const ReadResult& result) noexcept override
    {
        results.push_back(result);
    }
    std::vector<ReadResult> results;
};

struct Fixture {
    const store::Schema schema{"petstore"};
    const store::Catalogue catalogue{schema};
    FakeLink link;
    Reader reader{link, catalogue, 1 << 20};
    Waiter waiter;
};

ReadKey sold()
{
    api::ListQuery query;
    query.status = api::Status::sold;
    return ReadKey::of_page(query);
}

}  // namespace

TEST_CASE("a script that Redis does not know is sent with its text", "[store]")
{
    Fixture f;
    f.reader.read(sold(), std::nullopt, f.waiter);
    f.link.reply("-NOSCRIPT x\r\n");
    REQUIRE(f.link.sent == std::vector<std::string>{"EVALSHA", "EVAL"});
    CHECK(f.waiter.results.empty());
    f.link.reply(array({integer(3), bulk("s1:x")}));
    REQUIRE(f.waiter.results.size() == 1);
    const auto* answer =
        std::get_if<std::shared_ptr<const store::Answer>>(&f.waiter.results[0]);
    REQUIRE(answer);
    CHECK((*answer)->body
          == R"([{"id":3,"name":"x","categoryId":1,"status":"sold"}])");
}

TEST_CASE("a read whose script cannot be sent again fails once", "[store]")
{
    Fixture f;
    f.reader.read(sold(), std::nullopt, f.waiter);
    f.link.full = true;
    f.link.reply("-NOSCRIPT x\r\n");
    REQUIRE(f.waiter.results.size() == 1);
    const auto* error = std::get_if<api::Error>(&f.waiter.results[0]);
    REQUIRE(error);
    CHECK(error->code == api::ErrorCode::service_unavailable);
}
