"""Measures latency at fixed rates, compared with the peers, and during a reload, a
BGSAVE and a failover. Run by scripts/bench --latency."""

import argparse
import dataclasses
import datetime
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import latency_report
from bench import PAGE, PEERS_EVERY, ROOT, say
from cases import Load
from contenders import CONTENDERS, Floor, Petstore
from data import Keys
from fixed_rate import create
from latency_events import Events
from latency_load import Generator, Sample, get
from load import Meter, check
from machine import describe_machine, describe_versions
from results import Row
from servers import HERE, BenchError, add_script_options, exit_on_signals

WARM_UP = 0.3  # seconds at the start of a measurement that do not count
# Lets JIT compilers and caches warm up before the first round.
FIRST_WARM_UP = 1
RARE = 100  # one pet in this many is pending
# Results with a larger share are not published.
FOREIGN_LIMIT = 0.05


@dataclass(frozen=True)
class Plan:
    rates: tuple
    rounds: int
    seconds: float
    pets: int
    keys: int
    event_rate: int
    event_rounds: int
    event_pets: int
    event_keys: int
    event_seconds: int  # windows of a reload and a BGSAVE
    failover_seconds: int


FULL = Plan((2_000, 8_000), 15, 2, 100_000, 1_000, 8_000, 3, 1_000_000, 100_000, 3, 7)
QUICK = Plan((8_000,), 1, 1, 10_000, 1_000, 8_000, 1, 100_000, 20_000, 2, 6)


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    requests: Callable
    path: str = "/v1/pets/1"
    status: int = 200
    rows: int = 0


@dataclass(frozen=True)
class Cell:
    """One line of a table, without the contender."""

    case: Case
    rate: int


FLOOR = Case("floor", "nginx, return 200", lambda keys: [get("/v1/pets/1", keys.good[0])])
# The cost of a second process, whatever it does: the module's nginx as a plain proxy.
HOP = Case(
    "hop", "proxy_pass to it", lambda keys: [get("/proxied", keys.good[0])], "/proxied"
)
CASES = (
    Case("get", "get", FLOOR.requests),
    Case(
        "list-20", "list of 20", lambda keys: [get("/v1/pets", keys.good[0])],
        "/v1/pets", rows=20,
    ),
    Case(
        "keys", "get, 1,000 keys in turn",
        lambda keys: [get("/v1/pets/1", key) for key in keys.good],
    ),
    # Last, because it makes the catalogue grow.
    Case("create", "create", lambda keys: [create(keys.good[0])], "/v1/pets", 201),
)  # fmt: skip


class Servers:
    """The processes of a contender, which do not count as other load on the machine."""

    def __init__(self, contender):
        self.pids = list(contender.pids)
        if contender.redis:
            self.pids += [*contender.redis.pids, *contender.back_end_pids]


@dataclass(frozen=True)
class Entry:
    cell: Cell
    contender: object
    servers: Servers
    requests: list
    samples: list = dataclasses.field(default_factory=list)


def measures(case, contender):
    if case is HOP:
        return contender.name == Petstore.name
    return (case is FLOOR) == isinstance(contender, Floor)


