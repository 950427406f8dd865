"""The results as an SVG: one bar for each case and contender, server and Redis
in two shades."""

from cases import KEYS, MAIN, SIZES, Cell
from report import TITLES, plural
from svg import Canvas

WIDTH = 960
LEFT = 300  # where the bars begin
RIGHT = 170  # room for the figures after the longest bar
BAR = 14
GAP = 14
COLOURS = {
    "petstore": ("#1a7f4e", "#7cc6a2"),
    "before": ("#6b6b6b", "#b5b5b5"),
    "lua": ("#3b5fa8", "#9db4e0"),
    "node": ("#b0601a", "#e6b485"),
}


class Drawing(Canvas):
    def __init__(self, scale):
        super().__init__(WIDTH)
        self.scale = scale  # pixels per microsecond
        self.y = 0

    def bar(self, row, floor):
        server, redis = COLOURS[row.contender]
        first = row.server_us * self.scale
        second = row.redis_us * self.scale
        self.box(LEFT, self.y, first, BAR - 2, server)
        self.box(LEFT + first, self.y, second, BAR - 2, redis)
        value = f"{row.sum_us:.1f}"
        if floor:
            value += f" · {row.sum_us / floor.sum_us:.1f} × floor"
        self.text(LEFT + first + second + 5, self.y + BAR - 4, value, "value")
        self.y += BAR

    def group(self, label, rows, floor):
        middle = self.y + len(rows) * BAR / 2 + 4
        self.text(LEFT - 10, middle, label, "end")
        for row in rows:
            self.bar(row, floor)
        self.y += GAP

    def head(self, words):
        self.y += 22
        self.text(20, self.y, words, "head")
        self.y += 12


def groups(results):
    """Title, and label and rows of each group of bars."""
    plan = results.plan

    def rows_of(cell):
        return [row for row in results.rows if row.cell == cell]

    yield f"{plural(plan.size, 'pet')}, 1 key", [
        (case.text, rows_of(Cell(case, plan.size))) for case in MAIN
    ]
    yield "By size of the catalogue", [
        (f"{case.text}, {plural(size, 'pet')}", rows_of(Cell(case, size)))
        for case in SIZES
        for size in plan.sizes
    ]
    yield "By number of keys", [
        (f"{case.text}, {plural(keys, 'key')}", rows_of(Cell(case, plan.size, keys)))
        for case in KEYS
        for keys in plan.keys[1:]
    ]


def draw_legend(drawing):
    x = 20
    for name, (server, redis) in COLOURS.items():
        drawing.box(x, drawing.y - 10, 12, 12, server)
        drawing.box(x + 12, drawing.y - 10, 12, 12, redis)
        drawing.text(x + 30, drawing.y, TITLES[name])
        x += 50 + 8 * len(TITLES[name])
    drawing.text(x, drawing.y, "dark: nginx or node, light: Redis", "quiet")


def draw(results):
    floor = results.floor()
    shown = [row for row in results.rows if row.contender in COLOURS and not row.cell.rate]
    longest = max([row.sum_us for row in shown] + [1])
    drawing = Drawing((WIDTH - LEFT - RIGHT) / longest)
    drawing.y = 32
    drawing.text(20, drawing.y, "CPU time per request, µs", "title")
    drawing.y += 26
    draw_legend(drawing)
    drawing.y += 8
    top = drawing.y
    for title, members in groups(results):
        members = [(label, rows) for label, rows in members if rows]
        if members:
            drawing.head(title)
        for label, rows in members:
            drawing.group(label, rows, floor)
    height = drawing.y + 24

    if floor:
        x = LEFT + floor.sum_us * drawing.scale
        drawing.line(x, top, x, drawing.y, "#c22", "4 3")
        words = f"floor: nginx, return 200, {floor.sum_us:.1f} µs"
        drawing.text(x, drawing.y + 14, words, "quiet")
    return drawing.document(height, "CPU time per request by case and contender")
