"""Clients of the soak test beside the load generator: a few requests per second, of
which each depends on the responses before it."""

import http.client
import json
import threading
import time
from dataclasses import dataclass

from background import Background


@dataclass(frozen=True)
class Reply:
    """Times in seconds since the epoch, as in paced.Unexpected."""

    operation: str
    sent: float
    done: float
    status: str
    headers: dict
    text: str

    @property
    def json(self):
        return json.loads(self.text)


class Ended(Exception):
    """The test is over."""


class Client(Background):
    """A thread that runs `_work` until the test ends. While another thread holds `turn`,
    it sends nothing."""

    def __init__(self, store):
        super().__init__()
        self.store = store
        self.problem = None
        self.turn = threading.Lock()

    def _run(self):
        try:
            with self.turn:
                self._work()
        except Ended:
            pass
        except Exception as problem:  # reported by the main thread
            self.problem = problem

    def _pause(self, seconds):
        self.turn.release()
        try:
            if self.ended.wait(seconds):
                raise Ended
        finally:
            self.turn.acquire()

    def _send(self, operation, method, path, key, body=None, headers=None):
        """On a connection of its own, which no reload closes."""
        headers = {"Authorization": "Bearer " + key, "Connection": "close", **(headers or {})}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        sent = time.time()
        connection = http.client.HTTPConnection("127.0.0.1", self.store.port, timeout=10)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as problem:
            return Reply(operation, sent, time.time(), type(problem).__name__, {}, "")
        finally:
            connection.close()
        status = str(response.status)
        return Reply(operation, sent, time.time(), status, dict(response.getheaders()), text)

    def _get_pet(self, key):
        return self._send("getPet", "GET", "/v1/pets/1", key)
