#pragma once

#include <optional>
#include <set>
#include <string>

#include "config.h"
#include "e2e/support/http.h"
#include "world.h"

namespace petstore::e2e {

// A request, and what its response may be.
struct Ask {
    std::string method = "GET";
    std::string path;
    Headers headers;
    std::optional<std::string> body;

    Role role = Role::none;
    const Route* route = nullptr;  // null: a page
    std::set<int> statuses;        // allowed; empty: any

    long long id = 0;    // of the requested pet
    int limit = 0;       // of a list
    std::string status;  // of all pets in it
    std::string name;    // of the pet to create
    std::string category;
    std::string idempotency_key;

    // Method, path and role, for the journal.
    std::string title() const;
};

// Generates all kinds of requests. Names of pets contain the caller's name.
class Requests {
public:
    Requests(World& world, Random& random, std::string who)
        : world_(world), random_(random), who_(std::move(who))
    {}

    Ask any();

private:
    Ask untagged();
    Ask page();
    void list(Ask& ask);
    void get(Ask& ask);
    void create(Ask& ask);
    void other(Ask& ask);
    Role role();
    void allow_common(Ask& ask) const;
    std::string good_body(Ask& ask);
    std::string bad_body();

    World& world_;
    Random& random_;
    std::string who_;
    int made_ = 0;
};

// Checks a complete response against its request. Returns the fault, or "".
std::string fault_of(const Ask& ask, const Response& response, World& world);

}  // namespace petstore::e2e
