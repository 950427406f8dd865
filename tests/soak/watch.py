"""Samples the memory and the descriptors of nginx, and the memory of Redis."""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from background import Background

SECONDS = 1  # between samples
KB = re.compile(r"^(Rss|Pss|Private_Clean|Private_Dirty): +(\d+) kB", re.M)


@dataclass(frozen=True)
class Usage:
    """Memory of a process in bytes. `private` is not shared with any other process."""

    rss: int
    pss: int
    private: int
    descriptors: int

    @staticmethod
    def of(pid):
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:  # has exited
            return None
        kb = {name: int(value) * 1024 for name, value in KB.findall(text)}
        if "Rss" not in kb:  # is exiting
            return None
        private = kb["Private_Clean"] + kb["Private_Dirty"]
        return Usage(kb["Rss"], kb["Pss"], private, descriptors)


@dataclass
class Sample:
    time: float
    master: Usage
    workers: dict  # pid: Usage
    redis: list  # of each server; None while it is down
    admitted: int  # units since the start, by the access log


@dataclass
class Generation:
    """The workers started by one reload."""

    born: float
    workers: set
    gone_after: float = None  # seconds from the next reload to the last one's end


class Watch(Background):
    def __init__(self, deployment):
        super().__init__()
        self.deployment = deployment
        self.samples = []

    def _run(self):
        due = time.monotonic()
        while not self.ended.is_set():
            self.samples.append(self._sample())
            due = max(due + SECONDS, time.monotonic())
            self.ended.wait(due - time.monotonic())

    def _sample(self):
        workers = {pid: Usage.of(pid) for pid in self.deployment.nginx_workers()}
        return Sample(
            time.time(),
            Usage.of(self.deployment.master.pid),
            {pid: usage for pid, usage in workers.items() if usage},
            [server.memory() for server in self.deployment.servers],
            self.deployment.access_log.admitted,
        )
