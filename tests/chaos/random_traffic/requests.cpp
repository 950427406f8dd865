#include "requests.h"

namespace petstore::e2e {

namespace {

const char* const kRoles[] = {"good",      "limited", "limited too", "reader",
                              "toggled",   "expired", "deleted",     "invented",
                              "malformed", "no key"};

bool is_valid(Role role)
{
    return role == Role::good || role == Role::limited
           || role == Role::limited_too || role == Role::reader
           || role == Role::toggled;
}

}  // namespace

std::string Ask::title() const
{
    return method + " " + excerpt(path, 80) + " ("
           + kRoles[static_cast<int>(role)]
           + (body ? ", body of " + std::to_string(body->size()) : "")
           + (idempotency_key.empty() ? "" : ", idempotent") + ")";
}

Role Requests::role()
{
    const int choice = random_.between(1, 100);
    return choice <= 40   ? Role::good
           : choice <= 58 ? Role::limited
           : choice <= 66 ? Role::limited_too
           : choice <= 72 ? Role::reader
           : choice <= 82 ? Role::toggled
           : choice <= 85 ? Role::expired
           : choice <= 88 ? Role::deleted
           : choice <= 93 ? Role::invented
           : choice <= 96 ? Role::malformed
                          : Role::none;
}

// Allows the statuses that any request may have.
void Requests::allow_common(Ask& ask) const
{
    auto& allowed = ask.statuses;
    allowed.insert(503);
    if (!is_valid(ask.role) || ask.role == Role::toggled) {
        allowed.insert({401, 429});  // 429: enforced address limit
    }
    const bool limited =
        ask.role == Role::limited || ask.role == Role::limited_too;
    if (limited || ask.route->limits) {
        allowed.insert(429);
    }
    if (ask.route->asks_others) {
        // 403: a subrequest that lacks a scope.
        allowed.insert({401, 403, 500});
    }
    if (!world_.honest()) {
        allowed.insert({401, 403, 404, 429, 500});
        // A lie may be a false pet or a false scope of a key.
        allowed.insert(ask.method == "POST" && !ask.name.empty() ? 201 : 200);
    }
}

Ask Requests::any()
{
    Ask ask = untagged();
    // Adds an unknown parameter that identifies the sender in nginx's logs.
    ask.path += (contains(ask.path, "?") ? "&by=" : "?by=") + who_ + "."
                + std::to_string(made_);
    return ask;
}

Ask Requests::untagged()
{
    ++made_;
    if (routes().empty() || (!pages().empty() && random_.chance(12))) {
        return page();
    }
    Ask ask;
    ask.route = &random_.pick(routes());
    ask.role = role();
    const int choice = random_.between(1, 100);
    if (choice <= 34) {
        list(ask);
    } else if (choice <= 60) {
        get(ask);
    } else if (choice <= 90) {
        create(ask);
    } else {
        other(ask);
    }
    allow_common(ask);
    const auto authorization = world_.authorization(ask.role, random_);
    if (!authorization.empty()) {
        ask.headers.emplace_back("Authorization", authorization);
    }
    if (random_.chance(10)) {
        ask.headers.emplace_back("Accept-Encoding", "gzip");
    }
    if (random_.chance(5)) {
        ask.headers.emplace_back("X-Padding", std::string(200, 'p'));
    }
    return ask;
}

Ask Requests::page()
{
    Ask ask;
    ask.path = random_.pick(pages());
    ask.role = role();
    const auto authorization = world_.authorization(ask.role, random_);
    if (!authorization.empty()) {
        ask.headers.emplace_back("Authorization", authorization);
    }
    if (contains(ask.path, "/guarded/other/") && random_.chance(50)) {
        // Twice, not empty: where nginx 1.22 refuses a stream, it takes the
        // empty value of a header for an empty name.
        ask.headers.emplace_back("X-API-Key", "x");
        ask.headers.emplace_back("X-API-Key", "x");
    }
    ask.method = random_.pick({"GET", "GET", "GET", "HEAD", "POST"});
    if (ask.method == "POST") {
        ask.body = random_.chance(50) ? good_body(ask) : bad_body();
        ask.name.clear();
    }
    return ask;
}

void Requests::list(Ask& ask)
{
    ask.path = ask.route->prefix + "/pets";
    ask.method = random_.chance(8) ? "HEAD" : "GET";
    const auto cursor = random_.chance(60) ? world_.cursor(random_) : "";
    if (!cursor.empty()) {
        ask.path += cursor;
        ask.statuses = {200};
        ask.limit = 100;
        return;
    }
    if (random_.chance(12)) {
        ask.path += random_.pick<std::string>(
            {"?limit=0", "?limit=101", "?limit=", "?limit=+5", "?status=lost",
             "?limit=5&limit=5", "?cursor=AXMAAAAA", "?status=%ZZ",
             "?cursor=AXMAAAAAAAAAKuKXxxx", "?limit=99999999999999999999"});
        ask.statuses = {400};
        return;
    }
    // Mostly 100 pets, so that pages span buckets.
    ask.limit = random_.pick({1, 7, 20, 99, 100, 100, 100});
    ask.path += "?limit=" + std::to_string(ask.limit);
    if (random_.chance(40)) {
        ask.status = random_.pick({"available", "pending", "sold"});
        ask.path += "&status=" + ask.status;
    }
    ask.statuses = {200};
}

void Requests::get(Ask& ask)
{
    ask.method = random_.chance(8) ? "HEAD" : "GET";
    std::string id;
    if (random_.chance(80)) {
        ask.id = random_.between(1, World::kPets);
        id = std::to_string(ask.id);
        ask.statuses = {200};
    } else {
        id = random_.pick<std::string>(
            {"0", "-1", "01", "abc", "1.0", "9223372036854775807",
             "9223372036854775808", "999999999", "", "1/", "%31x", "1%20"});
        ask.statuses = {404};
    }
    ask.path = ask.route->prefix + "/pets/" + id;
    if (ask.route->gone) {
        ask.statuses.insert({410, 404});
        ask.statuses.erase(200);
    }
}

// A valid body. The name identifies the sender.
std::string Requests::good_body(Ask& ask)
{
    ask.name = who_ + " " + std::to_string(made_)
               + random_.pick<std::string>(
                   {"", "", "", " é🐈\u200b", " \"\\/", " {\"a\":[1]}",
                    " <!--#include virtual='/v1/pets/9' -->",
                    " <!--#include virtual='/dry/v1/pets' -->",
                    std::string(200, 'n')});
    ask.category = std::to_string(random_.between(-5, 1'000'000));
    std::string body = "{\"name\":" + nlohmann::json(ask.name).dump()
                       + ",\"categoryId\":" + ask.category;
    if (random_.chance(50)) {
        body += std::string(",\"status\":\"")
                + random_.pick({"available", "pending", "sold"}) + "\"";
    }
    if (random_.chance(20)) {
        body += ",\"more\":\""
                + std::string(static_cast<std::size_t>(
                                  random_.pick({1, 200, 3000, 15'000})),
                              'm')
                + "\"";
    }
    return body + "}";
}

std::string Requests::bad_body()
{
    return random_.pick<std::string>(
        {"",
         " ",
         "x",
         "[]",
         "{",
         "null",
         "{}",
         "{\"name\":1}",
         "{\"id\":1,\"name\":\"a\",\"categoryId\":1}",
         "{\"name\":\"\",\"categoryId\":1}",
         "{\"name\":\"a\"}",
         "{\"name\":\"a\",\"categoryId\":1.0}",
         "{\"name\":\"a\",\"categoryId\":1,\"status\":null}",
         "{\"name\":\"a\",\"name\":\"b\",\"categoryId\":1}",
         "{\"name\":\"\xff\",\"categoryId\":1}",
         "\xEF\xBB\xBF{\"name\":\"a\",\"categoryId\":1}",
         std::string("{\"name\":\"a\0\"}", 13),
         repeat("[", 40),
         std::string(17'000, 'x'),
         std::string(60'000, ' '),
         random_.bytes(100)});
}

void Requests::create(Ask& ask)
{
    ask.method = "POST";
    ask.path = ask.route->prefix + "/pets";
    const bool good = random_.chance(65);
    ask.body = good ? good_body(ask) : bad_body();
    if (good) {
        ask.statuses = {201};
    } else {
        ask.statuses = {400, 413};
    }
    if (ask.body->size() > 100 && ask.route->prefix == "/small/v1") {
        ask.statuses = {413};
    }
    if (random_.chance(10)) {
        ask.headers.emplace_back(
            "Content-Type",
            random_.pick({"text/plain", "application/xml", "a"}));
        ask.statuses.insert(415);
        ask.statuses.erase(201);
    } else if (random_.chance(70)) {
        ask.headers.emplace_back("Content-Type", "application/json");
    }
    if (good && random_.chance(30)) {
        // Few keys per client, with bodies that may or may not differ.
        ask.idempotency_key =
            who_ + "-" + std::to_string(random_.between(1, 5));
        ask.headers.emplace_back("Idempotency-Key", ask.idempotency_key);
        ask.statuses.insert(422);
        if (random_.chance(60) && ask.statuses.count(413) == 0) {
            ask.name = ask.idempotency_key;
            ask.category = "1";
            ask.body = "{\"name\":\"" + ask.name + "\",\"categoryId\":1}";
        }
    } else if (random_.chance(2)) {
        ask.headers.emplace_back("Idempotency-Key", "a b");
        ask.statuses.insert(400);
        ask.statuses.erase(201);
    }
    if (ask.role == Role::reader || ask.route->refuses_post) {
        ask.statuses.insert(403);
        ask.statuses.erase(201);
    }
}

void Requests::other(Ask& ask)
{
    switch (random_.between(0, 3)) {
    case 0:
        ask.method = "OPTIONS";
        ask.path = ask.route->prefix + random_.pick({"/pets", "/pets/1", "/x"});
        ask.statuses = {204, 404};
        if (random_.chance(50)) {
            ask.headers.emplace_back(
                "Origin", random_.pick({"https://app.example.com", "null"}));
            ask.headers.emplace_back("Access-Control-Request-Method", "POST");
        }
        break;
    case 1:
        ask.method = random_.pick({"DELETE", "PUT", "PATCH", "PROPFIND"});
        ask.path = ask.route->prefix + random_.pick({"/pets", "/pets/1"});
        if (random_.chance(50)) {
            ask.body = bad_body();
        }
        ask.statuses = {405};
        break;
    case 2:
        ask.method = "POST";
        ask.path = ask.route->prefix + "/pets/1";
        ask.body = bad_body();
        ask.statuses = {405};
        break;
    default:
        ask.path = ask.route->prefix
                   + random_.pick({"/pets/", "/store/orders", "/", "/x%2f"});
        ask.statuses = {404};
    }
    if (ask.route->refuses_post
        || (ask.route->mirrors && ask.role == Role::reader)) {
        ask.statuses.insert(403);
    }
}

// --- what comes back ---------------------------------------------------------

namespace {

bool is_number(const std::string& text)
{
    return !text.empty() && text.size() < 20
           && text.find_first_not_of("0123456789") == std::string::npos;
}

std::string fault_of_pet(const nlohmann::json& pet, World& world)
{
    if (!pet.is_object() || pet.size() != 4 || !pet.contains("id")
        || !pet["id"].is_number_integer() || pet["id"] < 1
        || !pet.contains("name") || !pet["name"].is_string()
        || !pet.contains("categoryId") || !pet["categoryId"].is_number_integer()
        || !pet.contains("status") || !pet["status"].is_string()) {
        return "no Pet: " + excerpt(pet.dump());
    }
    return world.learn_seen(pet["id"], pet["name"]);
}

std::string fault_of_list(const Ask& ask, const Response& response,
                          const nlohmann::json& list, World& world)
{
    if (!list.is_array() || list.size() > static_cast<std::size_t>(ask.limit)) {
        return "no page";
    }
    long long last = 0;
    for (const auto& pet : list) {
        const auto fault = fault_of_pet(pet, world);
        if (!fault.empty()) {
            return fault;
        }
        if (pet["id"] <= last) {
            return "ids do not ascend";
        }
        last = pet["id"];
        if (world.honest() && !ask.status.empty()
            && pet["status"] != ask.status) {
            return "a pet of another status";
        }
    }
    const auto next = next_of(response);
    if (world.honest() && !next.empty() && !contains(ask.path, "cursor")
        && list.size() != static_cast<std::size_t>(ask.limit)) {
        return "a page that is not full goes on";
    }
    if (!next.empty()) {
        // From "…/v1/pets?limit=…&cursor=…": the cursor is valid in any
        // location.
        world.learn_cursor(next.substr(next.find('?')));
    }
    return "";
}

std::string fault_of_error(const Response& response,
                           const nlohmann::json& error)
{
    if (!error.is_object() || error.size() != 3 || !error.contains("code")
        || !error["code"].is_string() || error["code"] == ""
        || !error.contains("message") || !error["message"].is_string()
        || !error.contains("status") || error["status"] != response.status) {
        return "no Error";
    }
    return "";
}

std::string fault_of_body(const Ask& ask, const Response& response,
                          World& world)
{
    if (response.header("content-type") != "application/json") {
        return "not application/json";
    }
    if (ask.method == "HEAD" || response.has("content-encoding")) {
        return "";
    }
    const auto json = response.json();
    if (response.status >= 400) {
        return fault_of_error(response, json);
    }
    if (ask.limit != 0) {
        return fault_of_list(ask, response, json, world);
    }
    auto fault = fault_of_pet(json, world);
    if (!fault.empty() || response.status == 200) {
        return !fault.empty() || ask.id == 0 || json["id"] == ask.id
                   ? fault
                   : "the answer to another request";
    }
    if (json["name"] != ask.name || json["categoryId"].dump() != ask.category) {
        return "another pet than the one that was sent";
    }
    // Idempotency-Keys belong to the account.
    const auto scoped = ask.idempotency_key.empty()
                            ? ""
                            : world.key(ask.role).account + ask.idempotency_key;
    return world.learn_created(json["id"], ask.name, scoped);
}

std::string fault_of_headers(const Ask& ask, const Response& response)
{
    for (const char* name :
         {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}) {
        const auto all = response.all(name);
        if (all.size() != 1 || !is_number(all.front())) {
            return std::to_string(all.size()) + " × " + name + ": "
                   + response.header(name);
        }
    }
    if (response.all("cache-control").size() != 1) {
        return "no Cache-Control, or more than one";
    }
    if (response.all("content-type").size() > 1) {
        return "two content types";
    }
    if (response.status == 401 && !ask.route->asks_others
        && response.all("www-authenticate").size() != 1) {
        return "401 without WWW-Authenticate, or more than one";
    }
    const bool waits = response.status == 503
                       || (response.status == 429 && !ask.route->limits);
    if (waits && !is_number(response.header("retry-after"))) {
        return "no Retry-After";
    }
    return "";
}

}  // namespace

std::string fault_of(const Ask& ask, const Response& response, World& world)
{
    for (const auto& secret : secrets()) {
        if (contains(response.body, secret)) {
            return "it holds a secret";
        }
    }
    world.journal.count(std::to_string(response.status));
    if (contains(response.body, "/handler/admitted/")) {
        world.journal.count("behind a guard");
        if (world.honest() && !is_valid(ask.role)) {
            return "it is from behind a guard";
        }
        world.learn_admitted(ask.role);
    }
    if (ask.route == nullptr || ask.route->answers != Route::service) {
        return "";
    }
    if (!ask.statuses.empty() && ask.statuses.count(response.status) == 0) {
        return "an unexpected status";
    }
    auto fault = fault_of_headers(ask, response);
    if (fault.empty() && response.status != 204) {
        fault = fault_of_body(ask, response, world);
    }
    if (fault.empty() && !ask.route->dry_run
        && (response.status == 200 || response.status == 201)) {
        world.learn_admitted(ask.role);
    }
    return fault;
}

}  // namespace petstore::e2e
