#include "catch.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "redis/in_flight.h"

using petstore::redis::InFlight;

namespace {

using Names = std::vector<std::string>;

class Work final : public InFlight<Work>::Item {
public:
    Work(std::string name, Names& destroyed)
        : name(std::move(name)), destroyed_(destroyed)
    {
        if (this->name == "bad") {
            throw std::runtime_error("bad");
        }
    }
    ~Work() { destroyed_.push_back(name); }

    const std::string name;

private:
    Names& destroyed_;
};

// Starts its successor when it ends.
class Chained final : public InFlight<Chained>::Item {
public:
    Chained(InFlight<Chained>& owner, int left) : left(left), owner_(owner) {}
    ~Chained()
    {
        if (left > 0) {
            next = &owner_.start(owner_, left - 1);
        }
    }

    static inline Chained* next = nullptr;
    const int left;

private:
    InFlight<Chained>& owner_;
};

}  // namespace

TEST_CASE("work in flight lives until it ends, in any order", "[redis]")
{
    Names destroyed;
    InFlight<Work> work;
    CHECK(work.empty());
    Work& a = work.start("a", destroyed);
    Work& b = work.start("b", destroyed);
    Work& c = work.start("c", destroyed);
    CHECK(work.size() == 3);
    CHECK(destroyed.empty());

    work.end(b);
    CHECK(destroyed == Names{"b"});
    CHECK(a.name == "a");
    CHECK(c.name == "c");
    work.end(a);
    work.end(c);
    CHECK(destroyed == Names{"b", "a", "c"});
    CHECK(work.empty());
}

TEST_CASE("taken work lives until the end of the scope", "[redis]")
{
    Names destroyed;
    InFlight<Work> work;
    Work& a = work.start("a", destroyed);
    work.start("b", destroyed);
    {
        const auto taken = work.take(a);
        CHECK(work.size() == 1);
        CHECK(&*taken.front() == &a);
        CHECK(destroyed.empty());
    }
    CHECK(destroyed == Names{"a"});
}

TEST_CASE("work in flight ends with its owner", "[redis]")
{
    Names destroyed;
    {
        InFlight<Work> work;
        work.start("a", destroyed);
        work.start("b", destroyed);
    }
    CHECK(destroyed == Names{"a", "b"});
}

TEST_CASE("work whose constructor throws was never in flight", "[redis]")
{
    Names destroyed;
    InFlight<Work> work;
    CHECK_THROWS_AS(work.start("bad", destroyed), std::runtime_error);
    CHECK(work.empty());
}

TEST_CASE("work that ends may start other work", "[redis]")
{
    InFlight<Chained> work;
    Chained::next = &work.start(work, 100);
    for (int left = 100; left > 0; --left) {
        work.end(*Chained::next);
        CHECK(Chained::next->left == left - 1);
        CHECK(work.size() == 1);
    }
    work.end(*Chained::next);
    CHECK(work.empty());
}

TEST_CASE("any number of items can be in flight", "[redis]")
{
    Names destroyed;
    InFlight<Work> work;
    for (int round = 0; round < 3; ++round) {
        std::vector<Work*> started;
        for (int i = 0; i < 200; ++i) {
            started.push_back(&work.start(std::to_string(i), destroyed));
        }
        for (int i = 0; i < 200; ++i) {
            CHECK(started[static_cast<std::size_t>(i)]->name
                  == std::to_string(i));
        }
        for (Work* item : started) {
            work.end(*item);
        }
        CHECK(work.empty());
    }
    CHECK(destroyed.size() == 600);
}
