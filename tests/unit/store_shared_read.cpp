#include "catch.h"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "store/shared_read.h"

using petstore::store::Failure;
using petstore::store::NoKey;
using petstore::store::Outcome;
using petstore::store::SharedReads;
using petstore::store::Waiter;

namespace {

using Name = std::string;

struct NameWaiter final : Waiter<Name> {
    void on_result(const Outcome<Name>& outcome) noexcept override
    {
        results.push_back(
            outcome.failed()
                ? "failed: "
                      + std::string(outcome.failure()->error.message.text())
                : outcome.value());
        if (then) {
            std::exchange(then, nullptr)();
        }
    }
    std::vector<std::string> results;
    std::function<void()> then;
};

class NameRead;
using NameReads = SharedReads<NameRead, Waiter<Name>*, int>;

class NameRead final : public NameReads::Item {
public:
    NameRead(NameReads& reads, int key, bool fails = false) : Item(reads, key)
    {
        if (fails) {
            throw std::runtime_error("no");
        }
    }
    void take(const Outcome<Name>& outcome) noexcept { end(outcome); }
};

class Only;
using OnlyReads = SharedReads<Only, std::pair<int, std::vector<int>*>>;

class Only final : public OnlyReads::Item {
public:
    Only(OnlyReads& reads, NoKey key) : Item(reads, key) {}
    void take() noexcept
    {
        end_each([](const auto& each) { each.second->push_back(each.first); });
    }
};

}  // namespace

TEST_CASE("requests share a read in flight, by key", "[shared_read]")
{
    NameReads reads;
    NameWaiter a;
    NameWaiter b;
    NameWaiter other;
    CHECK(reads.find(1) == nullptr);
    NameRead& read = reads.start(1, &a);
    CHECK(read.key() == 1);
    REQUIRE(reads.find(1) == &read);
    read.join(&b);
    CHECK(reads.find(2) == nullptr);
    NameRead& second = reads.start(2, &other);
    CHECK(reads.size() == 2);

    read.take(Name("rex"));
    CHECK(a.results == std::vector<std::string>{"rex"});
    CHECK(b.results == std::vector<std::string>{"rex"});
    CHECK(other.results.empty());
    CHECK(reads.find(1) == nullptr);
    CHECK(reads.size() == 1);

    second.take(Failure{{petstore::api::ErrorCode::internal_error, "broken"}});
    CHECK(other.results == std::vector<std::string>{"failed: broken"});
    CHECK(reads.size() == 0);
}

TEST_CASE("a read may start before a request waits for it", "[shared_read]")
{
    NameReads reads;
    NameRead& unwanted = reads.start_ahead(1);
    unwanted.take(Name("nobody"));
    CHECK(reads.size() == 0);

    NameRead& read = reads.start_ahead(1);
    NameWaiter late;
    reads.find(1)->join(&late);
    read.take(Name("rex"));
    CHECK(late.results == std::vector<std::string>{"rex"});
}

TEST_CASE("requests join the newest read of a key", "[shared_read]")
{
    NameReads reads;
    NameWaiter a;
    NameWaiter b;
    NameRead& older = reads.start(1, &a);
    NameRead& newer = reads.start(1, &b);
    CHECK(reads.find(1) == &newer);
    older.take(Name("old"));
    CHECK(reads.find(1) == &newer);
    newer.take(Name("new"));
    CHECK(reads.find(1) == nullptr);
    CHECK(a.results == std::vector<std::string>{"old"});
    CHECK(b.results == std::vector<std::string>{"new"});
}

TEST_CASE("no request joins a closed read", "[shared_read]")
{
    NameReads reads;
    NameWaiter a;
    NameWaiter b;
    NameRead& closed = reads.start(1, &a);
    reads.close();
    CHECK(reads.find(1) == nullptr);
    NameRead& next = reads.start(1, &b);
    closed.take(Name("first"));
    CHECK(reads.find(1) == &next);
    next.take(Name("second"));
    CHECK(a.results == std::vector<std::string>{"first"});
    CHECK(b.results == std::vector<std::string>{"second"});
}

TEST_CASE("a waiter may start the next read of its key", "[shared_read]")
{
    NameReads reads;
    NameWaiter a;
    NameWaiter b;
    NameRead* next = nullptr;
    a.then = [&] {
        CHECK(reads.find(1) == nullptr);
        next = &reads.start(1, &a);
    };
    NameRead& read = reads.start(1, &a);
    read.join(&b);
    read.take(Name("first"));
    REQUIRE(next != nullptr);
    CHECK(reads.find(1) == next);
    CHECK(b.results == std::vector<std::string>{"first"});
    next->take(Name("second"));
    CHECK(a.results == std::vector<std::string>{"first", "second"});
    CHECK(reads.size() == 0);
}

TEST_CASE("a waiter may destroy the reads", "[shared_read]")
{
    auto reads = std::make_unique<NameReads>();
    NameWaiter a;
    NameWaiter b;
    NameWaiter other;
    a.then = [&] { reads.reset(); };
    NameRead& read = reads->start(1, &a);
    read.join(&b);
    reads->start(2, &other);
    read.take(Name("rex"));
    CHECK(a.results == std::vector<std::string>{"rex"});
    CHECK(b.results == std::vector<std::string>{"rex"});
    CHECK(other.results.empty());
}

TEST_CASE("a read that cannot start leaves nothing behind", "[shared_read]")
{
    NameReads reads;
    NameWaiter a;
    CHECK_THROWS(reads.start(1, &a, true));
    CHECK(reads.find(1) == nullptr);
    CHECK(reads.size() == 0);

    NameRead& read = reads.start(1, &a);
    NameWaiter b;
    CHECK_THROWS(reads.start(1, &b, true));
    CHECK(reads.find(1) == &read);
    read.take(Name("rex"));
    CHECK(a.results == std::vector<std::string>{"rex"});
    CHECK(b.results.empty());
}

TEST_CASE("without a key there is one read to join", "[shared_read]")
{
    OnlyReads reads;
    std::vector<int> ended;
    Only& first = reads.start({}, {1, &ended});
    REQUIRE(reads.find() == &first);
    first.join({2, &ended});
    reads.close();
    CHECK(reads.find() == nullptr);
    Only& second = reads.start({}, {3, &ended});
    first.take();
    CHECK(reads.find() == &second);
    second.take();
    CHECK(reads.find() == nullptr);
    CHECK(ended == std::vector<int>{1, 2, 3});
}
