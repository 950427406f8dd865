"""Charts of the soak test over time: memory, descriptors, requests per second."""

from collections import Counter

from svg import Canvas

WIDTH = 960
LEFT = 80
RIGHT = 20
HEIGHT = 150  # of a panel
GAP = 58
MIB = 2**20
GREEN, BLUE, ORANGE, RED, GREY = "#1a7f4e", "#3b5fa8", "#b0601a", "#c22", "#bbb"
PURPLE, TEAL = "#7a3fa0", "#128a9a"
MARKS = {
    "restart": (ORANGE, "Redis restarts"),
    "switch": (PURPLE, "SENTINEL FAILOVER"),
    "handover": (TEAL, "FAILOVER"),
    "failover": (RED, "primary killed"),
    "return": (BLUE, "returns as replica"),
    "audit": ("#b59b00", "usage compared"),
    "cluster-switch": (TEAL, "CLUSTER FAILOVER"),
    "cluster-failover": (RED, "primary of the Cluster killed"),
    "cluster-return": (BLUE, "returns to the Cluster"),
}


def nice_step(top):
    """The distance between grid lines, for four to eight of them."""
    step = 1.0
    while top / step > 8:
        step *= 2 if top / step <= 16 else 10
    while top / step < 4:
        step /= 2
    return step


def per_pixel(points, x):
    """The highest value of each pixel, so that peaks stay."""
    pixels = {}
    for time, value in points:
        pixels.setdefault(round(x(time)), []).append((time, value))
    for part in pixels.values():
        known = [point for point in part if point[1] is not None]
        yield max(known, key=lambda point: point[1]) if known else part[0]


class Curves(Canvas):
    def __init__(self, run):
        super().__init__(WIDTH)
        self.run = run
        self.scale = (WIDTH - LEFT - RIGHT) / (run.ended - run.began)
        self.y = 30

    def x(self, time):
        return LEFT + (time - self.run.began) * self.scale

    def panel(self, title, curves):
        """`curves`: name, colour and points (time, value; None is a gap) of each."""
        values = [v for _, _, points in curves for _, v in points if v is not None]
        step = nice_step(max(values, default=1) or 1)
        top = step * (int(max(values, default=1) / step) + 1)
        self.text(20, self.y, title, "head")
        x = 330
        for name, colour, _ in curves:
            if name:
                self.box(x, self.y - 9, 12, 10, colour)
                self.text(x + 18, self.y, name, "quiet")
                x += 45 + 7 * len(name)
        self.y += 14
        bottom = self.y + HEIGHT
        for i in range(round(top / step) + 1):
            y = bottom - i * step / top * HEIGHT
            self.line(LEFT, y, WIDTH - RIGHT, y, "#eee")
            self.text(LEFT - 8, y + 4, f"{i * step:,.4g}" if top < 1e4 else f"{i * step:,.0f}",
                      "value end")  # fmt: skip
        self.marks(self.y, bottom)
        for _, colour, points in curves:
            part = []
            for time, value in [*per_pixel(points, self.x), (0, None)]:
                if value is not None:
                    part.append((self.x(time), bottom - value / top * HEIGHT))
                    continue
                if len(part) > 1:
                    self.curve(part, colour)
                part = []
        self.y = bottom
        self.minutes()
        self.y += GAP

    def minutes(self):
        seconds = self.run.ended - self.run.began
        step = 60 * max(1, round(seconds / 60 / 20))
        for moment in range(0, int(seconds) + 1, step):
            x = self.x(self.run.began + moment)
            self.text(x + 5, self.y + 14, f"{moment // 60}", "value end")
        self.text(WIDTH - RIGHT, self.y + 28, "minutes", "value end")

    def marks(self, top, bottom):
        events = self.run.events
        for event in events.reloads:
            x = self.x(event.begin)
            self.line(x, top, x, bottom, GREY, "2 3")
        for event in (*events.outages, *events.others):
            x = self.x(event.begin)
            self.line(x, top, x, bottom, MARKS[event.name][0])

    def legend(self):
        x = 20
        happened = {event.name for event in (*self.run.events.outages, *self.run.events.others)}
        marks = [(GREY, "nginx reload")]
        marks += [mark for name, mark in MARKS.items() if name in happened]
        for colour, text in marks:
            width = 30 + 7 * len(text)
            if x + width > WIDTH:
                x = 20
                self.y += 20
            self.line(x, self.y - 10, x, self.y + 2, colour)
            self.text(x + 8, self.y, text, "quiet")
            x += width
        self.y += 34


def of_workers(run, value):
    """A curve for each worker."""
    points = {}
    for sample in run.watch.samples:
        for pid, usage in sample.workers.items():
            points.setdefault(pid, []).append((sample.time, value(usage)))
    return list(points.values())


def shown(name, colour, curves):
    """Several curves under one name."""
    return [(name if i == 0 else "", colour, points) for i, points in enumerate(curves)]


def requests(run, wanted):
    return [
        (second, sum(n for what, n in run.outcome.served.get(second, {}).items() if wanted(what)))
        for second in range(int(run.began) + 1, int(run.ended))
    ]  # fmt: skip


def per_second(run, seconds):
    counts = Counter(seconds)
    return [(second, counts[second]) for second in range(int(run.began) + 1, int(run.ended))]


def draw(run):
    samples = run.watch.samples
    curves = Curves(run)
    curves.text(20, curves.y, f"{(run.ended - run.began) / 60:.0f} minutes at "
                f"{run.rate:,.0f} requests per second", "title")  # fmt: skip
    curves.y += 26
    curves.legend()
    curves.panel("Memory of nginx, MiB", [
        *shown("RSS of each worker", BLUE, of_workers(run, lambda u: u.rss / MIB)),
        *shown("PSS", GREEN, of_workers(run, lambda u: u.pss / MIB)),
        ("RSS of the master", ORANGE, [(s.time, s.master.rss / MIB) for s in samples]),
    ])  # fmt: skip
    curves.panel("Descriptors", [
        *shown("each worker", BLUE, of_workers(run, lambda u: u.descriptors)),
        ("all workers", GREEN, [
            (s.time, sum(u.descriptors for u in s.workers.values())) for s in samples
        ]),
        ("master", ORANGE, [(s.time, s.master.descriptors) for s in samples]),
    ])  # fmt: skip
    curves.panel("Memory of Redis, MiB", [
        (name, colour, [
            (s.time, s.redis[i] and s.redis[i]["used_memory"] / MIB) for s in samples
        ])
        for i, (name, colour) in enumerate((("first server", GREEN), ("second server", BLUE)))
    ])  # fmt: skip
    statuses = {str(request.status) for request in run.expected}
    curves.panel("Responses per second", [
        ("as expected", GREEN, requests(run, lambda w: w[1] != "503" and w[1] in statuses)),
        ("503", RED, requests(run, lambda w: w[1] == "503")),
        ("no or another response", ORANGE, requests(
            run, lambda w: w[1] != "503" and w[1] not in statuses)),
    ])  # fmt: skip
    curves.panel("Units admitted per second", [
        ("by the access log", GREEN, [
            (b.time, (b.admitted - a.admitted) / (b.time - a.time))
            for a, b in zip(samples, samples[1:])
        ]),
    ])  # fmt: skip
    replies = [(int(reply.done), reply.status) for reply in run.admin.replies]
    curves.panel("Admin API, responses per second", [
        ("as expected", GREEN, per_second(run, (s for s, status in replies if status != "503"))),
        ("503", RED, per_second(run, (s for s, status in replies if status == "503"))),
    ])  # fmt: skip
    return curves.document(round(curves.y - 20), "Memory, descriptors and responses over time")
