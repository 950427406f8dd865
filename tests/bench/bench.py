"""Compares this module with its peers. Run by scripts/bench."""

import argparse
import dataclasses
import datetime
import json
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack, nullcontext
from pathlib import Path

import chart
import report
from cases import FLOOR, FULL, NAMES, QUICK, Cell, Site
from changes import Changes
from contenders import CONTENDERS, Before, Floor, Petstore
from data import Keys, Walk
from fixed_rate import FixedRate
from load import check, measure, saturated, warm_up
from machine import describe_machine, describe_versions
from results import Results, Row
from servers import HERE, BenchError, add_script_options, exit_on_signals

ROOT = HERE.parent.parent
PAGE = ROOT / "docs/performance/README.md"
FLOOR_EVERY = 6  # cells
# Peers need fewer rounds: no goal is within the noise of what they cost.
PEERS_EVERY = 3  # rounds


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures the CPU time per request of nginx and Redis,"
        " and the throughput, of this module and of two peers, side by side.",
        epilog="A full run writes results.json, results.svg and the tables"
        " of README.md in docs/performance; any other run writes them to bench/ in"
        " the folder of builds. --no-build measures what was built before.",
    )
    parser.add_argument("--quick", action="store_true", help="small and short: a trial")
    parser.add_argument("--rounds", type=int, metavar="N", help="default: 15")
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="per measurement, default: 1"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", choices=NAMES,
        help="a case; may be repeated: " + ", ".join(NAMES),
    )  # fmt: skip
    parser.add_argument(
        "--before", type=Path, metavar="MODULE",
        help="measure this module against another build of it, such as the .so of"
        " an earlier commit, instead of the peers",
    )  # fmt: skip
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to write instead")
    add_script_options(parser)
    options = parser.parse_args()
    if options.rounds is not None and not 1 <= options.rounds <= 100:
        parser.error("--rounds must be from 1 to 100")
    if options.seconds is not None and not 0.2 <= options.seconds <= 60:
        parser.error("--seconds must be from 0.2 to 60")
    options.build = options.build.resolve()
    if options.before:
        options.before = options.before.resolve()
        if not options.before.is_file():
            parser.error(f"--before: {options.before} is not a file")
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


@dataclasses.dataclass(frozen=True)
class Entry:
    cell: Cell
    contender: object
    load: object
    samples: list

class Bench:
    def __init__(self, stack, folder, build, contenders, plan, cells):
        self.plan = plan
        self.contenders = contenders
        self.keys = Keys.make(plan.keys[-1], plan.keys[-1])
        self.cells = cells
        self.sites = {}
        self.at_rate = FixedRate(build / "bench/paced", folder, plan.rate)
        floor = Floor(stack, folder / "floor")
        self.floor = Site(floor, self.keys, None, folder)
        for size in sorted({cell.size for cell in cells}):
            say(f"Starting servers with {size:,} pets")
            walk = None
            for contender in self.contenders:
                name = f"{contender.name}-{size}"
                made = contender(stack, folder / name, build, size, plan.rare, self.keys)
                if contender is Petstore:
                    walk = Walk(made.port, self.keys.good[0])
                self.sites[contender.name, size] = Site(made, self.keys, walk, folder)

    def entries(self):
        """What a round measures, in order. The floor is measured repeatedly, since many
        results are compared with it."""
        floor = self._entry(Cell(FLOOR, self.plan.size), self.floor)
        yield floor
        if any(cell.rate for cell in self.cells):
            yield self._entry(Cell(FLOOR, self.plan.size, rate=self.plan.rate), self.floor)
        for index, cell in enumerate(self.cells):
            if index % FLOOR_EVERY == FLOOR_EVERY - 1:
                yield floor
            for contender in self.contenders:
                if cell.case.peers or not contender.is_peer:
                    yield self._entry(cell, self.sites[contender.name, cell.size])

    @staticmethod
    def _entry(cell, site):
        return Entry(cell, site.contender, cell.case.load(site, cell.keys), [])

    def run(self):
        entries = list(self.entries())
        for entry in entries:
            check(entry.contender, entry.load, entry.cell.case.status)
        began = time.monotonic()
        for kind, writes in (("reads", False), ("writes", True)):
            phase = [
                entry
                for entry in entries
                if entry.cell.case.writes == writes or entry.cell.case is FLOOR
            ]
            if all(entry.cell.case is FLOOR for entry in phase):
                continue
            before = self.plan.rounds if writes else 0
            for number in range(self.plan.rounds + 1):
                for entry in phase:
                    if number == 0:
                        warm_up(entry.contender, entry.load, self.plan.seconds / 2)
                    elif number % PEERS_EVERY == 1 or not entry.contender.is_peer:
                        self._measure(entry, before + number)
                minutes, seconds = divmod(round(time.monotonic() - began), 60)
                name = f"Round {number} of {self.plan.rounds}" if number else "Warm-up"
                say(f"{name}, {kind}: done after {minutes} min {seconds:02} s")
        rows = {}
        for entry in entries:
            row = Row(entry.cell, entry.contender.name, entry.samples)
            rows[row.cell, row.contender] = row
        return list(rows.values())

    def _measure(self, entry, number):
        case = entry.cell.case
        changes = Changes(entry.contender, case.changes) if case.changes else nullcontext()
        send = self.at_rate.send if entry.cell.rate else saturated
        with changes:
            sample = measure(
                entry.contender, entry.load, case.status, self.plan.seconds, number, send
            )
        entry.samples.append(sample)

    def memory(self):
        sizes = {}
        for (name, size), site in self.sites.items():
            sizes.setdefault(name, {})[size] = site.contender.bytes_per_pet
        return sizes


