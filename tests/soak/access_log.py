"""Counts the lines of nginx's access log, which is a pipe: an hour's lines would fill a
disk. Nothing is lost in a reload, because a worker that exits writes what it has
buffered, and the pipe stays open."""

import fcntl
import os
import select
import threading
import time
from collections import Counter

PIPE_BYTES = 2**20  # what nginx may write while this process is kept waiting
# Longer than nginx keeps a line, see `flush` in soak.conf.
FLUSHED_SECONDS = 1.5


class AccessLog:
    def __init__(self, path):
        self.path = path
        os.mkfifo(path)
        # A reader that could write, too, never sees the end of the file.
        self.pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.fcntl(self.pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self.lines = Counter()
        self.last_read = time.monotonic()
        self.writers_ended = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        rest = b""
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        while True:
            # Only asked before the pipe is found empty, this means the end.
            ended = self.writers_ended.is_set()
            if poll.poll(100):
                *lines, rest = (rest + os.read(self.pipe, PIPE_BYTES)).split(b"\n")
                self.lines.update(lines)
                self.last_read = time.monotonic()
            elif ended:
                return

    def is_complete(self, since):
        """Whether nginx has written all lines, if nobody has sent a request `since` a
        time of the monotonic clock."""
        return time.monotonic() - max(since, self.last_read) > FLUSHED_SECONDS

    def finish(self):
        """Counts what is left in the pipe. To be called after nginx has exited."""
        self.writers_ended.set()
        self.thread.join()

    def units(self, wanted):
        """Units of the lines of which `wanted` accepts the limit status, and whether the
        request waited for Redis. A request without a cost has no valid key."""
        total = 0
        for line, count in self.lines.copy().items():
            status, cost, waited = line.decode().split()
            if cost != "-" and wanted(status, waited == "waited"):
                total += int(cost) * count
        return total

    @property
    def admitted(self):
        return self.units(lambda status, _: status == "PASSED")

    @property
    def in_doubt(self):
        """Requests without a decision: the limiter's command may have been executed, and
        only its reply lost. Those refused without waiting were not sent. A client that
        leaves before the decision has no limit status."""
        return self.units(lambda status, waited: waited and status in ("UNAVAILABLE", "-"))
