#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../../redis/scan.h"
#include "key_steps.h"

namespace petstore::store {

struct KeyListing {
    std::vector<StoredKey> keys;  // oldest first
    // Ids in the index whose record is missing or damaged, and those whose
    // entry does not lead to a record.
    std::vector<std::string> missing;
    std::vector<std::string> damaged;
    std::set<std::string> damaged_entries;
    // Ids whose record is on a server of a Cluster that is away.
    std::vector<std::string> unread;
};

// Reads the index, then the records, of which at most kAtOnce are on their way.
class ListKeys final : public Operation<KeySteps, KeyListing> {
public:
    static constexpr std::size_t kAtOnce = 256;

    ListKeys(Waiter<KeyListing>& waiter, const KeyServers& servers);
    ~ListKeys() override;

private:
    class Read;

    void start() override;
    void take_entries(const redis::Reply& entries);
    void read_records();
    void send_reads() noexcept;
    void ended(const Failure* failure) noexcept;
    void complete() noexcept;
    std::size_t group_of(const api::Digest& digest) const;

    redis::Scan scan_;
    // A scan may return an entry twice.
    std::map<std::string, api::Digest> index_;
    std::vector<Read> reads_;
    std::size_t sent_ = 0;
    std::size_t ended_ = 0;
    bool sending_ = false;
    std::set<std::size_t> away_;      // groups of servers, see Link::group_of()
    std::optional<Failure> failure_;  // the first one; no more are sent
    KeyListing listing_;
};

}  // namespace petstore::store
