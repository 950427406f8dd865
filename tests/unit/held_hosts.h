#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "admin_calls.h"
#include "api/text.h"
#include "key_world.h"

// Hosts that answer requests to the admin API with one Redis, and can be held
// at any command.

// Passes commands on until one is to be held, with all after it.
class HeldLink final : public petstore::redis::Link {
public:
    static constexpr int kNever = 1'000'000;

    explicit HeldLink(KeyWorld& world) noexcept : world_(world) {}

    void send(const petstore::redis::Command& command,
              petstore::redis::ReplyHandler& handler) noexcept override
    {
        if (++number_ >= hold_at_) {
            held_.emplace_back(command, &handler);
        } else {
            world_.send(command, handler);
        }
    }
    std::uint64_t
    connection_generation(std::string_view /*key*/) const noexcept override
    {
        return 1;
    }

    void hold_at(int number) { hold_at_ = number; }
    bool is_held() const { return !held_.empty(); }
    // Until after so many more commands.
    void release(int more = kNever)
    {
        hold_at_ = number_ + more;
        for (const auto& [command, handler] : std::exchange(held_, {})) {
            world_.send(command, *handler);
        }
    }

private:
    KeyWorld& world_;
    int number_ = 0;
    int hold_at_ = kNever;
    std::vector<
        std::pair<petstore::redis::Command, petstore::redis::ReplyHandler*>>
        held_;
};

struct Host {
    explicit Host(KeyWorld& world) : redis(world), link(world) {}

    void start(petstore::service::AdminCall call)
    {
        petstore::service::answer(std::move(call), admin, running, result);
    }

    // Until it has answered or is held.
    void run()
    {
        for (int pauses = 0; pauses < 200; ++pauses) {
            redis.run();
            if (result.calls > 0 || link.is_held()) {
                return;
            }
            alarm.wait(petstore::service::Pauses::kMilliseconds);
            ++redis.time;  // attempts differ in their times
        }
        FAIL("no answer");
    }

    KeyWorld& redis;
    HeldLink link;
    FakeAlarm alarm;
    AlarmClock clock{alarm};
    petstore::service::AdminStore admin{
        redis.schema,
        {link, link, redis.schema},
        clock,
        petstore::service::Pauses(alarm),
        petstore::service::ListSemaphore(alarm)};
    petstore::store::Operations running;
    Result<petstore::service::AdminResponse> result;
};

inline nlohmann::json ask(KeyWorld& world,
                          const petstore::service::AdminCall& call)
{
    Host host(world);
    host.start(call);
    host.run();
    if (host.result.failed()) {
        FAIL(host.result.message());
    }
    return nlohmann::json::parse(host.result.value().body);
}

inline std::vector<KeyWorld::Hash> records(const KeyWorld& world,
                                           const std::string& prefix)
{
    std::vector<KeyWorld::Hash> found;
    for (const auto& [name, fields] : world.hashes) {
        if (name.starts_with(prefix) && fields.count("unfinished") == 0
            && fields.count("deleted") == 0) {
            found.push_back(fields);
        }
    }
    return found;
}

// The record that the index has for an id.
inline KeyWorld::Hash key_record(KeyWorld& world, const std::string& id)
{
    const auto& index = world.hashes["P:keys"];
    const auto found = index.find(id);
    REQUIRE(found != index.end());
    const auto record = world.hashes["P:key:" + found->second];
    CHECK(record.at("id") == id);
    CHECK(record.at("disabled") == "0");
    CHECK(record.count("unfinished") == 0);
    const auto& ids = world.sets["P:account-keys:" + record.at("account")];
    CHECK(ids.count(id) == 1);
    return record;
}
