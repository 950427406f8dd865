"""A client of the pet store: pages, safe creates, retries. Needs requests."""

import os
import time
import uuid
from urllib.parse import urljoin

import requests


class PetstoreError(Exception):
    """What the service refused. `code` decides what to do."""

    def __init__(self, response):
        try:
            error = response.json()
            self.code, message = error["code"], error["message"]
        except (ValueError, KeyError, TypeError):  # from a proxy in between
            self.code, message = "", response.reason
        self.status = response.status_code
        super().__init__(f"{self.status} {self.code}: {message}")


class Petstore:
    def __init__(self, url, key, attempts=5, longest_wait=60, sleep=time.sleep):
        self.url = url
        self.attempts = attempts
        self.longest_wait = longest_wait  # seconds; a ban takes longer
        self.sleep = sleep
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {key}"

    def send(self, method, path, **options):
        """Sends a request that may be repeated, until it is not refused for now."""
        for attempt in range(1, self.attempts + 1):
            last = attempt == self.attempts
            try:
                response = self.session.request(
                    method, urljoin(self.url, path), timeout=10, **options)
            except (requests.ConnectionError, requests.Timeout):
                if last:
                    raise
                self.sleep(2 ** attempt / 2)
                continue
            if response.ok:
                return response
            # 503 includes outcome_unknown: with the same Idempotency-Key, the
            # next attempt returns the pet if there is one.
            wait = response.headers.get("Retry-After", "")
            # A proxy may send a date, or nothing.
            wait = int(wait) if wait.isdecimal() else 2 ** attempt / 2
            if (response.status_code not in (429, 502, 503, 504) or last
                    or wait > self.longest_wait):
                raise PetstoreError(response)
            self.sleep(wait)

    def list_pets(self, **filters):
        """Yields all pets, page by page: list_pets(status="sold")."""
        response = self.send("GET", "/v1/pets", params={"limit": 100, **filters})
        yield from response.json()
        while "next" in response.links:
            response = self.send("GET", response.links["next"]["url"])
            yield from response.json()

    def create_pet(self, name, category_id, idempotency_key=None, **members):
        """Creates one pet, however often the request has to be sent."""
        return self.send(
            "POST", "/v1/pets",
            json={"name": name, "categoryId": category_id, **members},
            headers={"Idempotency-Key": idempotency_key or str(uuid.uuid4())},
        ).json()


if __name__ == "__main__":
    store = Petstore(os.environ["PETSTORE_URL"], os.environ["PETSTORE_KEY"])
    pet = store.create_pet("Kim", 7, status="sold")
    print("created", pet["name"], "as number", pet["id"])
    print("sold:", ", ".join(pet["name"] for pet in store.list_pets(status="sold")))
    try:
        store.create_pet("", 7)
    except PetstoreError as error:
        if error.code != "invalid_field":
            raise
        print("not created:", error)
