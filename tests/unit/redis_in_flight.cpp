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
        CHECK(&taken.front() == &a);
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
