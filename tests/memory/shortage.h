#pragma once

#include <unistd.h>

#include <cstdint>
#include <limits>
#include <new>

#include "catch.h"
#include "chaos/preload/failing_malloc.h"

// During its lifetime, allocations of this process fail: `times` in a row, from
// the `first` on.
class Shortage {
public:
    Shortage(std::int64_t first, std::int64_t times)
    {
        control().first = first;
        control().times = times;
        control().counted = 0;
        control().failed = 0;
        control().armed = getpid();
    }
    ~Shortage() { control().armed = 0; }
    Shortage(const Shortage&) = delete;

    static bool came() { return control().failed != 0; }

private:
    static FailingMalloc& control() { return *failing_malloc_control(); }
};

// Makes each allocation of Case::act() fail in turn: first alone, then with all
// later ones. Creates a new Case each time. act() may throw std::bad_alloc;
// check() then checks the outcome, with enough memory. A case that allocates
// nothing tests nothing.
template <typename Case, bool kMustAllocate = true>
void fail_each_allocation()
{
    constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t times : {std::int64_t{1}, kAll}) {
        bool came = true;
        for (std::int64_t n = 1; came; ++n) {
            INFO("allocation " << n
                               << (times == 1 ? "" : " and all later ones"));
            Case one;
            bool thrown = false;
            {
                const Shortage shortage(n, times);
                try {
                    one.act();
                } catch (const std::bad_alloc&) {
                    thrown = true;
                }
                came = Shortage::came();
            }
            CHECK((came || !thrown));
            one.check(thrown);
            REQUIRE(n < 10'000);
            if (!came) {
                CHECK((n > 1 || !kMustAllocate));
            }
        }
    }
}
