"""Load for the CPU time at a fixed rate. A server that is saturated shares its cores with
the load generator and with its own Redis, and pays for what they do to its caches; at a
third of that rate, it pays for more wake-ups instead."""

from latency_load import Generator, get
from load import Done
from paced import Request, render

PET = '{"name":"Rex the dog 00000001","categoryId":7,"status":"available"}'


def create(key):
    headers = [f"Authorization: Bearer {key}"]
    return Request("create", 201, render("POST", "/v1/pets", headers, PET), "-")


def request_of(load, status):
    if status == 201:
        return create(load.key)
    return get(load.path, load.key, status)


class FixedRate:
    def __init__(self, program, folder, rate):
        self.generator = Generator(program, folder)
        self.rate = rate

    def send(self, contender, load, status, seconds, number):
        """What load.saturated() does, at this rate."""
        name = f"{status}{load.path.replace('/', '-')}"
        requests = [request_of(load, status)]
        outcome = self.generator.start(
            contender.port, name, requests, self.rate, seconds
        ).wait()
        failed = sum(sum(second.values()) for second in outcome.failed.values())
        return Done(int(outcome.totals["requests"]), outcome.rate, failed)
