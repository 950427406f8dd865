// The losses of ids.cpp, 20 times each.
#include "support/store.h"
#include "support/unique_ids.h"

using namespace petstore::e2e;

TEST_CASE("ids: none is given twice in 20 crashes that lost pets")
{
    check_ids_after_crashes(20);
}

TEST_CASE("ids: none is given twice in 20 failovers")
{
    check_ids_after_restores(2);
    check_ids_after_partitions(4);
    check_ids_behind_sentinels(6, false);
    check_ids_behind_sentinels(4, true);
    check_ids_in_cluster(6);
}
