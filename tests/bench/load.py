"""One measurement: wrk's throughput and the CPU time that the servers spend."""

import http.client
import json
import os
import re
import resource
import signal
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from servers import HERE, BenchError

CONNECTIONS = 64
WARM_UP_REQUESTS = 5_000
# Offset between the starting points of rounds in a list of keys or pages: each round
# starts far from where the others did.
STRIDE = 61_803
# Reads cut off when wrk ends are not wrong answers.
TOLERATED = 0.001


@dataclass(frozen=True)
class Sample:
    number: int  # of the round
    server_us: float  # CPU time per request: nginx's worker or node
    redis_us: float
    requests_per_second: float
    redis_commands: float  # per request, including those called by scripts
    redis_reads: float  # socket reads per request
    foreign: float  # share of the machine's CPU time used by other processes

    @property
    def sum_us(self):
        return self.server_us + self.redis_us

    def as_json(self):
        return {name: round(value, 4) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Done:
    """What a load has sent."""

    requests: int
    per_second: float
    wrong: int  # not answered, or with another status than expected


def cpu_seconds(pids):
    """CPU time of all threads: node's garbage collector has its own."""
    if not Path("/proc/self/schedstat").exists():
        raise BenchError("this kernel has no /proc/PID/schedstat")
    total = 0
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


def busy_seconds():
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _wait, irq, softirq, steal = map(int, fields[:8])
    busy = user + nice + system + irq + softirq + steal
    return busy / os.sysconf("SC_CLK_TCK")


def own_seconds():
    total = 0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


def process_seconds(pids):
    """CPU time of processes and of their exited children."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:  # has exited
            continue
        total += sum(map(int, text.rpartition(")")[2].split()[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


class Meter:
    """Measures the share of the machine's CPU time used by others: neither by the
    processes of `servers` nor by this one and the children it has waited for."""

    def __init__(self, servers):
        self.servers = servers
        self.began = time.monotonic()
        self.others = self._others()

    def _others(self):
        return busy_seconds() - own_seconds() - process_seconds(self.servers.pids)

    def share(self):
        took = time.monotonic() - self.began
        return max(0, self._others() - self.others) / (took * os.cpu_count())


def redis_counts(redis):
    if redis is None:
        return 0, 0
    info = redis.info("stats")
    return int(info["total_commands_processed"]), int(info["total_reads_processed"])


def wrk(port, load, seconds, start):
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s"]
    command += ["-H", f"Authorization: Bearer {load.key}"]
    if load.script:
        command += ["-s", str(HERE / "wrk" / load.script)]
    command += [f"http://127.0.0.1:{port}{load.path}", "--", str(start), *load.arguments]
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *command], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        # wrk accepts whole seconds only; on SIGINT it still prints its report.
        if seconds != round(seconds):
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
        out, problem = process.communicate(timeout=seconds + 20)
    finally:
        process.kill()
        process.wait()
    done = re.search(r"(\d+) requests in", out)
    rate = re.search(r"Requests/sec: +([\d.]+)", out)
    if not done or not rate or int(done[1]) == 0:
        raise BenchError(f"wrk: {out}{problem}")
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    broken = re.search(
        r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", out
    )
    return (
        int(done[1]),
        float(rate[1]),
        int(refused[1]) if refused else 0,
        sum(map(int, broken.groups())) if broken else 0,
    )


def warm_up(contender, load, seconds):
    """Lets JIT compilers and caches warm up before the measurement."""
    done = 0
    while True:
        done += wrk(contender.port, load, seconds, done)[0]
        if done >= max(load.tour, WARM_UP_REQUESTS):
            return


def saturated(contender, load, status, seconds, number):
    """64 connections, each of which sends its next request when it has a response."""
    requests, rate, refused, broken = wrk(contender.port, load, seconds, number * STRIDE)
    return Done(requests, rate, broken + (refused if status < 400 else requests - refused))


def measure(contender, load, status, seconds, number, send=saturated):
    if contender.lead_in:
        wrk(contender.port, load, contender.lead_in, number)
    redis = contender.redis
    counts = redis_counts(redis)
    busy = busy_seconds()
    server = cpu_seconds(contender.pids)
    redis_cpu = cpu_seconds(redis.pids) if redis else 0
    back_end = cpu_seconds(contender.back_end_pids)
    own = own_seconds()
    began = time.monotonic()

    done = send(contender, load, status, seconds, number)

    took = time.monotonic() - began
    own = own_seconds() - own
    server = cpu_seconds(contender.pids) - server
    redis_cpu = cpu_seconds(redis.pids) - redis_cpu if redis else 0
    back_end = cpu_seconds(contender.back_end_pids) - back_end
    busy = busy_seconds() - busy
    commands, reads = (now - was for now, was in zip(redis_counts(redis), counts))

    if done.wrong > done.requests * TOLERATED:
        raise BenchError(
            f"{contender.name}: {load.path}: {done.wrong} of {done.requests} answers are"
            f" not {status}"
        )
    foreign = (busy - own - server - redis_cpu - back_end) / (took * os.cpu_count())
    return Sample(
        number=number,
        server_us=server / done.requests * 1e6,
        redis_us=redis_cpu / done.requests * 1e6,
        requests_per_second=done.per_second,
        # Excludes our own INFO.
        redis_commands=max(commands - 1, 0) / done.requests,
        redis_reads=max(reads - 1, 0) / done.requests,
        foreign=max(foreign, 0),
    )


def check(contender, load, status):
    """Sends one request to verify what is measured."""
    connection = http.client.HTTPConnection("127.0.0.1", contender.port, timeout=10)
    headers = {"Authorization": "Bearer " + load.key}
    method, body = "GET", None
    if status == 201:
        method, body = "POST", b'{"name":"Rex the dog 00000001","categoryId":7}'
        headers["Content-Type"] = "application/json"
    # Twice for 429: the key's first request is admitted.
    for _ in range(2 if status == 429 else 1):
        connection.request(method, load.path, body, headers)
        response = connection.getresponse()
        text = response.read()
    connection.close()
    if response.status != status:
        raise BenchError(
            f"{contender.name}: {load.path}: {response.status} {text.decode()}"
        )
    if load.rows and len(json.loads(text)) != load.rows:
        raise BenchError(f"{contender.name}: {load.path}: not {load.rows} pets")
