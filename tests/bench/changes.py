"""Changes pets while requests are measured."""

import random
import subprocess
import threading
import time
from collections import deque

from data import status_of
from servers import BenchError

AWAY = 5  # pets whose status differs from their first one, at any time
# Fewer changes than stated would flatter the module.
LEAST = 0.8


class Changes:
    """A context manager that changes the status of `per_second` random pets of a
    module's catalogue: to pending, and soon back, so that the catalogue stays the
    same."""

    def __init__(self, contender, per_second):
        self.contender = contender
        self.per_second = per_second
        self.random = random.Random(contender.size)
        self.away = deque()
        self.done = 0
        self.problem = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.began = time.monotonic()
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        if self.problem:
            raise self.problem
        wanted = (time.monotonic() - self.began) * self.per_second
        if self.done < LEAST * wanted:
            raise BenchError(f"only {self.done} of {wanted:.0f} changes could be made")
        while self.away:
            self._back()

    def _run(self):
        try:
            while not self.over.wait(self._pause()):
                if len(self.away) < AWAY:
                    self._away()
                else:
                    self._back()
                self.done += 1
        except (BenchError, subprocess.SubprocessError) as problem:
            self.problem = problem

    def _pause(self):
        due = self.began + (self.done + 1) / self.per_second
        return max(0, due - time.monotonic())

    def _away(self):
        contender = self.contender
        while True:
            pet = self.random.randint(1, contender.size)
            if status_of(pet, contender.rare) != "pending" and pet not in self.away:
                break
        contender.set_status(pet, "pending")
        self.away.append(pet)

    def _back(self):
        pet = self.away.popleft()
        self.contender.set_status(pet, status_of(pet, self.contender.rare))
