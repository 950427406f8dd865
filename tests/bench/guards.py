"""Compares petstore_guard with other ways to put API keys and limits in front of a back
end. Run by scripts/bench --guards."""

import argparse
import concurrent.futures
import dataclasses
import datetime
import http.client
import json
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import latency_load
from bench import ROOT, say
from cases import Load
from contenders import NGINX_MODULES, PEERS, Lua, Node, Petstore, start_floor
from data import Keys
from load import Meter, check, measure, warm_up
from machine import describe_machine, describe_versions
from report import into_page, machine_line, markdown_table
from servers import HERE, BenchError, add_script_options, exit_on_signals, start_nginx

PAGE = ROOT / "docs/performance/guards.md"
PETS = 100
FOREIGN_LIMIT = 0.05
WARM_UP = 0.3  # seconds at the start of a paced measurement that do not count


@dataclass(frozen=True)
class Plan:
    rounds: int
    seconds: float
    rate: int  # of the paced load, per second
    limit: int  # per minute, of the key in the test of exactness


FULL = Plan(15, 1, 1_000, 1_000)
QUICK = Plan(2, 0.3, 500, 200)


class Guarded:
    """Adds /guarded in front of a back end, whose CPU time does not count. A second host
    shares the Redis of the first."""

    path = "/guarded"

    def start(self, stack, folder):
        self.back_end, self.back_end_pids = start_floor(stack, folder / "back-end")
        self.hosts = []
        for number in (1, 2):
            home = folder / f"host-{number}"
            home.mkdir()
            self.hosts.append(self.start_host(stack, home))
        return self.hosts[0]


class Guard(Guarded, Petstore):
    title = "`petstore_guard`"

    def start_host(self, stack, folder):
        values = {
            "MODULE": self.build / "ngx_http_petstore_module.so",
            "REDIS": self.url,
            "BACKEND": self.back_end,
        }
        return start_nginx(stack, folder, HERE / "conf/petstore.conf", values)


class Unguarded(Guard):
    name = "unguarded"
    title = "`proxy_pass` alone"
    path = "/proxied"


class LuaGuard(Guarded, Lua):
    title = "Lua in the access phase"

    def start_host(self, stack, folder):
        values = {"MODULES": NGINX_MODULES, "PEERS": PEERS, "BACKEND": self.back_end}
        return start_nginx(
            stack, folder, PEERS / "lua/guard.conf", values, env=self.env()
        )


class AuthRequest(Guarded, Node):
    name = "auth_request"
    title = "`auth_request` and a Fastify service"

    def start_host(self, stack, folder):
        service = folder / "service"
        service.mkdir()
        port, service_pids = Node.start(self, stack, service)
        values = {"BACKEND": self.back_end, "SERVICE": port}
        port, pids = start_nginx(stack, folder, PEERS / "node/guard.conf", values)
        return port, pids + service_pids


KINDS = (Unguarded, Guard, LuaGuard, AuthRequest)


@dataclass
class Result:
    contender: object
    samples: list = dataclasses.field(default_factory=list)
    paced: list = dataclasses.field(default_factory=list)
    admitted: int = 0

    def median(self, name):
        return statistics.median(getattr(sample, name) for sample in self.samples)

    def p99_ms(self):
        return statistics.median(sample.p99_ms for sample in self.paced)

    def as_json(self):
        return {
            "contender": self.contender.name,
            "rounds": [sample.as_json() for sample in self.samples],
            "p99_ms": [round(sample.p99_ms, 3) for sample in self.paced],
            "admitted": self.admitted,
        }


class Servers:
    def __init__(self, contender):
        self.pids = [*contender.redis.pids, *contender.back_end_pids]
        for _, pids in contender.hosts:
            self.pids += pids


