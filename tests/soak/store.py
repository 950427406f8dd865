"""The deployment of the soak test: customers with a plan, an access log that is counted
and, on request, a Cluster for counters and bans."""

import json
from pathlib import Path

from access_log import AccessLog
from data import UNLIMITED
from deployment import Deployment, ask, wait_for
from limit_cluster import LimitCluster

PLAN = "customers"
# Far above the traffic of an account, so that no change of the plan refuses a request.
PER_MINUTE = (1_000_000, 2_000_000)  # in turn
PER_DAY, PER_MONTH = 10**10, 10**11
LIMITS_OF_PLAN = ("--per-day", str(PER_DAY), "--per-month", str(PER_MONTH))


class Store(Deployment):
    conf = Path(__file__).parent / "soak.conf"

    def __init__(self, stack, folder, build, size, rare, keys, customers, options):
        self.limits = LimitCluster(stack, folder) if options.cluster else None
        self.customers = customers
        self.access_log = AccessLog(folder / "access-log")
        self.sentinels = []  # until the primary has its replica
        super().__init__(stack, folder, build, size, rare, keys, options.workers)

    def seed_keys(self, keys):
        super().seed_keys(keys)
        self.set_plan(PER_MINUTE[0])
        for number, customer in enumerate(self.customers):
            name = f"customer-{number}"
            self.output_of("account", "create", "--external-id", name, "--plan", PLAN)
            for key in customer:
                self.output_of("key", "import", "--external-id", name, text=key + "\n")
        self.admin_key = self.output_of(
            "key", "create", "--scopes", "admin", "--plan", "enterprise",
            "--per-minute", str(UNLIMITED), "--per-day", str(UNLIMITED),
        ).strip()  # fmt: skip

    def set_plan(self, per_minute):
        self.output_of("plan", "set", PLAN, "--per-minute", str(per_minute), *LIMITS_OF_PLAN)

    @property
    def url(self):
        return self.sentinel_url if self.sentinels else super().url

    @property
    def ctl_options(self):
        limits = ("--limit-redis", self.limits.url) if self.limits else ()
        return (*super().ctl_options, *limits)

    def values(self):
        limits = f"petstore_limit_redis {self.limits.url};" if self.limits else ""
        return {
            **super().values(),
            "LIMIT_REDIS": limits,
            "ACCESS_LOG": self.access_log.path,
        }

    @property
    def pids(self):
        nodes = self.limits.nodes if self.limits else ()
        return [*super().pids, *(pid for node in nodes for pid in node.pids)]

    def is_settled(self):
        """Whether each primary could fail over now."""
        return (
            self.replica.is_synced_replica()
            and all(sentinel.sees_replica() for sentinel in self.sentinels)
            and (not self.limits or self.limits.is_settled())
        )

    def restart_primary(self):
        """Returns once Sentinels know the new process: workers use no other."""
        super().restart_primary()
        run_id = self.primary.info("server")["run_id"]
        wait_for(lambda: all(s.knows(run_id) for s in self.sentinels), "its run ID")

    def switch(self):
        """The planned failover of Sentinel, which does not wait for the replica."""
        self._tell_sentinel()
        self.wait_for_promotion()

    def hand_over(self):
        """That of Redis, which waits for the replica; then Sentinels follow."""
        self.primary.call("failover")
        wait_for(
            lambda: "role:master" in self.replica.ask("INFO", "replication")
            and self.primary.is_synced_replica(),
            "FAILOVER",
        )
        self.switch()

    def _tell_sentinel(self):
        """Sentinels may still be busy with what they do after an earlier failover."""
        port = self.sentinels[0].port
        wait_for(lambda: "OK" in ask(port, "SENTINEL", "FAILOVER", "main"), "Sentinel")

    def stop_nginx(self):
        code = super().stop_nginx()
        self.access_log.finish()
        return code

    def ledger(self, first, last):
        """Units admitted from one day to another, by the usage of all accounts, deleted
        ones included; and these accounts."""
        text = self.output_of("usage", "--json", "--from", first, "--to", last)
        usages = json.loads(text)
        units = sum(day["admitted"] for usage in usages for day in usage["days"])
        return units, frozenset(usage["account"] for usage in usages)
