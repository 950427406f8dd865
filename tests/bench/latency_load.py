"""Load at a fixed rate, and the resulting latencies."""

from collections import Counter
from dataclasses import dataclass

from load import CONNECTIONS
from paced import Paced, Request, percentile, render, write_requests


@dataclass(frozen=True)
class Sample:
    """One measurement. Latencies cover the responses with the expected status only."""

    p50_ms: float
    p99_ms: float
    p999_ms: float
    longest_ms: float
    requests: int
    failed: int
    repeated: int
    reached: float  # requests per second
    foreign: float  # share of the machine's CPU time used by other processes
    statuses: dict  # number of failed requests by status
    failed_p99_ms: float  # time to failure

    @staticmethod
    def of(outcome, seconds, foreign):
        """The sample of the requests due in these seconds since the epoch."""
        buckets, failed = Counter(), Counter()
        for second in seconds:
            buckets.update(outcome.latencies.get(second, {}))
            failed.update(outcome.failed.get(second, {}))
        statuses, failed_buckets = Counter(), Counter()
        for (status, bucket), count in failed.items():
            statuses[status] += count
            failed_buckets[bucket] += count
        return Sample(
            *(percentile(buckets, share) / 1000 for share in (0.5, 0.99, 0.999, 1)),
            requests=sum(buckets.values()) + sum(failed.values()),
            failed=sum(failed.values()),
            repeated=sum(int(moment) in seconds for moment in outcome.raced),
            reached=outcome.rate,
            foreign=foreign,
            statuses=dict(statuses),
            failed_p99_ms=percentile(failed_buckets, 0.99) / 1000,
        )


def get(path, key, status=200):
    return Request("get", status, render("GET", path, [f"Authorization: Bearer {key}"]))


class Generator:
    """Starts the load generator. Each set of requests is written to a file once."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.files = {}
        self.runs = 0

    def start(self, port, name, requests, rate, seconds, warm_up=0):
        if name not in self.files:
            self.files[name] = self.folder / f"requests-{name}"
            write_requests(self.files[name], requests)
        self.runs += 1
        return Paced(
            self.program, port, self.files[name], self.folder / f"outcome-{self.runs}",
            rate, seconds, warm_up=warm_up, connections=CONNECTIONS,
        )  # fmt: skip
