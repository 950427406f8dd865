"""A production-like deployment for the soak test and for latency during events: nginx,
a primary, a replica and three Sentinels."""

import os
import re
import signal
import socket
import subprocess
import time

from contenders import Petstore
from servers import (
    HERE, BenchError, TcpRedis, children_of, free_port, port_is_open, start,
    start_nginx_master, wait_until,
)  # fmt: skip

SENTINELS = 3
DOWN_AFTER_MS = 3000
WAIT_SECONDS = 120


def wait_for(condition, what):
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise BenchError(f"{what}: not within {WAIT_SECONDS} seconds")
        time.sleep(0.01)


class Server(TcpRedis):
    """A Redis that keeps its data in an append-only file."""

    def arguments(self):
        return (
            *super().arguments(), "--appendonly", "yes", "--appendfsync", "everysec",
            "--repl-diskless-sync-delay", 0,
        )  # fmt: skip

    def ask(self, *words):
        """The reply as text; empty while there is none."""
        return ask(self.port, *words)

    def answers(self):
        return self.ask("PING").startswith("+PONG")

    def is_synced_replica(self):
        replication = self.ask("INFO", "replication")
        return "role:slave" in replication and "master_link_status:up" in replication

    def memory(self):
        """Bytes, by the names that INFO uses; None while the server does not answer."""
        text = self.ask("INFO", "memory")
        found = dict(re.findall(r"^(used_memory|used_memory_rss):(\d+)", text, re.M))
        return {name: int(value) for name, value in found.items()} or None


def ask(port, *words):
    """The reply to an inline command as text, one line per element; empty if there is
    none."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as link:
            link.sendall(" ".join(map(str, words)).encode() + b"\r\n")
            with link.makefile("rb") as replies:
                return read_reply(replies).decode(errors="replace")
    except (OSError, ValueError):
        return ""


def read_reply(replies):
    line = replies.readline()
    if line[:1] == b"$":
        return replies.read(int(line[1:]) + 2)
    if line[:1] == b"*":
        return b"".join(read_reply(replies) for _ in range(int(line[1:])))
    return line


class Sentinel:
    def __init__(self, stack, folder, primary):
        folder.mkdir()
        self.port = free_port()
        (folder / "sentinel.conf").write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {folder}\n"
            f"sentinel monitor main 127.0.0.1 {primary} 2\n"
            f"sentinel down-after-milliseconds main {DOWN_AFTER_MS}\n"
            "sentinel failover-timeout main 20000\n"
        )
        process = start(stack, folder, "redis-server", "sentinel.conf", "--sentinel")
        self.pids = [process.pid]
        wait_until(lambda: port_is_open(self.port), process, folder)

    def primary(self):
        address = ask(self.port, "SENTINEL", "get-master-addr-by-name", "main").split()
        return int(address[1]) if len(address) == 2 else None

    def knows_all(self):
        text = ask(self.port, "SENTINEL", "MASTER", "main")
        values = dict(re.findall(r"(num-\S+)\r\n(\d+)", text))
        return values.get("num-slaves") == "1" and (
            values.get("num-other-sentinels") == str(SENTINELS - 1)
        )

    def knows(self, run_id):
        """Whether this is the run ID that it has of the primary."""
        return run_id in ask(self.port, "SENTINEL", "MASTER", "main")

    def sees_replica(self):
        """Whether this Sentinel could promote the replica."""
        text = ask(self.port, "SENTINEL", "REPLICAS", "main")
        values = dict(re.findall(r"(flags|master-link-status)\r\n(\S+)", text))
        return values == {"flags": "slave", "master-link-status": "ok"}


class Deployment(Petstore):
    conf = HERE / "conf/deployment.conf"

    def __init__(self, stack, folder, build, size, rare, keys, workers):
        self.build = build
        self.size = size
        self.workers = workers
        self.folder = folder
        self.servers = [Server(stack, folder / f"redis-{i}") for i in range(2)]
        self.primary, self.replica = self.servers
        self.redis = self.primary
        self.seed_pets(size, rare)
        self.seed_keys(keys)
        self.attach_replica()
        self.sentinels = [
            Sentinel(stack, folder / f"sentinel-{i}", self.primary.port)
            for i in range(SENTINELS)
        ]
        wait_for(lambda: all(s.knows_all() for s in self.sentinels), "Sentinels")
        self.port, self.master = self.start(stack, folder / "nginx")

    @property
    def url(self):
        """The URL for petstorectl."""
        return f"redis://127.0.0.1:{self.primary.port}"

    def start(self, stack, folder):
        folder.mkdir()
        return start_nginx_master(stack, folder, self.conf, self.values())

    def values(self):
        """What the configuration leaves open."""
        return {
            "MODULE": self.build / "ngx_http_petstore_module.so",
            "REDIS": self.sentinel_url,
            "WORKERS": self.workers,
            "WORKER_CONNECTIONS": 16384,  # as in nginx-conf/production.conf
            "KEEPALIVE_REQUESTS": 1000,  # nginx's default
            "LOG_LEVEL": "notice",
        }

    @property
    def sentinel_url(self):
        addresses = [f"redis://127.0.0.1:{sentinel.port}" for sentinel in self.sentinels]
        return " ".join(["sentinel=main", *addresses])

    @property
    def pids(self):
        """All processes that are running now."""
        others = [pid for one in (*self.servers, *self.sentinels) for pid in one.pids]
        return [self.master.pid, *self.nginx_workers(), *others]

    def attach_replica(self):
        self.replica.call("replicaof", "127.0.0.1", self.primary.port)
        wait_for(self.replica.is_synced_replica, "replication")

    def nginx_workers(self):
        return set(children_of(self.master.pid))

    def reload(self):
        os.kill(self.master.pid, signal.SIGHUP)

    def stop_nginx(self):
        """Stops nginx gracefully and returns its exit code."""
        self.master.send_signal(signal.SIGQUIT)
        return self.master.wait(WAIT_SECONDS)

    def restart_primary(self):
        self.primary.process.terminate()
        self.primary.process.wait(WAIT_SECONDS)
        self.primary.start()
        wait_for(self.primary.answers, "the restarted Redis")

    def kill_primary(self):
        """Returns once all Sentinels have announced the new primary."""
        self.primary.process.kill()
        self.primary.process.wait()
        self.wait_for_promotion()

    def wait_for_promotion(self):
        """Returns once all Sentinels have announced the replica as the primary."""
        self.primary, self.replica = self.replica, self.primary
        port = self.primary.port
        wait_for(lambda: all(s.primary() == port for s in self.sentinels), "failover")

    def start_replica(self):
        """Starts the killed server, which a Sentinel then makes a replica."""
        self.replica.start()
        wait_for(self.replica.is_synced_replica, "the replica")

    def export(self):
        """Name and id of all pets, from the primary."""
        return self.output_of("pet", "export")

    def output_of(self, *words, text=""):
        """What a command of petstorectl prints, with `text` as its input."""
        done = subprocess.run(
            [self.build / "petstorectl", *self.ctl_options, *words],
            input=text, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise BenchError(f"petstorectl: {done.stderr}")
        return done.stdout
