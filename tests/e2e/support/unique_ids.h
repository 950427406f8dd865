#pragma once

namespace petstore::e2e {

// Lose pets that were acknowledged, `rounds` times, while pets are created, and
// check that no id was acknowledged for two pets and that the ids of lost pets
// are 404. For ids.cpp, and ids_repeated.cpp, which repeats them.

// Redis is killed, and the end of its append-only file is lost, as after a
// power failure with appendfsync everysec.
void check_ids_after_crashes(int rounds);

// The dump.rdb of one moment is restored again and again.
void check_ids_after_restores(int rounds);

// A primary that clients still write to is replaced, and later follows the
// server that replaced it.
void check_ids_after_partitions(int rounds);

// Sentinels replace a primary that is killed by a replica that lacks its last
// writes. `restarts`: the primary is restarted and killed again before that.
void check_ids_behind_sentinels(int rounds, bool restarts);

// The same in a Cluster.
void check_ids_in_cluster(int rounds);

}  // namespace petstore::e2e
