"""Measures catalogues of many millions of pets: import, memory, reads that miss the
worker's cache, and a worker's first request. Run by scripts/bench --large."""

import argparse
import base64
import http.client
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import report
from contenders import Petstore
from data import Keys
from machine import describe_machine, version
from servers import (
    HERE, BenchError, Redis, add_script_options, children_of, exit_on_signals,
    start_nginx_master,
)  # fmt: skip

MILLION = 1_000_000
PUBLISHED = [10, 100]
BEGIN = "<!-- large: written by scripts/bench -->"
END = "<!-- end of large -->"
SLOW_US = 500
BLOCK = 10_000
CURSOR_START = b"\x01*"  # as in src/api/page.cpp


def blocks(count):
    """Lines for `petstorectl pet import`: names of 20 characters, one pet in a million
    pending, all others available. Takes 0.1 µs per pet, so that the import is measured
    and not this function."""
    line = b'{"name":"Rex the dog ####%04d","categoryId":7,"status":"available"}\n'
    plain = b"".join(line % low for low in range(BLOCK))
    middle = b'%04d","categoryId":7,"status":"available"' % (BLOCK // 2)
    rare = plain.replace(middle, middle.replace(b"available", b"pending"))
    for number in range(count // BLOCK):
        is_rare = number % (MILLION // BLOCK) == MILLION // BLOCK // 2
        yield (rare if is_rare else plain).replace(b"####", b"%04d" % number)


def cursor(pet):
    """The cursor of the page after this pet; paging there would take hours."""
    payload = CURSOR_START + pet.to_bytes(8, "big")
    text = base64.urlsafe_b64encode(payload + zlib.crc32(payload).to_bytes(4, "big"))
    return text.rstrip(b"=").decode()


@dataclass
class Read:
    what: str
    milliseconds: list = field(default_factory=list)
    commands: int = 0  # Redis commands, limiter and scripts included
    longest_us: list = field(default_factory=list)  # slowest command of each request

    def row(self):
        return (
            self.what, f"{statistics.median(self.milliseconds):.1f}",
            f"{max(self.milliseconds):.1f}", str(self.commands),
            f"{statistics.median(self.longest_us):,.0f}", f"{max(self.longest_us):,}",
        )  # fmt: skip


READ_HEAD = (
    "read", "ms, median", "most", "commands of Redis", "the longest, µs, median", "most",
)  # fmt: skip


class Client:
    def __init__(self, port, key):
        self.key = key
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def call(self, path, method="GET", body=None, status=200):
        """Milliseconds, and the body."""
        headers = {"Authorization": f"Bearer {self.key}"}
        if body:
            headers["Content-Type"] = "application/json"
        began = time.perf_counter()
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        text = response.read()
        taken = (time.perf_counter() - began) * 1000
        if response.status != status:
            raise BenchError(f"{method} {path} is answered with {response.status}: {text[:200]}")
        return taken, json.loads(text)


class Large(Petstore):
    def __init__(self, stack, folder, build, size, keys):
        folder.mkdir()
        self.build = build
        self.size = size
        self.stack = stack
        self.folder = folder
        self.keys = keys
        self.redis = Redis(stack, folder / "redis")
        self.redis.call("config", "set", "slowlog-max-len", 100_000)
        self.servers = 0
        self.reads = []
        self.figures = {"pets": size}

    # --- Redis -----------------------------------------------------------------

    def log_commands_over(self, microseconds):
        self.redis.call("config", "set", "slowlog-log-slower-than", microseconds)
        self.redis.call("slowlog", "reset")

    def logged(self):
        """Microseconds and name of each command in Redis's slow log."""
        done = subprocess.run(
            ["redis-cli", "--json", "-s", self.redis.socket, "slowlog", "get", "-1"],
            capture_output=True, check=True, timeout=60,
        )  # fmt: skip
        # Arguments may be binary.
        entries = json.loads(done.stdout.decode("latin-1"))
        found = [(entry[2], entry[3][0].upper()) for entry in entries]
        return [each for each in found if each[1] not in ("CONFIG", "SLOWLOG", "INFO", "BGSAVE")]

    def longest(self):
        return max(self.logged(), default=(0, "none"))

    # --- steps -----------------------------------------------------------------

    def fill(self):
        before = int(self.redis.info("memory")["used_memory"])
        self.log_commands_over(SLOW_US)
        began = time.monotonic()
        with self._ctl("pet", "import", "-") as process:
            try:
                for block in blocks(self.size):
                    process.stdin.write(block)
                process.stdin.close()
            except BrokenPipeError:
                pass
            self._finish(process)
        taken = time.monotonic() - began
        longest, name = self.longest()
        slow = len(self.logged())
        self.redis.call("slowlog", "reset")  # the slow log takes memory too
        memory = self.redis.info("memory")
        self.figures |= {
            "import_seconds": round(taken, 1),
            "import_per_second": round(self.size / taken),
            "import_longest_us": longest,
            "import_longest": name,
            "import_slow_commands": slow,
            "redis_bytes": int(memory["used_memory"]),
            "redis_bytes_per_pet": round((int(memory["used_memory"]) - before) / self.size, 2),
            "redis_rss": int(memory["used_memory_rss"]),
        }

    def start_nginx(self):
        """Returns a client of a new nginx, its master process and its port."""
        self.servers += 1
        folder = self.folder / f"nginx-{self.servers}"
        folder.mkdir()
        values = {
            "MODULE": self.build / "ngx_http_petstore_module.so",
            "REDIS": self.url,
            "BACKEND": 1,  # not used
        }
        port, master = start_nginx_master(
            self.stack, folder, HERE / "conf/petstore.conf", values
        )
        return Client(port, self.keys.good[0]), master, port

    def read(self, client, what, paths, check=None):
        """Requests each path once. No path may repeat: all must be read from Redis."""
        read = Read(what)
        for path in paths:
            self.log_commands_over(0)
            taken, body = client.call(path)
            commands = self.logged()
            read.milliseconds.append(taken)
            read.commands = max(read.commands, len(commands))
            read.longest_us.append(max(us for us, _ in commands))
            if check and not check(body):
                raise BenchError(f"{path} is answered with {str(body)[:200]}")
        self.reads.append(read)

    def measure_start(self):
        """Measures the first request to a new nginx, and the first one after a
        reload."""
        client, master, port = self.start_nginx()
        first = []
        for path in ("/v1/pets", f"/v1/pets/{self.size // 3}", "/v1/pets?status=available"):
            client, master, port = self.start_nginx()
            first.append(client.call(path)[0])
            self.terminate(master)
        client, master, port = self.start_nginx()
        client.call("/v1/pets")
        before = set(children_of(master.pid))
        began = time.perf_counter()
        master.send_signal(signal.SIGHUP)
        while not set(children_of(master.pid)) - before:
            time.sleep(0.001)
        # The old worker accepts connections until it reads the master's message.
        fresh = Client(port, self.keys.good[0])
        fresh.call("/v1/pets")
        self.figures |= {
            "first_request_ms": round(max(first), 1),
            "reload_ms": round((time.perf_counter() - began) * 1000, 1),
        }
        self.terminate(master)

    @staticmethod
    def terminate(master):
        master.terminate()
        master.wait(20)

    def measure_reads(self):
        client, master, _ = self.start_nginx()
        client.call("/v1/pets/1")
        size, limits = self.size, range(1, 101, 11)
        pages = [f"/v1/pets?limit={limit}" for limit in limits]
        self.read(client, "first page", pages)
        self.read(client, "page at nine tenths", [
            f"/v1/pets?limit={limit}&cursor={cursor(size * 9 // 10 + 1000 * limit)}"
            for limit in limits
        ])  # fmt: skip
        self.read(client, "first page of a common status",
                  [f"{page}&status=available" for page in pages])  # fmt: skip
        self.read(client, "first page of a status of one in a million",
                  [f"{page}&status=pending" for page in pages])  # fmt: skip
        self.read(client, "page of a status that no pet has", [f"{page}&status=sold" for page in pages],
                  lambda body: body == [])  # fmt: skip
        source = random.Random(1)
        self.read(client, "random pet", [f"/v1/pets/{source.randint(1, size)}" for _ in range(200)])

        # The first pet with a status makes Redis allocate its bitmap.
        self.log_commands_over(0)
        body = '{"name":"Rex the last one","categoryId":7,"status":"sold"}'
        taken, pet = client.call("/v1/pets", "POST", body, 201)
        longest, _ = self.longest()
        self.figures |= {"first_of_status_ms": round(taken, 1), "first_of_status_us": longest}
        self.read(client, "page of a status that only the last pet has",
                  [f"{page}&status=sold" for page in pages],
                  lambda body: [each["id"] for each in body] == [pet["id"]])  # fmt: skip
        worker = children_of(master.pid)[0]
        status = Path(f"/proc/{worker}/status").read_text()
        self.figures["worker_rss"] = int(status.split("VmRSS:")[1].split()[0]) * 1024
        self.terminate(master)

    def measure_save(self):
        """Measures how long saving a snapshot blocks Redis."""
        self.redis.call("bgsave")
        self.figures["fork_us"] = int(self.redis.info("stats")["latest_fork_usec"])

    def run(self):
        self.fill()
        self.seed_keys(self.keys)
        self.measure_start()
        self.measure_reads()
        self.measure_save()


def mib(count):
    return f"{count / 2**20:,.0f} MiB"


def figure_rows(all_figures):
    """A row for each figure, a column for each catalogue."""
    rows = (
        ("import", lambda f: f"{f['import_seconds']:,.0f} s"),
        ("pets imported per second", lambda f: f"{f['import_per_second']:,}"),
        ("the longest command meanwhile", lambda f: f"{f['import_longest_us'] / 1000:.1f} ms, {f['import_longest']}"),
        (f"commands over {SLOW_US} µs meanwhile", lambda f: f"{f['import_slow_commands']:,}"),
        ("memory in Redis", lambda f: mib(f["redis_bytes"])),
        ("bytes per pet", lambda f: f"{f['redis_bytes_per_pet']:.1f}"),
        ("RSS of Redis", lambda f: mib(f["redis_rss"])),
        ("fork for a snapshot", lambda f: f"{f['fork_us'] / 1000:.0f} ms"),
        ("first pet of a status: the command", lambda f: f"{f['first_of_status_us'] / 1000:.1f} ms"),
        ("first request after a start", lambda f: f"{f['first_request_ms']:.1f} ms"),
        ("first response of a worker after a reload began", lambda f: f"{f['reload_ms']:.0f} ms"),
        ("RSS of the worker, at the end", lambda f: mib(f["worker_rss"])),
    )  # fmt: skip
    return [(name, *(text(figures) for figures in all_figures)) for name, text in rows]


def tables(document):
    """The title, head and rows of each table."""
    results = document["results"]
    sizes = [f"{result['figures']['pets'] // MILLION:,} million" for result in results]
    yield "Catalogues", ("", *sizes), figure_rows([result["figures"] for result in results])
    for size, result in zip(sizes, results):
        rows = [Read(**read).row() for read in result["reads"]]
        yield f"{size} pets", READ_HEAD, rows


def in_text(document):
    for title, head, rows in tables(document):
        rows = [head, *rows]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        yield f"\n{title}\n"
        for row in rows:
            yield "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])


def in_markdown(document):
    versions = ", ".join(f"{name} {text}" for name, text in document["versions"].items())
    lines = [
        f"Measured on {document['date']} by `{document['command']}`:",
        "",
        f"- {report.machine_line(document['machine'])}",
        f"- {versions}",
    ]
    for title, head, rows in tables(document):
        lines += ["", f"### {title}", "", "| " + " | ".join(head) + " |"]
        lines += ["|---" + "|--:" * (len(head) - 1) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def write(root, document):
    """Writes the results into the documentation."""
    folder = root / "docs/performance"
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / "large.json").write_text(text + "\n")
    report.into_page(folder / "README.md", in_markdown(document), BEGIN, END)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench --large", description=__doc__,
        epilog="Writes to docs/performance with the default sizes. 100 million pets take"
        " 4 GB of memory.",
    )  # fmt: skip
    parser.add_argument(
        "millions", type=int, nargs="*", default=PUBLISHED, metavar="MILLIONS",
        help="sizes in millions of pets, 1 to 100; default: 10 100",
    )  # fmt: skip
    add_script_options(parser)
    options = parser.parse_args()
    if not all(1 <= millions <= 100 for millions in options.millions):
        parser.error("MILLIONS must be from 1 to 100")
    if options.check:
        return
    exit_on_signals()
    results = []
    for millions in options.millions:
        with ExitStack() as stack:
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="petstore-bench-"))
            )
            catalogue = Large(
                stack, folder / "large", options.build.resolve(), millions * MILLION,
                Keys.make(1, 0),
            )  # fmt: skip
            catalogue.run()
            results.append(
                {"figures": catalogue.figures, "reads": [asdict(r) for r in catalogue.reads]}
            )
    document = {
        "date": time.strftime("%Y-%m-%d"),
        "command": "scripts/bench --large",
        "machine": describe_machine(),
        "versions": {
            "nginx": version("nginx", "-v"),
            "Redis": version("redis-server", "--version"),
        },
        "results": results,
    }
    print("\n".join(in_text(document)))
    if options.millions == PUBLISHED:
        write(HERE.parent.parent, document)


if __name__ == "__main__":
    try:
        main()
    except BenchError as problem:
        sys.exit(f"bench: {problem}")
