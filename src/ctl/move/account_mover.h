#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "../../api/date.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../../store/schema.h"
#include "../redis/redis_session.h"

namespace petstore::ctl {

// Moves the states, strikes, bans and usage of all accounts from one Redis to
// another, neither of which may create accounts meanwhile.
//
// A state is renamed before it is copied. From then on the source refuses the
// account, so the copy is final. Whenever a worker starts to use the other
// Redis, each request is counted on only one of them. Throws Failure.
class AccountMover {
public:
    AccountMover(RedisSession& source, RedisSession& destination,
                 const store::Schema& schema)
        : source_(source), destination_(destination), schema_(schema)
    {}

    // Returns the number of accounts. Completes an interrupted move in either
    // direction.
    std::size_t run();

private:
    using Ids = std::set<std::string>;
    struct Found {
        Ids states;
        Ids renamed;  // for a move
        Ids counted;  // with strikes or bans
        Ids used;     // with a usage
    };
    void name_months();
    Found find(RedisSession& redis);
    void remove_stale(const Found& here, const Found& there);
    void move(const std::vector<std::string>& accounts);
    void copy(const std::string& account, const redis::Reply& taken,
              std::vector<redis::Command>& states);
    void receive_copies();
    void refuse_damaged(const std::string& account,
                        const redis::Reply& taken) const;
    void copy_usage(const std::string& account, const redis::Reply& taken);
    void name_keys(const std::string& account, redis::Command& command) const;
    void append_usage_keys(const std::string& account,
                           redis::Command& command) const;
    void rename_back(const Ids& accounts);

    RedisSession& source_;
    RedisSession& destination_;
    const store::Schema& schema_;
    Ids copied_;  // with a state at the destination when the move began
    std::vector<api::YearMonth> months_;  // that may have a usage
};

}  // namespace petstore::ctl
