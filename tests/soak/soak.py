"""Runs nginx and Redis for a long time under load, with reloads and outages. Run by
scripts/soak."""

import argparse
import dataclasses
import datetime
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import soak_report
from access_log import AccessLog
from admin_traffic import AdminTraffic
from bench import PAGE, say
from cases import Load
from data import Keys
from deployment import wait_for
from events import Events, schedule
from load import Meter, check
from machine import describe_machine, describe_versions
from paced import Outcome, Paced, merged, write_requests
from plan_changes import PlanChanges
from servers import HERE as BENCH
from servers import BenchError, add_script_options, exit_on_signals
from store import Store
from traffic import Traffic
from verdict import Audit, Verdict
from watch import SECONDS as WATCH_SECONDS
from watch import Watch

ROOT = BENCH.parent.parent
MINUTES = 60
CLUSTER_MINUTES = 20
PETS = 20_000
RARE = 1_000
KEYS = 1_900  # each with an account
CUSTOMERS, KEYS_OF_CUSTOMER = 50, 2
GUESSES = 200
CONNECTIONS = 256
SATURATION_CONNECTIONS = 64
SATURATION_SECONDS = 5
SATURATION_ROUNDS = 3
# Offset between the request numbers of the parts of the test, which keeps them
# distinct.
PART = 10**9


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/soak",
        description="Runs nginx and Redis at half of saturation, with a reload per"
        " minute, a restart of Redis, failovers, changes of a plan and an admin client,"
        " and fails if memory or descriptors grow, if a request or a pet is lost that"
        " should not be, or if the usage is not what was admitted.",
        epilog="A run of the default length writes soak.json, soak.svg and a section of"
        " README.md in docs/performance; a shorter one writes them to soak/ in the"
        " folder of builds.",
    )
    parser.add_argument(
        "minutes", nargs="?", type=float,
        help=f"5 or more, default: {MINUTES}, with --cluster {CLUSTER_MINUTES}",
    )  # fmt: skip
    parser.add_argument(
        "--cluster", action="store_true",
        help="keep counters and bans in a Cluster, which fails over, too",
    )  # fmt: skip
    parser.add_argument("--workers", type=int, default=4, metavar="N", help="default: 4")
    parser.add_argument(
        "--rate", type=float, metavar="N",
        help="requests per second, default: half of what is measured",
    )  # fmt: skip
    parser.add_argument(
        "--reload", type=float, default=60, metavar="S",
        help="seconds between reloads, 0 for none; default: 60",
    )  # fmt: skip
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to write instead")
    add_script_options(parser)
    options = parser.parse_args()
    options.usual_minutes = CLUSTER_MINUTES if options.cluster else MINUTES
    options.minutes = options.minutes or options.usual_minutes
    if not 5 <= options.minutes <= 24 * 60:
        parser.error("the minutes must be from 5 to 1440")
    if options.reload and options.reload < 20:
        parser.error("--reload must be 20 or more")
    options.build = options.build.resolve()
    return options


def today():
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def make_keys():
    """Keys with an account each, and the keys of each customer."""
    step = KEYS_OF_CUSTOMER
    keys = Keys.make(KEYS + CUSTOMERS * step, GUESSES)
    own, others = keys.good[:KEYS], keys.good[KEYS:]
    customers = [others[i : i + step] for i in range(0, len(others), step)]
    return dataclasses.replace(keys, good=own), customers


@dataclass
class Run:
    """Everything observed in a run."""

    folder: Path
    workers: int
    saturation: float
    rate: float
    expected: list  # the requests
    began: float = 0
    ended: float = 0
    events: Events = None
    watch: Watch = None
    admin: AdminTraffic = None
    plans: PlanChanges = None
    access_log: AccessLog = None
    audits: list = dataclasses.field(default_factory=list)
    parts: list = None  # outcomes between audits, and all of them as one:
    outcome: Outcome = None
    created: list = None
    export: str = ""
    exit_code: int = None
    left: int = 0
    foreign: float = 0

    @property
    def longest_pause(self):
        """The longest delay of the sampling thread, which is late if the machine is
        busy."""
        times = [sample.time for sample in self.watch.samples]
        return max(b - a for a, b in zip(times, times[1:])) - WATCH_SECONDS


