#include "world.h"

namespace petstore::e2e {

namespace {

Key rotated(const RedisServer& redis, const Key& key)
{
    const auto result =
        ctl(redis.url(), {"key", "rotate", key.id, "--grace", "24h", "--json"});
    const auto json = nlohmann::json::parse(result.out, nullptr, false);
    if (result.code != 0 || !json.is_object()) {
        throw HarnessError("petstorectl: " + result.err);
    }
    remember_secret(json.at("key"));
    return {json.at("key"), json.at("id"), json.at("account")};
}

void must(const Output& result)
{
    if (result.code != 0) {
        throw HarnessError("petstorectl: " + result.err);
    }
}

}  // namespace

World::World(const RedisServer& redis, Journal& shared) : journal(shared)
{
    const auto minute = std::to_string(kPerMinute);
    const auto less = std::to_string(kPerMinute / 2);
    keys_[Role::good] = create_key(redis);
    keys_[Role::limited] =
        create_key(redis, {"--plan", "enterprise", "--per-minute", minute,
                           "--per-day", "100000"});
    keys_[Role::limited_too] = rotated(redis, keys_[Role::limited]);
    must(ctl(redis.url(), {"key", "set", keys_[Role::limited_too].id,
                           "--per-minute", less}));
    // Rotation makes the old key expire: this one must outlive the run.
    must(ctl(redis.url(),
             {"key", "set", keys_[Role::limited].id, "--expires", "none"}));
    keys_[Role::reader] =
        create_key(redis, {"--plan", "enterprise", "--per-minute", "1000000",
                           "--per-day", "1000000", "--scopes", "read"});
    keys_[Role::toggled] = create_key(redis);
    keys_[Role::expired] = create_key(
        redis, {"--plan", "pro", "--expires", "2024-02-29T12:00:00Z"});
    keys_[Role::deleted] = create_key(redis);
    must(ctl(redis.url(), {"key", "delete", keys_[Role::deleted].id}));
    import_pets(redis, kPets);

    auto client = redis.client();
    for (const auto& name : client.command({"KEYS", "*"}).items) {
        dump_.emplace_back(name.text, client.command({"DUMP", name.text}).text);
    }
}

std::string World::authorization(Role role, Random& random) const
{
    const auto found = keys_.find(role);
    if (found != keys_.end()) {
        return random.pick({"Bearer ", "Bearer ", "bearer ", "BEARER   "})
               + found->second.secret;
    }
    switch (role) {
    case Role::none:
        return "";
    case Role::invented:
        return "Bearer invented-" + std::to_string(random.next() % 100'000);
    default:
        return random.pick<std::string>(
            {"Bearer", "Bearer ", "Basic YTpi", "Bearer petstore_short",
             "Bearer " + std::string(600, 'k'),
             "Bearer petstore_" + std::string(49, '0'), "Bearer a b",
             "Bearer \xff\xfe", "Bearer\tx"});
    }
}

void World::restore(const RedisServer& redis) const
{
    auto client = redis.client();
    client.command({"CONFIG", "SET", "maxmemory", "0"});
    client.command({"REPLICAOF", "NO", "ONE"});
    client.command({"FLUSHALL"});
    for (const auto& [name, value] : dump_) {
        client.command({"RESTORE", name, "0", value, "REPLACE"});
    }
}

void World::begin_round(bool honest)
{
    const std::lock_guard lock(mutex_);
    honest_ = honest;
    created_.clear();
    idempotent_.clear();
    admitted_ = 0;
}

std::string World::learn_created(long long id, const std::string& name,
                                 const std::string& idempotency_key)
{
    const std::lock_guard lock(mutex_);
    if (!honest_) {
        return "";
    }
    if (!idempotency_key.empty()) {
        const auto [known, fresh] = idempotent_.emplace(idempotency_key, id);
        if (!fresh) {
            return known->second == id ? ""
                                       : "one Idempotency-Key made the pets "
                                             + std::to_string(known->second)
                                             + " and " + std::to_string(id);
        }
    }
    if (id <= kPets || !created_.emplace(id, name).second) {
        return "the id " + std::to_string(id) + " was given twice";
    }
    return "";
}

std::string World::learn_seen(long long id, const std::string& name)
{
    const std::lock_guard lock(mutex_);
    if (!honest_) {
        return "";
    }
    const auto found = created_.find(id);
    const auto expected = id <= kPets ? "pet " + std::to_string(id)
                          : found != created_.end() ? found->second
                                                    : name;
    return name == expected
               ? ""
               : "pet " + std::to_string(id) + " is called " + excerpt(name)
                     + ", not " + excerpt(expected);
}

void World::learn_admitted(Role role)
{
    if (role == Role::limited || role == Role::limited_too) {
        const std::lock_guard lock(mutex_);
        ++admitted_;
    }
}

void World::learn_cursor(const std::string& cursor)
{
    const std::lock_guard lock(mutex_);
    if (cursors_.size() < 500) {
        cursors_.push_back(cursor);
    }
}

std::string World::cursor(Random& random) const
{
    const std::lock_guard lock(mutex_);
    return cursors_.empty() ? "" : random.pick(cursors_);
}

std::map<long long, std::string> World::created() const
{
    const std::lock_guard lock(mutex_);
    return created_;
}

long long World::admitted() const
{
    const std::lock_guard lock(mutex_);
    return admitted_;
}

}  // namespace petstore::e2e
