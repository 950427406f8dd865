"""One client of the admin API: it signs up customers, looks at them, and deletes them."""

import time
from dataclasses import dataclass, field

from client import Client, Ended
from store import PLAN

EVERY = 0.05  # seconds
# docs/admin.md: a change takes effect on all hosts within one second.
EFFECT_SECONDS = 1
# docs/admin.md; 503 besides.
DOCUMENTED = {
    "createAccount": {"201", "409"},
    "getAccount": {"200", "404"},
    "updateAccount": {"200", "404"},
    "deleteAccount": {"204", "404", "409"},
    "getAccountUsage": {"200", "404"},
    "listUsage": {"200"},
    "createKey": {"201", "400"},
    "getKey": {"200", "404"},
    "updateKey": {"200", "404"},
    "rotateKey": {"201", "404", "409"},
    "listKeys": {"200"},
    "deleteKey": {"204", "404"},
    "listPlans": {"200"},
    "getPet": {"200", "401"},
}


class Disturbed(Exception):
    """The customer's life cannot go on as planned."""


@dataclass
class Customer:
    """What happened to a customer, from sign-up to deletion."""

    began: float
    ended: float = None
    account: str = None
    replies: list = field(default_factory=list)
    problem: str = None


class AdminTraffic(Client):
    def __init__(self, store):
        super().__init__(store)
        self.customers = []

    @property
    def replies(self):
        return [reply for customer in self.customers for reply in customer.replies]

    def _work(self):
        while True:
            customer = Customer(time.time())
            self.customers.append(customer)
            try:
                self._live(f"soak-{len(self.customers)}")
            except Disturbed as problem:
                customer.problem = str(problem)
            except Ended:
                customer.ended = time.time()
                raise
            customer.ended = time.time()

    def _repeat(self, send):
        """Every change ends right when it is repeated."""
        while True:
            self._pause(EVERY)
            reply = send()
            self.customers[-1].replies.append(reply)
            if reply.status != "503":
                return reply

    def _call(self, operation, expected, method, path, body=None):
        path = "/admin/v1" + path
        once = f"{operation}-{len(self.customers)}"
        headers = {"Idempotency-Key": once} if method == "POST" else {}
        reply = self._repeat(
            lambda: self._send(operation, method, path, self.store.admin_key, body, headers)
        )
        self._expect(reply.status == str(expected), f"{operation} {reply.status}")
        return reply.json if reply.text else None

    def _use(self, key, expected):
        reply = self._repeat(lambda: self._get_pet(key))
        self._expect(reply.status == str(expected), f"getPet {reply.status}")

    @staticmethod
    def _expect(condition, problem):
        if not condition:
            raise Disturbed(problem)

    def _live(self, name):
        account = self._call(
            "createAccount", 201, "POST", "/accounts", {"external_id": name, "plan": PLAN}
        )["id"]  # fmt: skip
        self.customers[-1].account = account
        path = f"/accounts/{account}"
        key = self._call("createKey", 201, "POST", "/keys", {"account": account})
        # A repetition does not show the secret again.
        self._expect(key.get("key"), "createKey without the secret")
        self._use(key["key"], 200)
        self._use(key["key"], 200)
        seen = self._call("getAccount", 200, "GET", path)
        self._expect(seen["external_id"] == name, "getAccount shows another one")
        self._call("updateAccount", 200, "PATCH", path, {"label": name})
        usage = self._call("getAccountUsage", 200, "GET", path + "/usage")
        admitted = sum(day["admitted"] for day in usage["days"])
        self._expect(admitted == 2, f"getAccountUsage: {admitted} of 2 requests")
        self._expect(usage["label"] == name, "getAccountUsage shows the old label")
        self._call("updateKey", 200, "PATCH", f"/keys/{key['id']}", {"label": name})
        new = self._call("rotateKey", 201, "POST", f"/keys/{key['id']}/rotate", {"grace": "0"})
        self._expect(new.get("key"), "rotateKey without the secret")
        self._use(new["key"], 200)
        self._wait_until_refused(key["key"])
        keys = self._call("listKeys", 200, "GET", f"/keys?account={account}")
        self._expect(
            {one["id"] for one in keys} == {key["id"], new["id"]},
            "listKeys shows other keys",
        )
        self._call("getKey", 200, "GET", f"/keys/{new['id']}")
        self._call("listUsage", 200, "GET", "/usage?limit=20")
        plans = self._call("listPlans", 200, "GET", "/plans")
        self._expect(PLAN in {plan["name"] for plan in plans}, "listPlans lacks a plan")
        for one in (key, new):
            self._call("deleteKey", 204, "DELETE", f"/keys/{one['id']}")
        self._call("deleteAccount", 204, "DELETE", path)

    def _wait_until_refused(self, key):
        rotated = time.time()
        while True:
            reply = self._repeat(lambda: self._get_pet(key))
            if reply.status == "401":
                return
            self._expect(
                reply.status == "200" and reply.sent <= rotated + EFFECT_SECONDS,
                f"getPet {reply.status} with a rotated key",
            )
