"""What runs beside the load of the soak test."""

import threading


class Background:
    """A thread that runs `_run` in a `with` block. At its end, `ended` is set, and the
    thread is waited for."""

    def __init__(self):
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
