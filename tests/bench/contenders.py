"""The contenders: each a server with its own Redis, a catalogue of a given size
and the API keys."""

import subprocess
from itertools import chain
from pathlib import Path

from data import UNLIMITED, peer_key, pet_lines, petstore_key
from servers import HERE, BenchError, Redis, start_nginx, start_node

NGINX_MODULES = Path("/usr/lib/nginx/modules")
PEERS = HERE / "peers"


FLOOR_CONF = HERE / "conf/floor.conf"
FLOOR_VALUES = {
    "PET": '{"id":1,"name":"Rex the dog 00000001","categoryId":7,"status":"available"}'
}


def start_floor(stack, folder):
    folder.mkdir()
    return start_nginx(stack, folder, FLOOR_CONF, FLOOR_VALUES)


class Floor:
    name = "floor"
    title = "nginx, return 200"
    lead_in = 0
    is_peer = False
    back_end_pids = ()

    def __init__(self, stack, folder):
        self.redis = None
        self.port, self.pids = start_floor(stack, folder)


class Contender:
    """Has `size` pets, one in `rare` of them pending."""

    lead_in = 0  # seconds of load before each measurement
    is_peer = False
    back_end_pids = ()  # the server behind proxy_pass

    def __init__(self, stack, folder, build, size, rare, keys):
        folder.mkdir()
        self.build = build
        self.size = size
        self.rare = rare
        self.redis = Redis(stack, folder / "redis")
        before = self._used_memory()
        self.seed_pets(size, rare)
        self.bytes_per_pet = (self._used_memory() - before) / size
        self.seed_keys(keys)
        self.port, self.pids = self.start(stack, folder)

    def _used_memory(self):
        return int(self.redis.info("memory")["used_memory"])


class Petstore(Contender):
    name = "petstore"
    title = "this module"
    module = None  # default: the one in the folder of builds

    @property
    def url(self):
        return f"unix:{self.redis.socket}"

    @staticmethod
    def after(page):
        return page.cursor

    def start(self, stack, folder):
        # The back end's CPU time does not count.
        back_end, self.back_end_pids = start_floor(stack, folder / "back-end")
        values = {
            "MODULE": self.module or self.build / "ngx_http_petstore_module.so",
            "REDIS": self.url,
            "BACKEND": back_end,
        }
        return start_nginx(stack, folder, HERE / "conf/petstore.conf", values)

    def seed_pets(self, size, rare):
        with self._ctl("pet", "import", "-") as process:
            try:
                for lines in pet_lines(size, rare):
                    process.stdin.write(lines)
                process.stdin.close()
            except BrokenPipeError:
                pass
            self._finish(process)

    def seed_keys(self, keys):
        # petstorectl imports these two, so a malformed key fails early; it would take
        # minutes for all keys.
        for key, limit in ((keys.good[0], UNLIMITED), (keys.denied, 1)):
            self.import_key(key, limit)
        if keys.good[1:]:
            self.redis.load(chain.from_iterable(map(petstore_key, keys.good[1:])))

    def import_key(self, key, limit):
        words = ["key", "import", "--plan", "enterprise"]
        words += ["--per-minute", str(limit), "--per-day", str(limit)]
        with self._ctl(*words) as process:
            process.stdin.write(key.encode() + b"\n")
            process.stdin.close()
            self._finish(process)

    def set_status(self, pet, status):
        with self._ctl("pet", "set-status", str(pet), status) as process:
            process.stdin.close()
            self._finish(process)

    @property
    def ctl_options(self):
        return ("--redis", self.url)

    def _ctl(self, *words):
        return subprocess.Popen(
            [self.build / "petstorectl", *self.ctl_options, *words],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip

    @staticmethod
    def _finish(process):
        problem = process.stderr.read().decode()
        if process.wait():
            raise BenchError(f"petstorectl: {problem}")


class Before(Petstore):
    """Another build of this module, with this build's petstorectl."""

    name = "before"
    title = "before"

    @staticmethod
    def of(module):
        return type("Before", (Before,), {"module": module})


class Peer(Contender):
    """Both peers store their data in the same way."""

    is_peer = True

    @staticmethod
    def after(page):
        return page.last + 1

    def seed_pets(self, size, rare):
        script = (PEERS / "seed.lua").read_text()
        step = 10_000
        for first in range(1, size + 1, step):
            last = min(first + step - 1, size)
            self.redis.call("eval", script, 0, first, last, rare)

    def seed_keys(self, keys):
        self.redis.load([*map(peer_key, keys.good), peer_key(keys.denied, 1)])

    def import_key(self, key, limit):
        self.redis.load([peer_key(key, limit)])

    def env(self):
        return {
            "PEER_REDIS": str(self.redis.socket),
            "PEER_SCRIPT": str(PEERS / "api.lua"),
        }


class Lua(Peer):
    name = "lua"
    title = "nginx and Lua"

    def start(self, stack, folder):
        values = {"MODULES": NGINX_MODULES, "PEERS": PEERS}
        return start_nginx(
            stack, folder, PEERS / "lua/nginx.conf", values, env=self.env()
        )


class Node(Peer):
    name = "node"
    title = "Fastify and ioredis"
    # V8 may discard compiled code while the others are measured for a minute.
    lead_in = 0.3

    def start(self, stack, folder):
        service = self.build / "bench/node/service.mjs"
        return start_node(stack, folder, service, self.env())


CONTENDERS = (Petstore, Lua, Node)
