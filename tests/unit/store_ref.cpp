#include "catch.h"

#include <utility>

#include "store/ref.h"

using petstore::store::make_ref;
using petstore::store::Ref;
using petstore::store::RefCounted;

namespace {

struct Counted : RefCounted {
    explicit Counted(int& alive) : alive_(alive) { ++alive_; }
    ~Counted() { --alive_; }
    int& alive_;
};

}  // namespace

TEST_CASE("an object lives as long as its last reference", "[store]")
{
    int alive = 0;
    auto first = make_ref<Counted>(alive);
    {
        const Ref<Counted> second = first;
        CHECK(second == first);
        Ref<const Counted> third = second;
        first.reset();
        CHECK(first == nullptr);
        CHECK_FALSE(first);
        CHECK(alive == 1);
        first = second;
        const Ref<const Counted> moved = std::move(third);
        CHECK(moved.get() == first.get());
    }
    CHECK(alive == 1);
    first = make_ref<Counted>(alive);
    CHECK(alive == 1);
    Ref<Counted>& same = first;
    first = same;
    CHECK(alive == 1);
    first = nullptr;
    CHECK(alive == 0);
}
