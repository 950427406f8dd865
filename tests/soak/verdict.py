"""The rules by which the soak test passes or fails."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from statistics import median

from admin_traffic import DOCUMENTED
from events import LOST_BEFORE_KILL, OLD_WORKER_SECONDS
from plan_changes import CHECKS, EVERY
from traffic import UNITS, WITHOUT_REDIS

MIB = 2**20
# Workers of all generations are compared at this age: their caches are full and the
# next reload has not begun.
AGE = (35, 58)  # seconds
# From this generation on, only noise may make generations differ.
SETTLED = 2
GROWTH_OF_GENERATIONS = 0.05  # from the first third of them to the last
# malloc's smallest block has 24 bytes, so leaking one in ten requests exceeds this.
BYTES_PER_REQUEST = 2.0
MASTER_BYTES_PER_RELOAD = 8192
DESCRIPTORS = 8  # new connections, although the quietest second is compared
BAD_LINE = re.compile(
    r"\[alert\]|\[emerg\]|Sanitizer|runtime error:|exited on signal"
    r"|petstore_[0-9A-Za-z]{49}|sk_[0-9a-f]{40}"
)


@dataclass(frozen=True)
class Check:
    text: str
    found: str
    met: bool


@dataclass(frozen=True)
class Audit:
    """Units since the start of nginx, at a time without requests."""

    time: float
    ledger: int
    accounts: frozenset  # whose usage the ledger has
    admitted: int  # by the access log
    in_doubt: int


def slope(points):
    """Theil-Sen estimator: the median of the slopes of all pairs; robust to
    outliers."""
    slopes = [
        (y2 - y1) / (x2 - x1)
        for i, (x1, y1) in enumerate(points)
        for x2, y2 in points[i + 1 :]
        if x2 != x1
    ]
    return median(slopes) if slopes else 0.0


def thirds(values):
    """Medians of the first and of the last third."""
    count = max(1, len(values) // 3)
    return median(values[:count]), median(values[-count:])


def listed(counts):
    return ", ".join(f"{count} × {what}" for what, count in counts.most_common(8))


class Verdict:
    def __init__(self, run):
        self.run = run
        self.checks = []
        self._memory()
        self._descriptors()
        self._old_workers()
        self._requests()
        self._creates()
        self._ledger()
        self._admin()
        self._plans()
        self._logs()

    @property
    def passed(self):
        return all(check.met for check in self.checks)

    def _check(self, text, found, met):
        self.checks.append(Check(text, found, met))

    def _aged(self):
        """Yields each generation that lived long enough, with its samples at that
        age."""
        generations = self.run.events.generations
        for index, generation in enumerate(generations):
            end = min(generation.born + AGE[1], self.run.ended)
            if index + 1 < len(generations):
                end = min(end, generations[index + 1].born - 1)
            samples = [
                sample
                for sample in self.run.watch.samples
                if generation.born + AGE[0] <= sample.time <= end
                and generation.workers <= sample.workers.keys()
            ]
            if len(samples) >= 10:
                yield generation, samples

    def _memory(self):
        values, slopes = [], []
        for generation, samples in self._aged():
            values.append(
                median(s.workers[pid].private for s in samples for pid in generation.workers)
            )
            slopes += [
                slope([(s.time, s.workers[pid].private) for s in samples])
                for pid in generation.workers
            ]
        if len(values) > SETTLED:
            first, last = thirds(values[SETTLED:])
            growth = last / first - 1
            self._check(
                "private memory of workers at the same age, from the first third of the"
                f" generations to the last: at most +{GROWTH_OF_GENERATIONS:.0%}",
                f"{first / MIB:.1f} → {last / MIB:.1f} MiB, {growth:+.1%}",
                growth <= GROWTH_OF_GENERATIONS,
            )
        elif self.run.events.reload_every:
            self._check("generations to compare", str(len(values)), False)
        per_request = median(slopes or [0]) * self.run.workers / self.run.rate
        self._check(
            "growth of a worker after its first half minute, median of all: at most"
            f" {BYTES_PER_REQUEST:g} bytes per request",
            f"{per_request:.2f}", per_request <= BYTES_PER_REQUEST,
        )  # fmt: skip
        # RSS, because the master's private share depends on what its workers have
        # written.
        points = []
        for number, event in enumerate(self.run.events.reloads):
            after = [s for s in self.run.watch.samples if s.time > event.end]
            if number >= SETTLED and after:
                points.append((number, after[0].master.rss))
        growth = slope(points)
        self._check(
            "growth of the master, RSS: at most"
            f" {MASTER_BYTES_PER_RELOAD // 1024} KiB per reload",
            f"{growth / 1024:.1f} KiB", growth <= MASTER_BYTES_PER_RELOAD,
        )  # fmt: skip

    def _descriptors(self):
        values = [
            min(sum(s.workers[pid].descriptors for pid in g.workers) for s in samples)
            for g, samples in self._aged()
        ]
        spread = max(values) - min(values) if values else -1
        self._check(
            "fewest descriptors of all workers at the same age, difference between"
            f" generations: at most {DESCRIPTORS}",
            f"{min(values)} to {max(values)}" if values else "none",
            0 <= spread <= DESCRIPTORS,
        )
        ends = [e.end for e in self.run.events.reloads[:1]]
        masters = {
            s.master.descriptors
            for s in self.run.watch.samples
            if ends and s.time > ends[0]
            and not any(e.begin - 1 <= s.time <= e.end + 1 for e in self.run.events.reloads)
        }  # fmt: skip
        found = ", ".join(map(str, sorted(masters)))
        self._check(
            "descriptors of the master between reloads: always the same",
            found, len(masters) == 1,
        )  # fmt: skip

    def _old_workers(self):
        times = [g.gone_after for g in self.run.events.generations[:-1]]
        longest = max(times, default=0)
        self._check(
            f"old workers end within {OLD_WORKER_SECONDS} s of a reload",
            f"{len(times)} reloads, {longest:.1f} s at most", longest <= OLD_WORKER_SECONDS,
        )  # fmt: skip
        self._check(
            "nginx exits with 0, and no worker is left",
            f"{self.run.exit_code}, {self.run.left} left",
            self.run.exit_code == 0 and not self.run.left,
        )

    def _requests(self):
        outages = self.run.events.outages
        outside, times = Counter(), []
        for request in self.run.outcome.unexpected:
            event = next((e for e in outages if e.covers(request)), None)
            allowed = request.status == "503" and request.kind not in WITHOUT_REDIS
            what = f"{request.kind} {request.status}"
            if not (event and allowed):
                outside[what] += 1
                times.append(request.done - self.run.began)
        found = listed(outside)
        if times:
            found += f", from second {min(times):.2f} to {max(times):.2f}"
        self._check(
            "requests that fail outside the documented windows: none",
            found or "none", not outside,
        )  # fmt: skip
        reloads = self.run.events.reloads
        strange = [
            time
            for time in self.run.outcome.raced
            if not any(e.begin <= time <= e.end + 1 for e in reloads)
        ]
        self._check(
            "connections that nginx closes unannounced, but for idle ones at a reload: none",
            f"{len(strange)}; at reloads {len(self.run.outcome.raced) - len(strange)}"
            " requests met a closing connection and were repeated",
            not strange,
        )

    def _creates(self):
        """Compares names, not ids: an id that a failover lost is assigned again."""
        found, doubled = {}, 0
        for line in self.run.export.splitlines():
            pet = json.loads(line)
            if pet["name"].startswith("Pet "):
                number = int(pet["name"][4:])
                doubled += number in found
                found[number] = pet["id"]
        missing = [
            moment
            for moment, pet, number in self.run.created
            if found.get(number) != pet
        ]
        outages = self.run.events.outages
        broken = [t for t in missing if not any(e.may_lose("pets", t) for e in outages)]
        self.lost = len(missing) - len(broken)
        self._check(
            "pets answered with 201 that are missing afterwards: none, but those of the last"
            f" {LOST_BEFORE_KILL:g} s before the primary was killed and those of"
            " SENTINEL FAILOVER",
            f"{len(broken)} of {len(self.run.created)}; {self.lost} lost in failovers",
            not broken,
        )
        self._check("pets created twice: none", str(doubled), doubled == 0)

    def _units_at_risk(self, before, after):
        """Units admitted in the seconds of which a failover between two audits may lose
        some."""
        seconds = set()
        for event in self.run.events.outages:
            if "units" in event.loses and before.time < event.begin < after.time:
                first, last = event.loss
                seconds |= set(range(int(first), int(last) + 1))
        return sum(
            count * UNITS.get(kind, 1)
            for second in seconds
            for (kind, status), count in self.run.outcome.served.get(second, {}).items()
            if status.isdecimal() and status != "503"
        )

    def _units_of_lost_accounts(self, before, after):
        """Units of customers whose account a failover of the main Redis has lost: usage
        is found by the account."""
        losses = [event.loss for event in self.run.events.outages if "pets" in event.loses]
        lost = [
            customer
            for customer in self.run.admin.customers
            if before.time < customer.began < after.time
            and customer.account and customer.account not in after.accounts
            and any(customer.began <= last and first <= customer.ended for first, last in losses)
        ]  # fmt: skip
        return sum(
            reply.operation == "getPet" and reply.status == "200"
            for customer in lost
            for reply in customer.replies
        )

    def _ledger(self):
        """From audit to audit, so that a failover that may lose units excuses nothing
        that is lost at another time."""
        exact, lossy = [], []
        for before, after in zip(self.run.audits, self.run.audits[1:]):
            difference = (after.ledger - after.admitted) - (before.ledger - before.admitted)
            in_doubt = after.in_doubt - before.in_doubt
            at_risk = self._units_at_risk(before, after)
            least = -at_risk - self._units_of_lost_accounts(before, after)
            found = f"{difference:+,} ({least:,} to {in_doubt:+,} allowed)"
            met = least <= difference <= in_doubt
            (lossy if at_risk else exact).append((found, met))
        last = self.run.audits[-1]
        self._check(
            "units in the usage of all accounts: those that the access log shows as"
            " admitted, without those of accounts that a failover of the main Redis lost,"
            " and at most those in addition that got a 503 after waiting for Redis",
            f"{last.admitted:,} admitted; differences between audits: "
            + ", ".join(found for found, _ in exact),
            bool(exact) and all(met for _, met in exact),
        )  # fmt: skip
        self._check(
            "the same across failovers that may lose units, less at most what was admitted"
            " in those seconds",
            ", ".join(found for found, _ in lossy),
            bool(lossy) and all(met for _, met in lossy),
        )  # fmt: skip

    def _admin(self):
        events = self.run.events
        replies = self.run.admin.replies
        undocumented = Counter(
            f"{reply.operation} {reply.status}"
            for reply in replies
            if reply.status not in DOCUMENTED[reply.operation] | {"503"}
        )
        self._check(
            "undocumented statuses of the admin API: none", listed(undocumented) or "none",
            not undocumented,
        )  # fmt: skip
        wrong = Counter(
            f"{reply.operation} 503"
            for reply in replies
            if reply.status == "503" and not any(e.covers(reply) for e in events.outages)
        )
        # Data that a failover lost, or a change repeated after a 503, may be missed later
        # in the same customer's life.
        wrong += Counter(
            customer.problem
            for customer in self.run.admin.customers
            if customer.problem
            and not events.outage_during(customer.began, customer.ended)
        )
        lives = sum(not customer.problem for customer in self.run.admin.customers)
        self._check(
            "customers whose sign-up, keys, usage, rotation or deletion by the admin API"
            " goes wrong outside the documented windows: none",
            listed(wrong) or f"none; {len(replies)} requests for {lives} customers",
            not wrong and lives > 0,
        )

    def _plans(self):
        events = self.run.events
        changes = self.run.plans.changes
        failed = Counter(
            change.problem
            for change in changes
            if change.problem and not any(e.covers(change) for e in events.outages)
        )
        quiet = [
            change for change in changes
            if change.checked and not change.problem
            and not events.outage_during(change.sent, change.checked)
        ]  # fmt: skip
        stale = sum(len(change.stale) for change in quiet)
        self._check(
            "changes of a plan that fail outside the documented windows: none",
            listed(failed) or f"none of {len(changes)}", not failed,
        )  # fmt: skip
        self._check(
            f"responses by the old limits {EVERY:g} s after a change of the plan: none",
            f"{stale} of {len(quiet) * CHECKS}", bool(quiet) and not stale,
        )  # fmt: skip

    def _logs(self):
        bad = []
        for log in sorted(self.run.folder.glob("*/*log")):
            text = log.read_text(errors="replace")
            bad += [line[:160] for line in text.splitlines() if BAD_LINE.search(line)]
        self._check(
            "lines with [alert], [emerg], a sanitizer's report, an exit on a signal or an"
            " API key in any log: none",
            "; ".join(BAD_LINE.search(line)[0][:12] for line in bad[:5]) or "none",
            not bad,
        )
        self.bad_lines = bad
