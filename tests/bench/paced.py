"""Runs paced/paced.cpp, which generates load at a fixed rate, and parses its output."""

import subprocess
from collections import Counter
from dataclasses import dataclass, field

from servers import BenchError

# paced.cpp replaces this with the number of the request.
NUMBER = "#" * 12


@dataclass(frozen=True)
class Request:
    kind: str
    status: int  # expected
    text: bytes
    # r: repeatable, f: on a new connection, n: numbered, -: none of these
    flags: str = "r"


def render(method, path, headers=(), body="", fresh=False):
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", *headers]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    if fresh:
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def write_requests(file, requests):
    with file.open("wb") as out:
        for request in requests:
            head = (request.kind, request.status, request.flags, len(request.text))
            out.write(" ".join(map(str, head)).encode() + b"\n" + request.text)


@dataclass(frozen=True)
class Unexpected:
    """Times in seconds since the epoch."""

    sent: float
    done: float
    kind: str
    status: str


@dataclass
class Outcome:
    served: dict = field(default_factory=dict)  # second: Counter of (kind, status)
    # By the second in which requests were due: Counters of latency buckets, and of
    # (status, bucket) for unexpected responses.
    latencies: dict = field(default_factory=dict)
    failed: dict = field(default_factory=dict)
    unexpected: list = field(default_factory=list)
    raced: list = field(default_factory=list)  # times
    created: list = field(default_factory=list)  # time, id, number
    totals: dict = field(default_factory=dict)

    @property
    def rate(self):
        return self.totals["requests"] / self.totals["seconds"]


def merged(outcomes):
    """One outcome for runs of the same requests one after the other; without totals."""
    whole = Outcome()
    for part in outcomes:
        for name in ("served", "latencies", "failed"):
            seconds = getattr(whole, name)
            for second, counts in getattr(part, name).items():
                seconds.setdefault(second, Counter()).update(counts)
        for name in ("unexpected", "raced", "created"):
            getattr(whole, name).extend(getattr(part, name))
    return whole


class Paced:
    def __init__(self, program, port, requests, output, rate, seconds, **options):
        options |= {
            "port": port, "requests": requests, "output": output,
            "rate": rate, "seconds": seconds,
        }  # fmt: skip
        words = []
        for name, value in options.items():
            words += ["--" + name.replace("_", "-"), str(value)]
        self.output = output
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", program, *words],
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def end(self):
        """Sends no further request."""
        self.process.terminate()

    def wait(self):
        try:
            _, problem = self.process.communicate()
        finally:
            self.process.kill()
            self.process.wait()
        if self.process.returncode:
            raise BenchError(problem.strip())
        return parse(self.output)


def parse(file):
    outcome = Outcome()
    with file.open() as lines:
        for line in lines:
            what, *words = line.split()
            if what == "created":
                moment, pet, number = map(int, words)
                outcome.created.append((moment / 1000, pet, number))
            elif what == "second":
                second, kind, status, count = words
                served = outcome.served.setdefault(int(second), Counter())
                served[kind, status] += int(count)
            elif what == "latency":
                second, bucket, count = map(int, words)
                outcome.latencies.setdefault(second, Counter())[bucket] += count
            elif what == "failed":
                second, status, bucket, count = words
                failed = outcome.failed.setdefault(int(second), Counter())
                failed[status, int(bucket)] += int(count)
            elif what == "unexpected":
                sent, done, kind, status = words
                outcome.unexpected.append(
                    Unexpected(int(sent) / 1000, int(done) / 1000, kind, status)
                )
            elif what == "raced":
                outcome.raced.append(int(words[0]) / 1000)
            elif what == "total":
                outcome.totals = {
                    name: float(value) for name, value in zip(words[::2], words[1::2])
                }
    return outcome


def bucket_end(bucket):
    """Microseconds; the inverse of latency_bucket() in paced/paced.cpp."""
    if bucket < 64:
        return bucket
    power, part = divmod(bucket - 64, 32)
    return (32 + part + 1) << (power + 1)


def percentile(buckets, share):
    """The upper bound in microseconds."""
    wanted = share * sum(buckets.values())
    seen = 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        if seen >= wanted:
            return bucket_end(bucket)
    return 0
