"""The requests of the soak test."""

import random

from data import Walk
from paced import NUMBER, Request, render

REQUESTS = 60_000
FRESH = 0.01  # share of requests on a new connection, besides half the creates
# Few enough for a worker to cache all of them within half a minute.
PETS = 2_000
STATUSES = ("available", "pending", "sold")
# Answered without Redis: never 503.
WITHOUT_REDIS = {"no-key", "openapi"}
# What a request of a kind costs, as in soak.conf; others cost one unit.
UNITS = {
    "create": 5, "long-list": 2,
    "unknown": 0, "no-key": 0, "denied": 0, "openapi": 0, "usage": 0,
}  # fmt: skip


class Traffic:
    """Percentages are those of `MIX`; keys, pets and pages are random."""

    MIX = {
        "list": 28, "long-list": 10, "page": 16, "get": 30, "create": 4, "missing": 3,
        "unknown": 3, "no-key": 2, "denied": 2, "openapi": 1, "usage": 1,
    }  # fmt: skip

    def __init__(self, port, keys, customers):
        self.keys = keys
        self.good = [*keys.good, *(key for customer in customers for key in customer)]
        self.cursors = [page.cursor for page in Walk(port, keys.good[0]).all]
        self.random = random.Random(7)

    def requests(self):
        kinds = self.random.choices(list(self.MIX), self.MIX.values(), k=REQUESTS)
        return [self._request(kind) for kind in kinds]

    def _request(self, kind):
        fresh = self.random.random() < FRESH
        if kind == "create":
            return self._create()
        status, path, key = getattr(self, "_" + kind.replace("-", "_"))()
        headers = [f"Authorization: Bearer {key}"] if key else []
        text = render("GET", path, headers, fresh=fresh)
        return Request(kind, status, text, "rf" if fresh else "r")

    def _key(self):
        return self.random.choice(self.good)

    def _pet(self):
        return f"/v1/pets/{self.random.randint(1, PETS)}"

    def _list(self, limit=20):
        path = f"/v1/pets?limit={limit}"
        if self.random.random() < 0.5:
            path += "&status=" + self.random.choice(STATUSES)
        return 200, path, self._key()

    def _long_list(self):
        return self._list(100)

    def _page(self):
        cursor = self.random.choice(self.cursors)
        return 200, f"/v1/pets?limit=20&cursor={cursor}", self._key()

    def _get(self):
        return 200, self._pet(), self._key()

    def _missing(self):
        return 404, f"/v1/pets/{10**12 + self.random.randrange(PETS)}", self._key()

    def _unknown(self):
        return 401, self._pet(), self.random.choice(self.keys.guesses)

    def _no_key(self):
        return 401, self._pet(), ""

    def _denied(self):
        return 429, self._pet(), self.keys.denied

    def _openapi(self):
        return 200, "/v1/openapi.json", ""

    def _usage(self):
        return 200, "/v1/usage", self._key()

    def _create(self):
        """A create with an Idempotency-Key can be repeated, so it may use a connection
        that the server might be closing. One without needs a new connection."""
        headers = [f"Authorization: Bearer {self._key()}"]
        fresh = self.random.random() < 0.5
        if not fresh:
            headers.append(f"Idempotency-Key: soak-{NUMBER}")
        status = self.random.choice(STATUSES)
        body = f'{{"name":"Pet {NUMBER}","categoryId":7,"status":"{status}"}}'
        text = render("POST", "/v1/pets", headers, body, fresh)
        return Request("create", 201, text, "fn" if fresh else "rn")
