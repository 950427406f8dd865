"""Measures what a get costs Redis when accounts are spread over a Cluster, compared
with one standalone Redis. Run by scripts/bench --cluster."""

import argparse
import binascii
import dataclasses
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from cases import Case, Site, get_keys
from contenders import Petstore
from data import Keys
from load import check, cpu_seconds, redis_counts, warm_up, wrk
from servers import (
    START_SECONDS, BenchError, TcpRedis, add_script_options, exit_on_signals, free_port,
)  # fmt: skip

CASE = Case("get", "get", get_keys)
SLOTS = 16384
PETS = 1_000
STRIDE = 61_803


def slot_of(key):
    """The hash slot as defined by Redis Cluster: CRC16 of the key or its hash tag."""
    tag = key.split(b"{", 1)[-1].split(b"}", 1)[0] if b"{" in key and b"}" in key else key
    return binascii.crc_hqx(tag, 0) % SLOTS


class Primary(TcpRedis):
    def __init__(self, stack, folder, cluster):
        # The Cluster bus port is the server's port plus 10,000, unless configured.
        self.bus = free_port()
        options = ("--cluster-enabled", "yes", "--cluster-port", self.bus)
        super().__init__(stack, folder, *(options if cluster else ()))


class Servers:
    """A Cluster without replicas, or a standalone server if `primaries` is 0."""

    def __init__(self, stack, folder, primaries):
        folder.mkdir()
        self.nodes = [
            Primary(stack, folder / str(index), primaries > 0)
            for index in range(max(primaries, 1))
        ]
        count = len(self.nodes)
        self.firsts = [SLOTS * index // count for index in range(count)]
        self.url = f"redis://127.0.0.1:{self.nodes[0].port}"
        if primaries:
            self.url = "cluster " + self.url
            self._form()

    def _form(self):
        first, *others = self.nodes
        for node, start_slot, end in zip(self.nodes, self.firsts, [*self.firsts[1:], SLOTS]):
            node.call("cluster", "addslotsrange", start_slot, end - 1)
        for node in others:
            node.call("cluster", "meet", "127.0.0.1", first.port, first.bus)
        known = f"cluster_known_nodes:{len(self.nodes)}"
        for _ in range(START_SECONDS * 10):
            states = [node.call("cluster", "info") for node in self.nodes]
            if all("cluster_state:ok" in state and known in state for state in states):
                return
            time.sleep(0.1)
        raise BenchError("the Cluster does not form")

    def load(self, commands):
        """Sends each command to the server that owns its key, the second word."""
        parts = {}
        for command in commands:
            slot = slot_of(command.split(b"\r\n", 5)[4])
            node = max(i for i, first in enumerate(self.firsts) if first <= slot)
            parts.setdefault(node, []).append(command)
        for node, part in parts.items():
            self.nodes[node].load(part)


class Spread(Petstore):
    """This module with its accounts on `primaries` servers."""

    def __init__(self, stack, folder, build, primaries, keys):
        folder.mkdir()
        self.name = str(primaries) if primaries else "standalone"
        self.build = build
        self.size = PETS
        self.redis = Servers(stack, folder / "redis", primaries)
        self.seed_pets(PETS, PETS)
        self.seed_keys(keys)
        self.port, self.pids = self.start(stack, folder)

    @property
    def url(self):
        return self.redis.url

    @property
    def nodes(self):
        return self.redis.nodes


@dataclasses.dataclass(frozen=True)
class Sample:
    server_us: float
    node_us: tuple  # per request, for each primary
    commands: float
    requests_per_second: float

    @property
    def redis_us(self):
        return sum(self.node_us)

    @property
    def busiest(self):
        return max(self.node_us) / self.redis_us


def measure(contender, load, seconds, number):
    nodes = contender.nodes
    counts = [redis_counts(node)[0] for node in nodes]
    server = cpu_seconds(contender.pids)
    before = [cpu_seconds(node.pids) for node in nodes]
    done, rate, refused, broken = wrk(contender.port, load, seconds, number * STRIDE)
    after = [cpu_seconds(node.pids) for node in nodes]
    server = cpu_seconds(contender.pids) - server
    counts = [redis_counts(node)[0] - was for node, was in zip(nodes, counts)]
    if refused + broken > done / 1000:
        raise BenchError(f"{contender.name}: {refused + broken} of {done} requests failed")
    return Sample(
        server / done * 1e6,
        tuple((now - was) / done * 1e6 for now, was in zip(after, before)),
        (sum(counts) - len(nodes)) / done,  # excluding our own INFO
        rate,
    )


def row(name, samples, standalone):
    def median(value):
        return statistics.median(map(value, samples))

    redis = median(lambda sample: sample.redis_us)
    ratio = redis / statistics.median(sample.redis_us for sample in standalone)
    busiest = median(lambda sample: sample.busiest)
    return (
        f"| {name} | {redis:.1f} | {ratio:.2f} | {busiest:.0%} |"
        f" {redis * busiest:.1f} | {median(lambda sample: sample.commands):.2f} |"
        f" {median(lambda sample: sample.server_us):.1f} |"
        f" {median(lambda sample: sample.requests_per_second):,.0f} |"
    )


def table(samples):
    lines = [
        "| primaries | Redis µs | of standalone | busiest | its µs | Redis commands"
        " | nginx µs | requests/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [row(name, rows, samples["standalone"]) for name, rows in samples.items()]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench --cluster", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--primaries", type=int, nargs="+", default=[1, 3, 6])
    add_script_options(parser)
    options = parser.parse_args()
    if options.check:
        return
    exit_on_signals()
    keys = Keys.make(options.keys, 0)
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="petstore-bench-"))
        )
        entries = []
        for primaries in (0, *options.primaries):
            made = Spread(
                stack, folder / str(primaries), options.build.resolve(), primaries, keys
            )
            load = CASE.load(Site(made, keys, None, folder), options.keys)
            check(made, load, CASE.status)
            warm_up(made, load, options.seconds)
            entries.append((made, load, []))
        for number in range(1, options.rounds + 1):
            for made, load, samples in entries:
                samples.append(measure(made, load, options.seconds, number))
        print(table({made.name: samples for made, _, samples in entries}))


if __name__ == "__main__":
    try:
        main()
    except BenchError as problem:
        sys.exit(f"bench: {problem}")
