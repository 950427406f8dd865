"""Changes the customers' plan all the time, by the admin API and by petstorectl in turn,
and checks that workers follow."""

import time
from dataclasses import dataclass, field

from client import Client
from servers import BenchError
from store import PER_DAY, PER_MINUTE, PER_MONTH, PLAN

# Seconds between changes, each of which is checked before the next one: docs/limits.md
# allows two seconds until it is in effect.
EVERY = 2.5
# New connections, of which the workers of nginx each get some.
CHECKS = 8


@dataclass
class Change:
    """`sent` and `done` of the change itself, as in paced.Unexpected."""

    sent: float
    per_minute: int
    done: float = None
    problem: str = None
    checks: list = field(default_factory=list)  # responses after it
    checked: float = None

    @property
    def stale(self):
        """Responses by other limits. What failed is no business of the plan."""
        limit = str(self.per_minute)
        return [
            reply for reply in self.checks
            if reply.status == "200" and reply.headers["X-RateLimit-Limit"] != limit
        ]  # fmt: skip


class PlanChanges(Client):
    def __init__(self, store):
        super().__init__(store)
        self.changes = []

    def _work(self):
        while True:
            number = len(self.changes)
            change = Change(time.time(), PER_MINUTE[(number + 1) % 2])
            change.problem = (self._by_api if number % 2 else self._by_petstorectl)(change)
            change.done = time.time()
            self.changes.append(change)
            self._pause(EVERY)
            customer = self.store.customers[number % len(self.store.customers)]
            change.checks = [self._get_pet(customer[0]) for _ in range(CHECKS)]
            change.checked = time.time()

    def _by_api(self, change):
        plan = {
            "per_minute": change.per_minute, "per_day": PER_DAY, "per_month": PER_MONTH,
        }  # fmt: skip
        path = f"/admin/v1/plans/{PLAN}"
        reply = self._send("putPlan", "PUT", path, self.store.admin_key, plan)
        return None if reply.status == "200" else f"putPlan {reply.status}"

    def _by_petstorectl(self, change):
        try:
            self.store.set_plan(change.per_minute)
        except BenchError as problem:
            return str(problem).strip()
        return None