def count_admitted(contender, key, requests):
    """Sends `requests` to each of two hosts at the same time, over 16 connections each.
    Returns the number of 200s."""

    def send(port, count):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        admitted = 0
        for _ in range(count):
            connection.request(
                "GET", contender.path, headers={"Authorization": "Bearer " + key}
            )
            response = connection.getresponse()
            response.read()
            admitted += response.status == 200
        connection.close()
        return admitted

    connections = 16
    with concurrent.futures.ThreadPoolExecutor(2 * connections) as pool:
        futures = [
            pool.submit(send, port, requests // connections)
            for port, _ in contender.hosts
            for _ in range(connections)
        ]
        return sum(future.result() for future in futures)


def run(stack, folder, build, plan):
    keys = Keys.make(2, 0)
    loads = {}
    results = []
    for kind in KINDS:
        contender = kind(stack, folder / kind.name, build, PETS, PETS, keys)
        loads[contender.name] = Load(contender.path, keys.good[0])
        check(contender, loads[contender.name], 200)
        results.append(Result(contender))
    for result in results:
        warm_up(result.contender, loads[result.contender.name], plan.seconds)
    generator = latency_load.Generator(build / "bench/paced", folder)
    shares = []
    for number in range(1, plan.rounds + 1):
        for result in results:
            contender = result.contender
            load = loads[contender.name]
            sample = measure(contender, load, 200, plan.seconds, number)
            result.samples.append(sample)
            shares.append(sample.foreign)
            meter = Meter(Servers(contender))
            request = latency_load.get(contender.path, load.key)
            outcome = generator.start(
                contender.port, contender.name, [request], plan.rate,
                WARM_UP + plan.seconds, WARM_UP,
            ).wait()  # fmt: skip
            counted = outcome.latencies.keys() | outcome.failed.keys()
            result.paced.append(
                latency_load.Sample.of(outcome, counted, meter.share())
            )
        say(f"Round {number} of {plan.rounds}")
    for result in results[1:]:
        # The day has the same limit, so that a minute's end changes nothing.
        key = f"of-another-gateway-{result.contender.name}-0123456789"
        result.contender.import_key(key, plan.limit)
        result.admitted = count_admitted(result.contender, key, plan.limit)
    return results, sum(shares) / len(shares)


HEAD = (
    "", "CPU of nginx and service, µs", "CPU of Redis, µs", "sum, µs",
    "of `proxy_pass` alone", "p99, ms", "admitted over two hosts",
)  # fmt: skip


def rows_of(results, plan):
    base = results[0]
    for result in results:
        # Paired by round, because machines drift.
        ratio = statistics.median(
            mine.sum_us / other.sum_us
            for mine, other in zip(result.samples, base.samples)
        )
        exact = f"{result.admitted:,} of {2 * plan.limit:,}" if result.admitted else "–"
        yield (
            result.contender.title,
            f"{result.median('server_us'):.1f}",
            f"{result.median('redis_us'):.1f}",
            f"{result.median('sum_us'):.1f}",
            f"{ratio:.2f}",
            f"{result.p99_ms():.2f}",
            exact,
        )


def in_markdown(document, results, plan):
    versions = ", ".join(f"{name} {text}" for name, text in document["versions"].items())
    lines = [
        f"Measured on {document['date']} by `{document['command']}`: {plan.rounds} rounds"
        f" of {plan.seconds:g} s, medians; p99 at {plan.rate:,} requests per second; a"
        f" limit of {plan.limit:,}.",
        "",
        f"- {machine_line(document['machine'])}",
        f"- {versions}",
        f"- {document['foreign']:.0%} of the CPU time went to processes outside the"
        " benchmark",
        "",
        *markdown_table(HEAD, rows_of(results, plan)),
    ]
    return "\n".join(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/bench --guards",
        description="Measures ways to put API keys and limits in front of a back end: CPU"
        " time per request, p99 at a fixed rate, and how many of 2N requests two hosts"
        " admit where N are allowed.",
        epilog="A full run on a quiet machine writes guards.json and the table of"
        " guards.md in docs/performance; any other run only prints it.",
    )
    parser.add_argument("--quick", action="store_true", help="small and short: a trial")
    add_script_options(parser)
    options = parser.parse_args()
    options.build = options.build.resolve()
    return options


def main():
    options = parse_arguments()
    if options.check:
        return
    exit_on_signals()
    plan = QUICK if options.quick else FULL
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="petstore-bench-"))
        results, foreign = run(stack, Path(folder), options.build, plan)
    document = {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["scripts/bench --guards", *sys.argv[3:]]),
        "machine": describe_machine(),
        "versions": describe_versions(ROOT, HERE / "peers/node/package-lock.json"),
        "plan": dataclasses.asdict(plan),
        "foreign": round(foreign, 4),
    }
    text = in_markdown(document, results, plan)
    print(text)
    if foreign > FOREIGN_LIMIT:
        raise BenchError(
            f"the machine was not quiet: {foreign:.0%} of its CPU time went to other"
            " processes. Don't trust these figures; they were not published."
        )
    if plan == FULL:
        into_page(PAGE, text)
        document["results"] = [result.as_json() for result in results]
        file = PAGE.with_suffix(".json")
        file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    try:
        main()
    except BenchError as problem:
        sys.exit(f"bench: {problem}")
