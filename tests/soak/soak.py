"""Runs nginx and Redis for a long time under load, with reloads and outages. Run by
scripts/soak."""

import argparse
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
from bench import PAGE, say
from cases import Load
from data import Keys
from deployment import Deployment
from events import Events
from load import Meter, check
from machine import describe_machine, describe_versions
from paced import Paced, Outcome, write_requests
from servers import HERE as BENCH
from servers import BenchError, add_script_options, exit_on_signals
from traffic import Traffic
from verdict import Verdict
from watch import SECONDS as WATCH_SECONDS
from watch import Watch

ROOT = BENCH.parent.parent
MINUTES = 20
PETS = 20_000
RARE = 1_000
KEYS = 2_000
GUESSES = 200
CONNECTIONS = 256
SATURATION_CONNECTIONS = 64
SATURATION_SECONDS = 5
SATURATION_ROUNDS = 3
# Offset between the request numbers of the parts of the test, which keeps them
# distinct.
PART = 10**9
RESTART_AT, FAILOVER_AT = 0.35, 0.65  # shares of the duration


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/soak",
        description="Runs nginx and Redis at half of saturation, with a reload per"
        " minute, a restart of Redis and a failover, and fails if memory or descriptors"
        " grow, or a request or a pet is lost that should not be.",
        epilog="A run of the default length writes soak.json, soak.svg and a section of"
        " README.md in docs/performance; any other run writes them to soak/ in the"
        " folder of builds.",
    )
    parser.add_argument(
        "minutes", nargs="?", type=float, default=MINUTES,
        help=f"5 or more, default: {MINUTES}",
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
    if not 5 <= options.minutes <= 24 * 60:
        parser.error("the minutes must be from 5 to 1440")
    if options.reload and options.reload < 20:
        parser.error("--reload must be 20 or more")
    options.build = options.build.resolve()
    return options


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
        keys = Keys.make(KEYS, GUESSES)
        say(f"Starting servers with {PETS:,} pets and {KEYS:,} keys")
        self.deployment = Deployment(
            stack, folder, options.build, PETS, RARE, keys, options.workers
        )
        # Uses the only request of the key that is to be denied.
        check(self.deployment, Load("/v1/pets/1", keys.denied), 429)
        self.requests = Traffic(self.deployment.port, keys).requests()
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
        run.events = Events(
            self.deployment, options.reload, RESTART_AT * seconds,
            FAILOVER_AT * seconds, say,
        )  # fmt: skip
        run.watch = Watch(self.deployment)
        meter = Meter(self.deployment)
        run.began = time.time()
        paced = self.paced(rate, seconds, CONNECTIONS)
        with run.watch, run.events:
            self._follow(paced, run)
        run.ended = time.time()
        run.outcome = self.finish(paced)
        if run.events.problem:
            raise run.events.problem
        run.foreign = meter.share()
        run.created = [pet for part in self.parts for pet in part.created]
        run.export = self.deployment.export()
        run.exit_code = self.deployment.stop_nginx()
        workers = set().union(*(g.workers for g in run.events.generations))
        run.left = sum(Path(f"/proc/{pid}").exists() for pid in workers)
        return run

    @staticmethod
    def _follow(paced, run):
        said = 0
        while paced.process.poll() is None:
            if run.events.problem:
                raise run.events.problem
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
        usual = options.minutes >= MINUTES and not options.rate and options.reload == 60
        keep_logs(run.folder, options.build / "soak/logs")
        output = options.output or (PAGE.parent if usual else options.build / "soak")
        print(soak_report.in_text(run, verdict))
        soak_report.write(output, PAGE, document, run, verdict)
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
