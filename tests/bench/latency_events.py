"""Latency in the seconds after an event, compared with equal windows without one, for
this module in a production-like deployment and for nginx's floor."""

import os
import random
import signal
import time
from dataclasses import dataclass

from bench import say
from cases import Load
from contenders import FLOOR_CONF, FLOOR_VALUES, Floor, Petstore
from data import Keys
from deployment import Deployment, wait_for
from latency_load import Sample, get
from load import Meter, check
from results import Row
from servers import BenchError, children_of, start_nginx_master

REQUESTS = 20_000  # distinct
PETS = 10_000  # the pets that are requested
RARE = 100  # one pet in this many is pending
LEAD = 1  # minimum seconds of load before a window
WARM_UP = 4  # seconds
# Seconds by which a busy machine may delay an event after the start of its window.
LATE = 0.1
KEEPALIVE_REQUESTS = 1000  # nginx's default


class ReloadableFloor(Floor):
    def __init__(self, stack, folder):
        folder.mkdir()
        values = {**FLOOR_VALUES, "KEEPALIVE_REQUESTS": KEEPALIVE_REQUESTS}
        self.port, self.master = start_nginx_master(stack, folder, FLOOR_CONF, values)

    @property
    def pids(self):
        return [self.master.pid, *self.nginx_workers()]

    def nginx_workers(self):
        return set(children_of(self.master.pid))

    def reload(self):
        os.kill(self.master.pid, signal.SIGHUP)


class Event:
    """What happens at the start of a window of `seconds`. The base class does
    nothing."""

    what = "no event"

    def __init__(self, target, seconds, load=""):
        self.target = target
        self.seconds = seconds
        self.load = load or target.name

    @property
    def name(self):
        return self.what if self.load == self.target.name else f"{self.what}, {self.load}"

    def prepare(self):
        pass

    def begin(self):
        pass

    def finish(self):
        """After the window; returns facts for the JSON."""
        return {}


class Reload(Event):
    what = "nginx reload"

    def prepare(self):
        self.old = self.target.nginx_workers()

    def begin(self):
        self.target.reload()

    def finish(self):
        wait_for(lambda: not self.target.nginx_workers() & self.old, "end of old workers")
        return {}


class Save(Event):
    what = "BGSAVE"

    def begin(self):
        reply = self.target.primary.ask("BGSAVE")
        if "started" not in reply:
            raise BenchError(f"BGSAVE: {reply}")

    def finish(self):
        def ended():
            return "rdb_bgsave_in_progress:0" in primary.ask("INFO", "persistence")

        primary = self.target.primary
        wait_for(ended, "BGSAVE")
        if primary.info("persistence")["rdb_last_bgsave_status"] != "ok":
            raise BenchError("BGSAVE failed")
        return {"fork_ms": int(primary.info("stats")["latest_fork_usec"]) / 1000}


class Failover(Event):
    what = "failover"

    def begin(self):
        began = time.monotonic()
        self.target.kill_primary()
        self.announced = time.monotonic() - began

    def finish(self):
        target = self.target
        target.replica.start()
        wait_for(target.replica.answers, "the restarted Redis")
        target.attach_replica()
        no_rewrite(target.replica)
        wait_for(
            lambda: all(sentinel.sees_replica() for sentinel in target.sentinels),
            "the replica's return",
        )
        return {"announced_s": self.announced}


def no_rewrite(redis):
    """Disables append-only file rewrites, which would be events too."""
    redis.call("config", "set", "auto-aof-rewrite-percentage", 0)


@dataclass(frozen=True)
class Cell:
    event: str
    seconds: int


@dataclass(frozen=True)
class EventSample(Sample):
    failed_until: float = 0  # seconds from the start of the window
    facts: dict = None


class Events:
    def __init__(self, stack, folder, build, plan, generator):
        self.plan = plan
        self.generator = generator
        keys = Keys.make(plan.event_keys, 0)
        say(f"Starting servers with Sentinels and {plan.event_pets:,} pets")
        self.floor = ReloadableFloor(stack, folder / "floor")
        self.deployment = Deployment(
            stack, folder, build, plan.event_pets, RARE, keys, workers=1
        )
        for server in self.deployment.servers:
            no_rewrite(server)
        for target in (self.floor, self.deployment):
            check(target, Load("/v1/pets/1", keys.good[0]), 200)
        source = random.Random(5)
        pets = source.sample(range(1, plan.event_pets + 1), min(PETS, plan.event_pets))
        self.requests = {
            Floor.name: [get("/v1/pets/1", keys.good[0])],
            Petstore.name: [
                get(f"/v1/pets/{source.choice(pets)}", source.choice(keys.good[: plan.keys]))
                for _ in range(REQUESTS)
            ],
        }
        # No key comes twice in a window, so that a new worker has to look up each.
        every = f"{plan.event_keys:,} keys in turn"
        self.requests[every] = [
            get(f"/v1/pets/{source.choice(pets)}", key) for key in keys.good
        ]
        short, long = plan.event_seconds, plan.failover_seconds
        # As long as there are keys.
        keys_in_turn = max(short, plan.event_keys // plan.event_rate - LEAD - 1)
        self.events = [
            Event(self.floor, short),
            Event(self.deployment, short),
            Reload(self.floor, short),
            Reload(self.deployment, short),
            Event(self.deployment, keys_in_turn, every),
            Reload(self.deployment, keys_in_turn, every),
            Save(self.deployment, short),
            Event(self.deployment, long),
            Failover(self.deployment, long),
        ]

    def run(self):
        for target in (self.floor, self.deployment):
            self._start(target, target.name, WARM_UP).wait()
        rows = [
            Row(Cell(event.name, event.seconds), event.target.name, [])
            for event in self.events
        ]
        for number in range(1, self.plan.event_rounds + 1):
            for event, row in zip(self.events, rows):
                row.samples.append(self._measure(event))
            say(f"Round {number} of {self.plan.event_rounds} with events: done")
        return rows

    def _start(self, target, load, seconds):
        return self.generator.start(
            target.port, f"{load.replace(' ', '-')}-event", self.requests[load],
            self.plan.event_rate, seconds,
        )  # fmt: skip

    def _measure(self, event):
        event.prepare()
        meter = Meter(event.target)
        paced = self._start(event.target, event.load, LEAD + 1 + event.seconds)
        # The generator's buckets are seconds of the wall clock.
        time.sleep(LEAD + 1 - time.time() % 1)
        began = time.time()
        event.begin()
        outcome = paced.wait()
        foreign = meter.share()
        first = int(began)
        if began - first > LATE:
            raise BenchError("the machine is too busy: an event came late")
        window = range(first, first + event.seconds)
        failed = [one.done for one in outcome.unexpected if one.sent >= began]
        return EventSample(
            **vars(Sample.of(outcome, window, foreign)),
            failed_until=max(failed, default=began) - began,
            facts=event.finish(),
        )