class Rates:
    """Measures all contenders at all rates, in turn."""

    def __init__(self, stack, folder, build, plan, generator):
        self.plan = plan
        self.generator = generator
        keys = Keys.make(plan.keys, 0)
        say(f"Starting servers with {plan.pets:,} pets")
        contenders = [Floor(stack, folder / "floor")]
        for kind in CONTENDERS:
            contenders.append(
                kind(stack, folder / kind.name, build, plan.pets, RARE, keys)
            )
        self.entries = [
            Entry(Cell(case, rate), contender, Servers(contender), case.requests(keys))
            for rate in plan.rates
            for case in (FLOOR, HOP, *CASES)
            for contender in contenders
            if measures(case, contender)
        ]
        for entry in self.entries:
            case = entry.cell.case
            load = Load(case.path, keys.good[0], rows=case.rows)
            check(entry.contender, load, case.status)

    def run(self):
        for entry in self.entries:
            if entry.cell.rate == self.plan.rates[0]:
                self._start(entry, 0, FIRST_WARM_UP).wait()
        began = time.monotonic()
        for number in range(1, self.plan.rounds + 1):
            for entry in self.entries:
                if number % PEERS_EVERY == 1 or not entry.contender.is_peer:
                    entry.samples.append(self._measure(entry))
            took = time.monotonic() - began
            say(f"Round {number} of {self.plan.rounds}: done after {took:.0f} s")
        return [Row(e.cell, e.contender.name, e.samples) for e in self.entries]

    def _start(self, entry, rate, seconds, warm_up=0):
        name = entry.cell.case.name
        port = entry.contender.port
        return self.generator.start(port, name, entry.requests, rate, seconds, warm_up)

    def _measure(self, entry):
        meter = Meter(entry.servers)
        seconds = WARM_UP + self.plan.seconds
        outcome = self._start(entry, entry.cell.rate, seconds, WARM_UP).wait()
        counted = outcome.latencies.keys() | outcome.failed.keys()
        return Sample.of(outcome, counted, meter.share())


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/bench --latency",
        description="Measures p50, p99 and p99.9 at fixed rates, of this module, of two"
        " peers and of nginx itself, and of this module during a reload, a BGSAVE and a"
        " failover.",
        epilog="A full run on a quiet machine writes latency.json, latency.svg and a"
        " section of README.md in docs/performance; any other run writes them to"
        " bench/latency in the folder of builds.",
    )
    parser.add_argument("--quick", action="store_true", help="small and short: a trial")
    parser.add_argument(
        "--rate", type=int, action="append", metavar="N",
        help="requests per second; may be repeated, default: 2000 and 8000",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="default: 15, and 3 of each event"
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="per measurement, default: 2"
    )
    parser.add_argument(
        "--only", choices=("rates", "events"), help="one half: the contenders, or events"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to write instead")
    add_script_options(parser)
    options = parser.parse_args()
    if options.rounds is not None and not 1 <= options.rounds <= 100:
        parser.error("--rounds must be from 1 to 100")
    if options.seconds is not None and not 0.5 <= options.seconds <= 60:
        parser.error("--seconds must be from 0.5 to 60")
    if not all(100 <= rate <= 1_000_000 for rate in options.rate or ()):
        parser.error("--rate must be from 100 to 1000000")
    options.build = options.build.resolve()
    return options


def plan_of(options):
    changes = {
        "rates": options.rate and tuple(dict.fromkeys(options.rate)),
        "rounds": options.rounds,
        "event_rounds": options.rounds,
        "seconds": options.seconds,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    return dataclasses.replace(QUICK if options.quick else FULL, **changes)


def measure(options, plan, folder):
    """Returns rows at fixed rates and rows of events. The servers of the former are
    stopped before those of the latter start."""
    generator = Generator(options.build / "bench/paced", folder)
    rows, events = [], []
    if options.only != "events":
        with ExitStack() as stack:
            rows = Rates(stack, folder, options.build, plan, generator).run()
    if options.only != "rates":
        with ExitStack() as stack:
            home = folder / "events"
            home.mkdir()
            events = Events(stack, home, options.build, plan, generator).run()
    return rows, events


def main():
    options = parse_arguments()
    if options.check:
        return
    exit_on_signals()
    plan = plan_of(options)
    # Not below build/: a unix socket's path is limited to 107 bytes.
    with tempfile.TemporaryDirectory(prefix="petstore-bench-") as folder:
        rows, events = measure(options, plan, Path(folder))
    shares = [sample.foreign for row in (*rows, *events) for sample in row.samples]
    document = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["scripts/bench --latency", *sys.argv[3:]]),
        "machine": describe_machine(),
        "versions": describe_versions(ROOT, HERE / "peers/node/package-lock.json"),
        "plan": dataclasses.asdict(plan),
        "foreign": sum(shares) / len(shares),
    }
    print(latency_report.in_markdown(document, rows, events))
    quiet = document["foreign"] <= FOREIGN_LIMIT
    everything = plan == FULL and not options.only
    usual = PAGE.parent if everything and quiet else options.build / "bench/latency"
    output = options.output or usual
    latency_report.write(output, PAGE, document, rows, events)
    say(f"Wrote {output}")
    if not quiet:
        problem = f"the machine was not quiet: {document['foreign']:.0%} of its CPU time"
        problem += " went to other processes. Don't trust these figures."
        if everything and not options.output:
            raise BenchError(problem + " They were not published.")
        say(f"bench: {problem}")


if __name__ == "__main__":
    try:
        main()
    except BenchError as problem:
        sys.exit(f"bench: {problem}")
