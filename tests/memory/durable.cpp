// Whichever allocation fails, a durable write gets exactly one result: its
// reply if it was confirmed, else a failure. The next write is served.
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "ready.h"
#include "redis/durable_link.h"
#include "shortage.h"
#include "wire.h"

using namespace petstore;
using redis::NoReply;

namespace {

struct Alarm final : redis::Alarm {
    std::uint64_t now() const noexcept override { return 1000; }
    void set(User&, std::uint64_t) noexcept override { on = true; }
    void stop() noexcept override { on = false; }
    bool on = false;
};

struct Owner final : redis::DurableLink::Owner {
    void unsupported(const char*, const redis::Reply&) noexcept override
    {
        ++reports;
    }
    void supported_again() noexcept override { ++reports; }
    void not_reached(std::size_t) noexcept override { ++reports; }
    void queue_full() noexcept override { ++reports; }
    int reports = 0;
};

struct Handler final : redis::ReplyHandler {
    void on_reply(const redis::Reply& reply) noexcept override
    {
        ++calls;
        id = reply[0].integer();
    }
    void on_no_reply(NoReply cause) noexcept override
    {
        ++calls;
        lost = cause;
    }
    int calls = 0;
    std::int64_t id = 0;
    std::optional<NoReply> lost;
};

struct DurableWrites {
    void pump()
    {
        wire.end_iteration();
        while (wire.waits()) {
            const auto sent = wire.take();
            if (sent.is("WAIT")) {
                sent.handler->on_reply(enough);
            } else if (sent.is("WAITAOF")) {
                sent.handler->on_reply(on_disk);
            } else {
                sent.handler->on_reply(created);
            }
            wire.end_iteration();
        }
    }

    void act()
    {
        for (Handler& handler : handlers) {
            link.send(command, handler);
        }
        pump();
    }

    void check(bool thrown)
    {
        CHECK_FALSE(thrown);
        for (const Handler& handler : handlers) {
            CHECK(handler.calls == 1);
            CHECK((handler.id == 7 || (Shortage::came() && handler.lost)));
        }
        CHECK_FALSE(alarm.on);
        CHECK(owner.reports == 0);
        Handler next;
        link.send(command, next);
        pump();
        CHECK(next.id == 7);
        CHECK(next.calls == 1);
    }

    const Ready created{
        array({integer(7), integer(0), bulk("a text that needs memory")})};
    const Ready enough{integer(1)};
    const Ready on_disk{array({integer(1), integer(0)})};
    const std::string name = "a name that needs memory";
    const redis::Command command = redis::Command("X").arg(name);
    Wire wire;
    Alarm alarm;
    Owner owner;
    redis::DurableLink link{wire, wire, alarm, owner, {1, true}, 500};
    std::array<Handler, 2> handlers;
};

}  // namespace

TEST_CASE("durable writes")
{
    fail_each_allocation<DurableWrites>();
}
