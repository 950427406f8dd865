"""Latencies as an SVG with a logarithmic scale. Each case and contender has a bar: the
dark part spans p50 to p99, the light part ends at p99.9."""

import math

from chart import COLOURS, WIDTH
from report import TITLES
from svg import Canvas

LEFT = 250  # where the scale begins
RIGHT = 150  # room for the figures
BAR = 14
GAP = 10
COLOURS = {**COLOURS, "floor": ("#555", "#bbb")}
SHOWN = ("floor", "petstore", "lua", "node")
STEPS = [step * 10**power for power in range(-2, 5) for step in (1, 2, 5)]


def label(ms):
    return f"{ms:g} ms" if ms < 1000 else f"{ms / 1000:g} s"


class Drawing(Canvas):
    def __init__(self, least, most):
        super().__init__(WIDTH)
        self.first = max(step for step in STEPS if step <= max(least, STEPS[0]))
        self.last = min(step for step in STEPS if step >= min(most, STEPS[-1]))
        self.y = 0

    def x(self, ms):
        span = math.log(self.last / self.first)
        share = math.log(max(ms, self.first) / self.first) / span
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def bar(self, row):
        hop = getattr(row.cell, "case", None) and row.cell.case.name == "hop"
        dark, light = COLOURS["floor" if hop else row.contender]
        p50, p99, p999 = (self.x(ms) for ms in (row.p50_ms, row.p99_ms, row.p999_ms))
        self.box(p50, self.y, max(p99 - p50, 2), BAR - 2, dark)
        self.box(p99, self.y, p999 - p99, BAR - 2, light)
        words = " · ".join(f"{ms:.3g}" for ms in (row.p50_ms, row.p99_ms, row.p999_ms))
        self.text(max(p999, p99) + 6, self.y + BAR - 4, words, "value")
        self.y += BAR

    def group(self, text, rows):
        self.text(LEFT - 10, self.y + len(rows) * BAR / 2 + 4, text, "end")
        for row in rows:
            self.bar(row)
        self.y += GAP

    def section(self, title, groups):
        self.y += 24
        self.text(20, self.y, title, "head")
        self.y += 22
        top = self.y
        for step in self.steps():
            self.text(self.x(step) + 12, top - 6, label(step), "quiet end")
        lines = len(self.parts)
        for text, rows in groups:
            self.group(text, rows)
        for step in self.steps():  # drawn behind the bars
            self.line(self.x(step), top, self.x(step), self.y - GAP, "#ddd")
            self.parts.insert(lines, self.parts.pop())

    def steps(self):
        steps = [step for step in STEPS if self.first <= step <= self.last]
        # A long scale shows powers of ten only.
        powers = [step for step in steps if math.log10(step) % 1 == 0]
        return steps if len(steps) <= 9 else powers

    def legend(self):
        x = 20
        for name in SHOWN:
            dark, light = COLOURS[name]
            self.box(x, self.y - 10, 12, 12, dark)
            self.box(x + 12, self.y - 10, 12, 12, light)
            self.text(x + 30, self.y, TITLES[name])
            x += 50 + 8 * len(TITLES[name])
        self.y += 20
        words = "bars begin at p50, become light at p99 and end at p99.9; logarithmic scale"
        self.text(20, self.y, words, "quiet")


def groups_of(rows, name):
    """Groups adjacent rows that have the same name."""
    groups = []
    for row in rows:
        if not groups or groups[-1][0] != name(row):
            groups.append((name(row), []))
        groups[-1][1].append(row)
    return groups


def event_name(row):
    return f"{row.cell.event}, {row.cell.seconds} s"


def draw(rows, events):
    answered = [row for row in (*rows, *events) if row.p50_ms]
    drawing = Drawing(
        min((row.p50_ms for row in answered), default=0.1),
        max((row.p999_ms for row in answered), default=1),
    )
    drawing.y = 32
    drawing.text(20, drawing.y, "Latency at fixed rates", "title")
    drawing.y += 26
    drawing.legend()
    for rate in dict.fromkeys(row.cell.rate for row in rows):
        shown = [row for row in rows if row.cell.rate == rate]
        groups = groups_of(shown, lambda row: row.cell.case.text)
        drawing.section(f"{rate:,} requests per second", groups)
    if events:
        drawing.section("During events", groups_of(events, event_name))
    return drawing.document(drawing.y + 10, "Latency by case and contender")
