"""The cases, and the catalogues and keys that each is measured with."""

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from load import CONNECTIONS

SPREAD_PAGES = 10_000
# A worker loads a whole bucket (128 pets) on the second request for one of its pets.
# After this many random requests per bucket, nearly every bucket is loaded.
REQUESTS_A_BUCKET = 13
BUCKET = 128


@dataclass(frozen=True)
class Load:
    """What wrk sends: GET `path` with `key`, unless a script overrides it. A trial
    request before the measurement must return `rows` pets, if given. The warm-up sends
    at least `tour` requests."""

    path: str
    key: str
    script: str = ""
    arguments: tuple = ()
    rows: int = 0
    tour: int = 0


@dataclass(frozen=True)
class Site:
    """One contender, with everything that a case needs to know about it."""

    contender: object
    keys: object
    walk: object
    folder: Path

    def page(self, page, limit=20, status=""):
        status = status and "&status=" + status
        return f"/v1/pets?limit={limit}{status}&cursor={self.contender.after(page)}"

    def file(self, name, lines):
        file = self.folder / f"{name}-{self.contender.name}-{self.contender.size}"
        if not file.exists():
            file.write_text("\n".join(lines) + "\n")
        return str(file)

    def key_file(self, keys):
        file = self.folder / f"keys-{keys[0][-8:]}-{len(keys)}"
        if not file.exists():
            file.write_text("\n".join(keys) + "\n")
        return str(file)


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    load: Callable
    status: int = 200
    writes: bool = False
    peers: bool = True  # also measured for the peers
    changes: int = 0  # of pets, per second


def one_path(path, rows=0):
    return lambda site, _: Load(path, site.keys.good[0], rows=rows)


def spread(pages):
    """A random sample, in an order that defeats caches."""
    return random.Random(1).sample(pages, min(len(pages), SPREAD_PAGES))


def every_page(site, paths, file):
    key = site.keys.good[0]
    return Load(paths[0], key, "paths.lua", (file,), rows=20, tour=3 * len(paths))


def floor(site, _):
    return Load("/v1/pets/1", site.keys.good[0])


def get_any(site, _):
    path = f"/v1/pets/{site.contender.size}"
    size = site.contender.size
    tour = size // BUCKET * REQUESTS_A_BUCKET
    return Load(path, site.keys.good[0], "ids.lua", (str(size),), tour=tour)


def list_any(site, _):
    paths = [site.page(page) for page in spread(site.walk.all)]
    file = site.file("list", paths)
    return every_page(site, paths, file)


def deep(site, _):
    sold = site.walk.sold
    page = sold[len(sold) * 9 // 10 - 1]
    return Load(site.page(page, status="sold"), site.keys.good[0], rows=20)


def deep_any(site, _):
    # The last page may be incomplete.
    paths = [site.page(page, status="sold") for page in spread(site.walk.sold[:-1])]
    file = site.file("deep", paths)
    return every_page(site, paths, file)


def create(site, _):
    return Load("/v1/pets", site.keys.good[0], "create.lua")


def denied(site, _):
    return Load("/v1/pets/1", site.keys.denied)


def unknown(site, _):
    return Load("/v1/pets/1", site.keys.unknown)


def guessed(site, _):
    file = site.key_file(site.keys.guesses)
    return Load("/v1/pets/1", site.keys.guesses[0], "keys.lua", (file,))


def mix(site, _):
    return Load("/v1/pets", site.keys.good[0], "mix.lua", rows=20)


def get_keys(site, count):
    keys = site.keys.good[:count]
    file = site.key_file(keys)
    return Load("/v1/pets/1", keys[-1], "keys.lua", (file,), tour=count)


FLOOR = Case("floor", "nginx, return 200", floor)

# With the middle catalogue and one key.
MAIN = (
    Case("get", "get", one_path("/v1/pets/1")),
    Case("list-20", "list of 20", one_path("/v1/pets", 20)),
    Case("list-100", "list of 100", one_path("/v1/pets?limit=100", 100)),
    Case("deep", "deep filtered page of 20", deep),
    Case("create", "create", create, 201, writes=True),
    Case("denied", "429 storm", denied, 429),
    Case("unknown", "invalid key", unknown, 401),
    Case("guessed", "invalid keys, all different", guessed, 401),
    Case("mix", "70 % list, 20 % get, 10 % create", mix, writes=True),
    Case("proxied", "proxy_pass, not guarded", one_path("/proxied"), peers=False),
    Case("guarded", "proxy_pass, guarded", one_path("/guarded"), peers=False),
)

FIXED_NAMES = ("get", "list-20", "list-100", "create", "denied", "proxied", "guarded")

# With every catalogue and one key. "any": spread over the whole catalogue, to make
# caching as ineffective as possible.
SIZES = (
    Case("get-any", "get, any pet", get_any),
    Case("list-20-any", "list of 20, any page", list_any),
    Case("deep", "deep filtered page of 20", deep),
    Case("deep-any", "filtered page of 20, any", deep_any),
    Case("rare", "rare status, 20", one_path("/v1/pets?status=pending")),
    Case("create", "create", create, 201, writes=True),
)


def during_changes(case, per_second):
    return replace(
        case, name=case.name + "-changed", peers=False, changes=per_second,
        text=f"{case.text}, {per_second} changes/s",
    )  # fmt: skip


# With the middle catalogue and one key: each case without and with changes of pets.
CHANGED = tuple((case, during_changes(case, 10)) for case in (SIZES[0], SIZES[1], SIZES[3]))

# With the middle catalogue and every number of keys. The load of one key needs no
# script, but has the same one as that of many: without it, wrk sends faster and more
# requests share a call to Redis, so a ratio would compare wrk with itself. With one key
# per connection, requests share nothing, but everything known about the keys fits into
# the CPU caches.
KEYS = (Case("get-keys", "get", get_keys),)

# With the middle catalogue, one key and a fixed rate: the cases that have a goal.
FIXED = tuple(replace(case, peers=False) for case in MAIN if case.name in FIXED_NAMES)

NAMES = [case.name for case in (FLOOR, *MAIN, *KEYS, *SIZES)]
NAMES += [case.name for _, case in CHANGED]
NAMES = list(dict.fromkeys(NAMES))


@dataclass(frozen=True)
class Cell:
    """The coordinates of a measurement, without the contender."""

    case: Case
    size: int
    keys: int = 1
    rate: int = 0  # requests per second; 0: as many as the server answers


@dataclass(frozen=True)
class Plan:
    sizes: tuple
    keys: tuple
    seconds: float
    rounds: int
    rate: int = 20_000  # of the cases at a fixed rate

    @property
    def size(self):
        """The middle catalogue."""
        return self.sizes[len(self.sizes) // 2]

    @property
    def rare(self):
        return self.sizes[-1] // 100

    def cells(self, only=()):
        cells = [Cell(case, self.size) for case in MAIN]
        cells += [Cell(case, self.size, keys) for case in KEYS for keys in self.keys]
        cells += [Cell(case, self.size) for pair in CHANGED for case in pair]
        cells += [Cell(case, size) for case in SIZES for size in self.sizes]
        cells += [Cell(case, self.size, rate=self.rate) for case in FIXED]
        cells = list(dict.fromkeys(cells))
        # Creates make catalogues grow, so all reads are measured first.
        cells.sort(key=lambda cell: cell.case.writes)
        return [cell for cell in cells if not only or cell.case.name in only]


FULL = Plan((1_000, 100_000, 1_000_000), (1, CONNECTIONS, 1_000, 100_000), 1, 15)
QUICK = Plan((1_000, 10_000), (1, 100, 1_000), 0.3, 2)