class Soak:
    def __init__(self, stack, folder, options):
        self.options = options
        self.folder = folder
        self.program = options.build / "bench/paced"
        keys, customers = make_keys()
        say(f"Starting servers with {PETS:,} pets and {KEYS + len(customers):,} accounts")
        self.first_day = today()
        self.deployment = Store(
            stack, folder, options.build, PETS, RARE, keys, customers, options
        )
        # Uses the only request of the key that is to be denied.
        check(self.deployment, Load("/v1/pets/1", keys.denied), 429)
        self.requests = Traffic(self.deployment.port, keys, customers).requests()
        write_requests(folder / "requests", self.requests)
        self.parts = []

    def paced(self, rate, seconds, connections):
        part = len(self.parts) + 1
        self.parts.append(None)
        return Paced(
            self.program, self.deployment.port, self.folder / "requests",
            self.folder / f"outcome-{part}", rate, seconds,
            connections=connections, first_number=part * PART,
        )  # fmt: skip

    def finish(self, paced):
        outcome = paced.wait()
        self.parts[-1] = outcome
        return outcome

    def saturation(self):
        rates = []
        for number in range(SATURATION_ROUNDS + 1):
            outcome = self.finish(
                self.paced(0, SATURATION_SECONDS, SATURATION_CONNECTIONS)
            )
            if outcome.unexpected:
                one = outcome.unexpected[0]
                raise BenchError(f"{one.kind}: {one.status} before anything happened")
            if number:  # the first round is a warm-up
                rates.append(outcome.rate)
        return statistics.median(rates)

    def run(self):
        options = self.options
        seconds = options.minutes * 60
        saturation = self.saturation()
        rate = options.rate or round(saturation / 2, -2)
        say(f"Saturation: {saturation:,.0f} requests per second; now {rate:,.0f}")
        run = Run(self.folder, options.workers, saturation, rate, self.requests)
        steps = schedule(self.deployment, seconds, lambda: self._audit_in_pause(run))
        run.events = Events(self.deployment, options.reload, steps, say)
        run.watch = Watch(self.deployment)
        run.admin = AdminTraffic(self.deployment)
        run.plans = PlanChanges(self.deployment)
        run.access_log = self.deployment.access_log
        meter = Meter(self.deployment)
        self._audit(run)
        first_part = len(self.parts)
        run.began = time.time()
        self.load_ends = run.began + seconds
        self._start_load(run)
        with run.watch, run.events, run.admin, run.plans:
            self._follow(run)
        run.ended = time.time()
        self.finish(self.load)
        self._raise_problem(run)
        run.parts = self.parts[first_part:]
        run.outcome = merged(run.parts)
        run.foreign = meter.share()
        run.created = [pet for part in self.parts for pet in part.created]
        run.export = self.deployment.export()
        run.exit_code = self.deployment.stop_nginx()
        self._audit(run)
        workers = set().union(*(g.workers for g in run.events.generations))
        run.left = sum(Path(f"/proc/{pid}").exists() for pid in workers)
        return run

    def _start_load(self, run):
        seconds = max(1, self.load_ends - time.time())
        self.load = self.paced(run.rate, seconds, CONNECTIONS)

    def _audit_in_pause(self, run):
        """Nothing is counted while the usage is read."""
        with run.admin.turn, run.plans.turn:
            self.load.end()
            self.finish(self.load)
            self._audit(run)
            self._start_load(run)

    def _audit(self, run):
        log = run.access_log
        now = time.monotonic()
        wait_for(lambda: log.is_complete(now), "the access log")
        ledger, accounts = self.deployment.ledger(self.first_day, today())
        run.audits.append(
            Audit(time.time(), ledger, accounts, log.admitted, log.in_doubt)
        )

    @staticmethod
    def _raise_problem(run):
        for thread in (run.events, run.admin, run.plans):
            if thread.problem:
                raise thread.problem

    def _follow(self, run):
        said = 0
        while time.time() < self.load_ends or self.load.process.poll() is None:
            self._raise_problem(run)
            if self.load.process.poll():
                self.finish(self.load)  # reports why it failed
            minutes = int((time.time() - run.began) / 60)
            if minutes > said:
                said = minutes
                say(f"{minutes} min")
            time.sleep(0.2)


def keep_logs(folder, to):
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for log in folder.glob("*/*log"):
        shutil.copy(log, to / f"{log.parent.name}-{log.name}")


def main():
    options = parse_arguments()
    if options.check:
        return
    exit_on_signals()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="petstore-soak-"))
        )
        run = Soak(stack, folder, options).run()
        verdict = Verdict(run)
        document = {
            "date": datetime.date.today().isoformat(),
            "command": " ".join(["scripts/soak", *sys.argv[3:]]),
            "machine": describe_machine(),
            "versions": describe_versions(ROOT, BENCH / "peers/node/package-lock.json"),
        }
        usual = (
            options.minutes >= options.usual_minutes
            and not options.rate and options.reload == 60
        )  # fmt: skip
        keep_logs(run.folder, options.build / "soak/logs")
        output = options.output or (PAGE.parent if usual else options.build / "soak")
        print(soak_report.in_text(run, verdict))
        name = "soak-cluster" if options.cluster else "soak"
        soak_report.write(output, PAGE, name, document, run, verdict)
        say(f"Wrote {output}")
        if run.foreign > 0.1:
            say(
                f"The machine was not quiet: {run.foreign:.0%} of its CPU time went to"
                f" other processes, and it kept this one waiting for"
                f" {run.longest_pause:.1f} s. Run a failed test again when it is."
            )
    if not verdict.passed:
        sys.exit("soak: failed")


if __name__ == "__main__":
    try:
        main()
    except BenchError as problem:
        sys.exit(f"soak: {problem}")
