"""The schedule of what happens to nginx and Redis during the soak test."""

import threading
import time
from dataclasses import dataclass, field

from deployment import wait_for
from servers import BenchError
from watch import Generation

RELOAD_FIRST = 30
REPLICA_AWAY = 20
AUDIT_BEFORE, AUDIT_AFTER = 5, 12  # seconds
# An old worker exits after its last request, and waits for Redis no longer than its
# timeouts. The rest allows for a busy machine.
OLD_WORKER_SECONDS = 10
# docs/operations.md: service resumes within half a second of Redis (a worker tries
# at most 0.6 seconds apart); docs/sentinel.md: within 2 seconds of the announcement;
# docs/cluster.md: within a second of the promotion.
AFTER_RESTART = 1
AFTER_FAILOVER = 2
AFTER_PROMOTION = 1
# Seconds. docs/sentinel.md: a primary that dies loses the last few milliseconds, and one
# that is alive what it executes before the announcement.
LOST_BEFORE_KILL = 0.5
LOST_AFTER_SWITCH = 0.5


@dataclass
class Event:
    name: str
    begin: float
    end: float = float("inf")
    grace: float = 0
    # Whether pets, or units of the ledger, may be lost by what happens.
    loses: tuple = ()

    def covers(self, request):
        """Whether the documentation allows that this request failed."""
        return request.done >= self.begin and request.sent <= self.end + self.grace

    @property
    def loss(self):
        """First and last moment of what may be lost."""
        if self.name == "switch":
            return self.begin, self.end + LOST_AFTER_SWITCH
        return self.begin - LOST_BEFORE_KILL, self.begin + 1

    def may_lose(self, what, moment):
        first, last = self.loss
        return what in self.loses and first <= moment <= last


@dataclass(frozen=True)
class Step:
    at: float  # seconds after the start
    name: str
    action: object
    # Seconds after the action in which requests may fail. None: never.
    grace: float = None
    loses: tuple = ()


def schedule(store, seconds, audit):
    """Shares of the duration, so that a short run tries everything, too. Audits separate
    what may lose units from the rest."""
    killed, cluster_killed = 0.65 * seconds, 0.8 * seconds
    data = ("pets",) if store.limits else ("pets", "units")
    steps = [
        Step(0.2 * seconds, "restart", store.restart_primary, AFTER_RESTART),
        Step(0.35 * seconds, "switch", store.switch, AFTER_FAILOVER, data),
        Step(0.5 * seconds, "handover", store.hand_over, AFTER_FAILOVER),
        Step(killed, "failover", store.kill_primary, AFTER_FAILOVER, data),
        Step(killed + REPLICA_AWAY, "return", store.start_replica),
    ]
    if store.limits:
        for share, pair in zip((0.1, 0.27, 0.42), store.limits.pairs):
            steps.append(Step(share * seconds, "cluster-switch", pair.switch))
        pair = store.limits.pairs[0]
        steps += [
            Step(cluster_killed, "cluster-failover", pair.kill, AFTER_PROMOTION, ("units",)),
            Step(cluster_killed + REPLICA_AWAY, "cluster-return", pair.start_replica),
        ]
    for lossy in [step for step in steps if "units" in step.loses]:
        steps += [Step(lossy.at - AUDIT_BEFORE, "audit", audit)]
        steps += [Step(lossy.at + AUDIT_AFTER, "audit", audit)]
    return sorted(steps, key=lambda step: step.at)


@dataclass
class Events:
    deployment: object
    reload_every: float
    steps: list
    say: object
    reloads: list = field(default_factory=list)
    outages: list = field(default_factory=list)
    others: list = field(default_factory=list)
    generations: list = field(default_factory=list)
    problem: Exception = None

    def __post_init__(self):
        self.ended = threading.Event()
        self.threads = {}
        for steps in (self._reloads, self._steps):
            done = threading.Event()
            thread = threading.Thread(target=self._guard, args=(steps, done), daemon=True)
            self.threads[thread] = done
        self.generations.append(Generation(time.time(), self.deployment.nginx_workers()))

    def __enter__(self):
        self.began = time.monotonic()
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for done in self.threads.values():
            done.wait()

    def outage_during(self, begin, end):
        """Whether requests may have failed at some time between these two."""
        return any(e.begin <= end and begin <= e.end + e.grace for e in self.outages)

    def _guard(self, steps, done):
        try:
            steps()
        except Exception as problem:  # reported by the main thread
            self.problem = problem
        done.set()
        # Processes end with the thread that has started them, see PR_SET_PDEATHSIG, and
        # these are needed until the end.
        threading.Event().wait()

    def _sleep_until(self, moment):
        """Returns false if the test ends first."""
        return not self.ended.wait(max(0, self.began + moment - time.monotonic()))

    def _reloads(self):
        moment = RELOAD_FIRST
        while self.reload_every and self._sleep_until(moment):
            self._reload()
            moment += self.reload_every

    def _reload(self):
        old = self.generations[-1]
        began = time.time()
        self.deployment.reload()
        new = set()
        while len(new) < self.deployment.workers or self.deployment.nginx_workers() & old.workers:
            now = self.deployment.nginx_workers()
            if not new and len(now - old.workers) >= self.deployment.workers:
                new = now - old.workers
                self.generations.append(Generation(time.time(), new))
            if time.time() - began > 3 * OLD_WORKER_SECONDS:
                raise BenchError("old workers do not end, or new ones do not start")
            time.sleep(0.05)
        old.gone_after = time.time() - began
        self.reloads.append(Event("reload", began, time.time()))

    def _steps(self):
        for step in self.steps:
            if not self._sleep_until(step.at):
                return
            if not step.name.endswith(("return", "audit")):
                wait_for(self.deployment.is_settled, f"replicas before the {step.name}")
            self.say(f"Event: {step.name}")
            event = Event(step.name, time.time(), grace=step.grace or 0, loses=step.loses)
            (self.others if step.grace is None else self.outages).append(event)
            step.action()
            event.end = time.time()
