"""The schedule of what happens to nginx and Redis during the soak test."""

import threading
import time
from dataclasses import dataclass, field

from servers import BenchError
from watch import Generation

RELOAD_FIRST = 30
REPLICA_AWAY = 20
# An old worker exits after its last request, and waits for Redis no longer than its
# timeouts. The rest allows for a busy machine.
OLD_WORKER_SECONDS = 10
# docs/operations.md: service resumes within half a second of Redis (a worker tries
# at most 0.6 seconds apart); docs/sentinel.md: within 2 seconds of the announcement.
AFTER_RESTART = 1
AFTER_FAILOVER = 2


@dataclass
class Event:
    name: str
    begin: float
    end: float = None
    grace: float = 0

    def covers(self, request):
        """Whether the documentation allows that this request failed."""
        return request.done >= self.begin and request.sent <= self.end + self.grace


@dataclass
class Events:
    deployment: object
    reload_every: float
    restart_at: float
    failover_at: float
    say: object
    reloads: list = field(default_factory=list)
    outages: list = field(default_factory=list)
    others: list = field(default_factory=list)
    generations: list = field(default_factory=list)
    problem: Exception = None

    def __post_init__(self):
        self.ended = threading.Event()
        self.threads = [
            threading.Thread(target=self._guard, args=(steps,), daemon=True)
            for steps in (self._reloads, self._outages)
        ]
        self.generations.append(Generation(time.time(), self.deployment.nginx_workers()))

    def __enter__(self):
        self.began = time.monotonic()
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def find(self, name):
        return next((event for event in self.outages if event.name == name), None)

    def _guard(self, steps):
        try:
            steps()
        except Exception as problem:  # reported by the main thread
            self.problem = problem

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

    def _outages(self):
        if not self._sleep_until(self.restart_at):
            return
        self.say("Restarting Redis")
        self._outage("restart", self.deployment.restart_primary, AFTER_RESTART)
        if not self._sleep_until(self.failover_at):
            return
        self.say("Killing the primary")
        self._outage("failover", self.deployment.kill_primary, AFTER_FAILOVER)
        if not self._sleep_until(self.failover_at + REPLICA_AWAY):
            return
        event = Event("return", time.time())
        self.deployment.start_replica()
        event.end = time.time()
        self.others.append(event)

    def _outage(self, name, cause, grace):
        event = Event(name, time.time(), float("inf"), grace)
        self.outages.append(event)
        cause()
        event.end = time.time()