def as_json(document):
    results = document["results"]
    rows = []
    for row in results.rows:
        rows.append({
            "case": row.cell.case.name,
            "text": row.cell.case.text,
            "pets": row.cell.size,
            "keys": row.cell.keys,
            "rate": row.cell.rate,
            "contender": row.contender,
            "sum_us": round(row.sum_us, 3),
            "requests_per_second": round(row.requests_per_second),
            "rounds": [sample.as_json() for sample in row.samples],
        })  # fmt: skip
    return {
        **document,
        "plan": dataclasses.asdict(results.plan),
        "foreign": round(results.foreign, 4),
        "goals": [goal.as_json() for goal in results.goals()],
        "bytes_per_pet": results.memory,
        "results": rows,
    }


def write(document, folder):
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(as_json(document), indent=1, ensure_ascii=False)
    (folder / "results.json").write_text(text + "\n")
    (folder / "results.svg").write_text(chart.draw(document["results"]))
    page = folder / "README.md"
    if not page.exists():
        shutil.copy(PAGE, page)
    report.into_page(page, report.in_markdown(document))


def main():
    options = parse_arguments()
    if options.check:
        return
    exit_on_signals()
    plan = QUICK if options.quick else FULL
    changes = {"rounds": options.rounds, "seconds": options.seconds}
    changes = {name: value for name, value in changes.items() if value is not None}
    plan = dataclasses.replace(plan, **changes)
    cells = plan.cells(options.only)

    with ExitStack() as stack:
        # Not below build/: a unix socket's path is limited to 107 bytes.
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="petstore-bench-"))
        contenders = CONTENDERS
        if options.before:
            contenders = (Petstore, Before.of(options.before))
        bench = Bench(stack, Path(folder), options.build, contenders, plan, cells)
        rows = bench.run()
        results = Results(plan, rows, bench.memory())

    document = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["scripts/bench", *(word for word in sys.argv[3:])]),
        "machine": describe_machine(),
        "versions": describe_versions(ROOT, HERE / "peers/node/package-lock.json"),
        "results": results,
    }
    print(report.in_text(results))
    if results.foreign > 0.1:
        say(
            f"The machine was not quiet: {results.foreign:.0%} of its CPU time went to"
            " other processes. Don't trust these figures."
        )
    everything = not (options.quick or options.only or options.before)
    usual = PAGE.parent if everything else options.build / "bench/results"
    output = options.output or usual
    write(document, output)
    say(f"Wrote {output}")


if __name__ == "__main__":
    try:
        main()
    except BenchError as problem:
        sys.exit(f"bench: {problem}")
