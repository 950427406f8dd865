#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "../../api/date.h"
#include "../../api/plan.h"
#include "../../redis/deployment.h"
#include "../../store/plans/plan_listing.h"
#include "../../store/schema.h"
#include "../../store/store_links.h"
#include "../accounts/limits_place.h"
#include "../redis/await.h"
#include "../redis/pump.h"
#include "../redis/redis_connect.h"
#include "../redis/redis_session.h"
#include "../redis/tls.h"

namespace petstore::ctl {

struct GlobalOptions {
    std::string redis = "redis://127.0.0.1:6379/0";
    std::string limit_redis;           // empty: same as `redis`
    std::string user;                  // empty: that of the URL
    std::string password_file;         // empty: REDISCLI_AUTH, if set
    std::string limit_password_file;   // empty: password_file
    std::string target;                // of `move`
    std::string target_password_file;  // empty: password_file
    TlsOptions tls;
    std::string prefix = "petstore";
    bool json = false;
};

// The global options, and the Redis servers that they name.
class Context {
public:
    // Throws UsageError, and Failure if a file cannot be read.
    explicit Context(const GlobalOptions& options);

    bool json() const noexcept { return json_; }
    const store::Schema& schema() const noexcept { return schema_; }

    // For `doctor`, which examines a single node of a Cluster, too. Other
    // commands would see only a part of the data, and fail.
    void accept_cluster_nodes() noexcept { accepts_cluster_nodes_ = true; }

    // For `upgrade` and `doctor`. Other commands fail if a Redis has data of
    // format 1.
    void accept_format_1() noexcept { accepts_format_1_ = true; }

    // Connects on the first call, so commands check their arguments first. The
    // first change to a store makes it one of format 2. Throws Failure.
    RedisSession& redis(Access access = Access::read);

    // Runs the links of all of them, for await().
    Pump& pump() noexcept { return pump_; }

    bool has_limit_redis() const noexcept { return limit_redis_.has_value(); }

    // The Redis of --limit-redis, likewise; nullptr if there is none.
    RedisSession* limit_redis();

    // Throws UsageError if there is none. `command`: its name.
    void require_limit_redis(const char* command) const;

    // The Redis that `move` names, likewise.
    RedisSession& target();

    // The main Redis, for commands that concern pets only. Fails if the store
    // was moved away.
    RedisSession& pets(Access access);

    LimitsPlace limits_place() { return {redis(), limit_redis(), schema_}; }

    // Throws Failure if the options do not name the Redis with the limits.
    store::StoreLinks links(Access access);

    // By the clock that decides when a key expires. Throws Failure.
    api::UnixTime now(const store::StoreLinks& links);

    // All plans: in Redis, of nginx.conf and built-in. Throws Failure.
    store::KnownPlans known_plans();
    api::PlanTable plans() { return known_plans().table(); }

    // Runs a task of the store. Throws Failure, or what keep_error() has put
    // into `kept`.
    template <typename T>
    T await(store::Task<T> task, const std::exception_ptr& kept = nullptr)
    {
        return ctl::await(pump_, std::move(task), kept);
    }

private:
    struct Server {
        std::string option;
        redis::Deployment deployment;
        Credentials credentials;
        std::unique_ptr<RedisSession> session;
    };

    // nullopt if `text` is empty.
    std::optional<Server> other(const std::string& text,
                                const std::string& option,
                                const std::string& password_file,
                                const std::string& file_option) const;
    RedisSession& open(Server& server);

    Pump pump_;               // outlives the sessions
    std::optional<Tls> tls_;  // likewise; if a deployment uses TLS
    Server main_;
    std::optional<Server> limit_redis_;
    bool limit_redis_is_main_ = false;  // --limit-redis names the same database
    std::optional<Server> target_;
    store::Schema schema_;
    bool json_;
    bool accepts_cluster_nodes_ = false;
    bool accepts_format_1_ = false;
};

using Action = std::function<void(Context&)>;

}  // namespace petstore::ctl
