#pragma once

#include <stdexcept>
#include <string>

namespace petstore::ctl {

enum ExitCode {
    kExitOk = 0,
    kExitFailure = 1,
    kExitUsage = 2,
    kExitNotFound = 3,
    kExitRedis = 4,  // away, or refusing
};

// The command was understood but failed. what() is for the operator.
class Failure : public std::runtime_error {
public:
    enum class Kind {
        failed,
        not_found,          // no such key, account, plan or pet
        redis_unavailable,  // Redis is away, or refuses commands
        // A change may be stored, but workers may not know of it yet.
        // Repeating the operation is safe and completes the change.
        not_in_effect,
        external_id_taken,
        account_in_use,  // it has keys
        plan_in_use,
        too_many_plans,
        key_exists,
        already_rotated,
    };

    explicit Failure(const std::string& what, Kind kind = Kind::failed)
        : std::runtime_error(what), kind_(kind)
    {}

    Kind kind() const noexcept { return kind_; }

private:
    Kind kind_;
};

// Joins several problems in one message.
inline void add_problem(std::string& problems, const std::string& problem)
{
    problems += (problems.empty() ? "" : "; ") + problem;
}

// Runs what follows a change. If that fails, the message says that the change
// was made.
template <typename Action>
void after_change(const std::string& made, const Action& action)
{
    try {
        action();
    } catch (const Failure& problem) {
        throw Failure(made + "; " + problem.what(), problem.kind());
    }
}

// How an error is reported to programs: `code` is in its JSON.
struct Category {
    ExitCode exit;
    const char* code;
};
inline constexpr Category kUsage = {kExitUsage, "usage"};
inline constexpr Category kFailed = {kExitFailure, "failed"};
struct CategoryOfKind {
    Failure::Kind kind;
    Category category;
};
// Of all other kinds.
inline constexpr CategoryOfKind kCategories[] = {
    {Failure::Kind::not_found, {kExitNotFound, "not_found"}},
    {Failure::Kind::redis_unavailable, {kExitRedis, "redis_unavailable"}},
    {Failure::Kind::not_in_effect, {kExitFailure, "not_in_effect"}},
    {Failure::Kind::external_id_taken, {kExitFailure, "external_id_taken"}},
    {Failure::Kind::account_in_use, {kExitFailure, "account_in_use"}},
    {Failure::Kind::plan_in_use, {kExitFailure, "plan_in_use"}},
    {Failure::Kind::too_many_plans, {kExitFailure, "too_many_plans"}},
    {Failure::Kind::key_exists, {kExitFailure, "key_exists"}},
    {Failure::Kind::already_rotated, {kExitFailure, "already_rotated"}},
};

// The connection to Redis broke or timed out.
class LostConnection : public Failure {
public:
    LostConnection(const std::string& what, bool sent)
        : Failure(what, Kind::redis_unavailable), sent_(sent)
    {}

    // Whether Redis may have received and executed a command that it has not
    // replied to.
    bool sent() const noexcept { return sent_; }

private:
    bool sent_;
};

// There is no connection to Redis.
class Unreachable : public Failure {
public:
    explicit Unreachable(const std::string& what)
        : Failure(what, Kind::redis_unavailable)
    {}
};

class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace petstore::ctl
