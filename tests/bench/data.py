"""The pets and API keys that the benchmark works with."""

import base64
import binascii
import hashlib
import random
import re
import http.client
from dataclasses import dataclass
from functools import cached_property

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
UNLIMITED = 1_000_000_000


def status_of(pet, rare):
    """One pet in `rare` is pending; the others alternate between available and sold."""
    if pet % rare == rare // 2:
        return "pending"
    return "available" if pet % 2 else "sold"


def pet_line(pet, rare):
    """A line for `petstorectl pet import`. The name has 20 characters."""
    return (
        f'{{"name":"Rex the dog {pet:08d}","categoryId":7,'
        f'"status":"{status_of(pet, rare)}"}}\n'
    )


def pet_lines(count, rare):
    step = 10_000
    for first in range(1, count + 1, step):
        last = min(first + step, count + 1)
        yield "".join(pet_line(pet, rare) for pet in range(first, last)).encode()


@dataclass(frozen=True)
class Keys:
    """The same for every contender. Valid keys have the form that petstorectl issues,
    so that the checksum of each must be verified before it is looked up in Redis."""

    good: list
    denied: str  # its only request has been used
    unknown: str
    guesses: list  # unknown ones, all different

    @staticmethod
    def make(count, guesses):
        source = random.Random(20)
        return Keys(
            good=[issued_key(source) for _ in range(count)],
            denied=issued_key(source),
            unknown="sk_" + source.randbytes(20).hex(),
            guesses=["sk_" + source.randbytes(20).hex() for _ in range(guesses)],
        )


def issued_key(source):
    text = "petstore_" + "".join(source.choices(BASE62, k=43))
    checksum = binascii.crc32(text.encode())
    digits = ""
    for _ in range(6):
        checksum, digit = divmod(checksum, 62)
        digits = BASE62[digit] + digits
    return text + digits


def redis_command(*words):
    out = b"*%d\r\n" % len(words)
    for word in words:
        word = str(word).encode()
        out += b"$%d\r\n%s\r\n" % (len(word), word)
    return out


def petstore_key(key):
    """What `petstorectl key import` writes, see docs/redis-keys.md."""
    digest = hashlib.sha256(key.encode()).hexdigest()
    name = digest[:16]
    return (
        redis_command("HSET", "petstore:keys", name, digest),
        redis_command("HSET", "petstore:accounts", name, 1_700_000_000),
        redis_command("SADD", "petstore:account-keys:" + name, name),
        redis_command(
            "HSET", "petstore:key:" + digest, "id", name, "account", name,
            "label", "bench", "scopes", "read,write", "created", 1_700_000_000,
            "disabled", 0, "last4", key[-4:], "epoch", 0,
        ),
        redis_command(
            "HSET", "petstore:account:" + name, "id", name, "plan", "enterprise",
            "per_minute", UNLIMITED, "per_day", UNLIMITED, "label", "bench",
            "created", 1_700_000_000, "disabled", 0, "implicit", 1, "epoch", 0,
        ),
    )  # fmt: skip


def peer_key(key, limit=UNLIMITED):
    digest = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    return redis_command("HSET", "p:key:" + digest, "plan_min", limit, "plan_day", limit)


@dataclass(frozen=True)
class Page:
    """Where a page starts: our cursor, and the id of the last pet before it."""

    cursor: str
    last: int


class Walk:
    """Where the pages of a catalogue start, found by walking through it."""

    def __init__(self, port, key):
        self.port = port
        self.key = key

    @cached_property
    def all(self):
        return self._walk("/v1/pets?limit=100")

    @cached_property
    def sold(self):
        return self._walk("/v1/pets?limit=100&status=sold")

    def _walk(self, path):
        pages = []
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        headers = {"Authorization": "Bearer " + self.key}
        while path:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            body = response.read()
            if response.status != 200:
                raise RuntimeError(f"{path}: {response.status} {body.decode()}")
            link = re.match("<([^>]*)>", response.getheader("Link", ""))
            path = link and link[1]
            if path:
                cursor = re.search("cursor=([^&]*)", path)[1]
                last = int(re.match(rb'"id":(\d+)', body[body.rfind(b'"id":'):])[1])
                pages.append(Page(cursor, last))
        connection.close()
        return pages
