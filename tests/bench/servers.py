"""The processes of the benchmark: Redis, nginx and node, each in its own folder.
Leaving their ExitStack stops them."""

import argparse
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
START_SECONDS = 20


class BenchError(Exception):
    """An error whose message is meant for the user."""


def free_port(ports=itertools.count(os.getpid() * 37)):
    """Returns a free port below the kernel's ephemeral range, never the same one
    twice."""
    for number in itertools.islice(ports, 20_000):
        port = 10_000 + number % 20_000
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise BenchError("no free port")


def children_of(pid):
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # has exited
            continue
        if int(fields[1]) == pid:
            children.append(int(stat.parent.name))
    return children


def start(stack, folder, *command, env=None):
    """Starts a server in its own session, so that Ctrl-C reaches only this process. The
    server is stopped when this process ends, even if killed."""
    log = open(folder / "log", "ab")
    stack.callback(log.close)
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "--", *map(str, command)],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        start_new_session=True, env={**os.environ, **(env or {})},
    )  # fmt: skip
    stack.callback(stop, process)
    return process


def stop(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_until(ready, process, folder):
    for _ in range(START_SECONDS * 50):
        if ready():
            return
        if process.poll() is not None:
            break
        time.sleep(0.02)
    logs = [folder / "log", folder / "error.log"]
    text = "".join(log.read_text() for log in logs if log.exists())
    name = Path(process.args[4]).name
    raise BenchError(f"{name} does not start:\n{text[-2000:]}")


def port_is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Redis:
    """A Redis with the distribution's defaults, but without files and TCP."""

    def __init__(self, stack, folder):
        folder.mkdir()
        self.socket = folder / "redis.sock"
        process = start(
            stack, folder, "redis-server", "--port", "0", "--unixsocket", self.socket,
            "--dir", folder, "--save", "",
        )  # fmt: skip
        self.pids = [process.pid]
        wait_until(self.socket.exists, process, folder)

    def call(self, *words):
        done = subprocess.run(
            ["redis-cli", "-e", "-s", self.socket, *map(str, words)],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        if done.returncode:
            raise BenchError(f"Redis: {done.stdout}{done.stderr}")
        return done.stdout

    def load(self, commands):
        """Sends many commands in one batch."""
        done = subprocess.run(
            ["redis-cli", "-s", self.socket, "--pipe"],
            input=b"".join(commands), capture_output=True, timeout=120,
        )  # fmt: skip
        if done.returncode or b"errors: 0" not in done.stdout:
            raise BenchError(f"Redis: {done.stdout.decode()}{done.stderr.decode()}")

    def info(self, section):
        return dict(re.findall(r"^(\w+):(.*?)\r?$", self.call("info", section), re.M))


class TcpRedis(Redis):
    """A Redis that also listens on TCP, as Cluster and Sentinel require, and that can
    be stopped and restarted."""

    def __init__(self, stack, folder, *options):
        folder.mkdir()
        self.stack = stack
        self.folder = folder
        self.port = free_port()
        self.socket = folder / "redis.sock"
        self.options = options
        self.start()

    def start(self):
        self.process = start(
            self.stack, self.folder, "redis-server", *self.arguments(), *self.options
        )
        self.pids = [self.process.pid]
        wait_until(lambda: port_is_open(self.port), self.process, self.folder)

    def arguments(self):
        return (
            "--port", self.port, "--unixsocket", self.socket, "--dir", self.folder,
            "--save", "",
        )  # fmt: skip


def start_nginx(stack, folder, conf, values, env=None):
    """Starts an nginx; returns its port and the process ids of its workers."""
    port, process = start_nginx_master(stack, folder, conf, values, env)
    return port, children_of(process.pid)


def start_nginx_master(stack, folder, conf, values, env=None):
    """Starts an nginx; returns its port and its master process."""
    port = free_port()
    values = {
        "WORKERS": 1,
        "WORKER_CONNECTIONS": 1024,
        # Keeps connections open during a measurement.
        "KEEPALIVE_REQUESTS": 1_000_000_000,
        "LOG_LEVEL": "error",
        **values,
        # Workers need access to Redis's socket, which our user owns.
        "USER": "user root;" if os.getuid() == 0 else "",
        "PORT": port,
    }
    parts = [HERE / "conf/main.conf", HERE / "conf/http.conf"]
    if "BACKEND" in values:
        parts.append(HERE / "conf/back_end.conf")
    for source in (conf, *parts):
        text = source.read_text()
        text = re.sub(r"@([A-Z_]+)@", lambda name: str(values[name[1]]), text)
        (folder / source.name).write_text(text)
    nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    process = start(
        stack, folder, nginx, "-p", folder, "-c", conf.name, "-e", "error.log", env=env
    )
    wait_until(lambda: port_is_open(port), process, folder)
    workers = int(values["WORKERS"])
    wait_until(lambda: len(children_of(process.pid)) >= workers, process, folder)
    return port, process


def start_node(stack, folder, service, env):
    port = free_port()
    env = {**env, "PEER_PORT": str(port), "NODE_ENV": "production"}
    process = start(stack, folder, "node", service, env=env)
    wait_until(lambda: port_is_open(port), process, folder)
    return port, [process.pid]


def add_script_options(parser):
    """The options that scripts/bench and scripts/soak pass: the folder of builds, and
    --check to validate the other options only."""
    parser.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)


def exit_on_signals():
    """Turns signals into SystemExit, so that servers are stopped in any case."""

    def leave(number, _frame):
        raise SystemExit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
