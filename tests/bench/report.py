"""Formats the results as tables, in text and Markdown."""

from cases import CHANGED, FLOOR, KEYS, MAIN, SIZES, Cell
from contenders import CONTENDERS, Before, Floor, Petstore

TITLES = {contender.name: contender.title for contender in (*CONTENDERS, Before, Floor)}
MODULES = (Petstore.name, Before.name)
HEAD = (
    "", "", "server µs", "Redis µs", "sum µs", "of floor", "of Lua", "requests/s",
    "Redis commands",
)  # fmt: skip

BEGIN = "<!-- results: written by scripts/bench -->"
END = "<!-- end of results -->"


def plural(number, noun):
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def sections(results):
    """The title and rows of each table. A row may be in several tables."""
    plan = results.plan
    yield f"{plural(plan.size, 'pet')}, 1 key", [
        (row.cell.case.text, row)
        for row in results.rows
        if row.cell.keys == 1
        and row.cell.size == plan.size
        and row.cell.case in (FLOOR, *MAIN)
        and not row.cell.rate
    ]
    yield f"At {plan.rate:,} requests per second, {plural(plan.size, 'pet')}, 1 key", [
        (row.cell.case.text, row) for row in results.rows if row.cell.rate
    ]
    yield f"By size of the catalogue (rare: one pet in {plan.rare:,})", [
        (f"{case.text}, {plural(size, 'pet')}", row)
        for case in SIZES
        for size in plan.sizes
        for row in results.rows
        if row.cell == Cell(case, size)
    ]
    yield f"While pets change, {plural(plan.size, 'pet')}, 1 key", [
        (case.text, row)
        for pair in CHANGED
        for case in pair
        for row in results.rows
        if row.cell == Cell(case, plan.size) and row.contender in MODULES
    ]
    yield f"By number of keys, {plural(plan.size, 'pet')}", [
        (f"{case.text}, {plural(keys, 'key')}", row)
        for case in KEYS
        for keys in plan.keys
        for row in results.rows
        if row.cell.case.name == case.name and row.cell.keys == keys
    ]


def ratio(value):
    return f"{value:.2f}" if value else "–"


def columns(results, text, row):
    floor = row.contender == "floor"
    return (
        text,
        "" if floor else TITLES[row.contender],
        f"{row.server_us:.1f}",
        "–" if floor else f"{row.redis_us:.1f}",
        f"{row.sum_us:.1f}",
        ratio(results.to_floor(row)),
        ratio(results.to_lua(row)),
        f"{row.requests_per_second:,.0f}",
        "–" if floor else f"{row.redis_commands:.2f}",
    )


def tables(results):
    for title, rows in sections(results):
        if rows:
            yield title, [columns(results, text, row) for text, row in rows]


def in_text(results):
    lines = []
    for title, rows in tables(results):
        widths = [max(map(len, column)) for column in zip(HEAD, *rows)]
        lines += ["", title]
        before = None
        for row in (HEAD, *rows):
            shown = ("",) + row[1:] if row[0] == before else row
            before = row[0]
            left = [word.ljust(width) for word, width in zip(shown[:2], widths)]
            right = [word.rjust(width) for word, width in zip(shown[2:], widths[2:])]
            lines.append("  ".join(left + right).rstrip())
    lines += ["", *memory_lines(results), *before_lines(results), "", "Goals"]
    for goal in results.goals():
        verdict = "met   " if goal.met else "MISSED"
        measured, bound = number(goal.value), number(goal.bound)
        lines.append(f"  {verdict}  {measured:>7} ≤ {bound:<5} {goal.text}")
    return "\n".join(lines)


def number(value):
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def memory_lines(results):
    for name, by_size in results.memory.items():
        size = max(by_size)
        yield (
            f"Redis memory with {plural(size, 'pet')}, {TITLES[name]}: "
            f"{by_size[size]:.1f} bytes per pet"
        )


def before_lines(results):
    pairs = [(row.cell, results.to_before(row)) for row in results.rows]
    pairs = [(cell, ratios) for cell, ratios in pairs if ratios]
    if pairs:
        yield ""
        yield "CPU time per request, of the module before: median (least, most)"
    for cell, (middle, least, most) in pairs:
        what = f"{cell.case.text}, {plural(cell.size, 'pet')}, {plural(cell.keys, 'key')}"
        yield f"  {middle:.2f}  ({least:.2f}, {most:.2f})  {what}"


def markdown_table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|---|---" + "|--:" * (len(head) - 2) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def machine_line(machine):
    kind = "virtual machine" if machine["virtual"] else "machine"
    return (
        f"{kind}: {machine['cpu']}, {plural(machine['cores'], 'core')},"
        f" {machine['memory_gib']} GiB, {machine['system']}, Linux {machine['kernel']}"
    )


def in_markdown(document):
    results = document["results"]
    plan = results.plan
    versions = ", ".join(f"{name} {text}" for name, text in document["versions"].items())
    lines = [
        f"Measured on {document['date']} by `{document['command']}`:"
        f" {plan.rounds} rounds of {plan.seconds:g} s per case, medians.",
        "",
        f"- {machine_line(document['machine'])}",
        f"- {versions}",
        f"- {results.foreign:.0%} of the CPU time went to processes outside the"
        " benchmark",
        "",
        "![CPU time per request](results.svg)",
        "",
        "## Goals",
        "",
        "| goal | at most | measured | |",
        "|---|--:|--:|---|",
    ]
    for goal in results.goals():
        verdict = "met" if goal.met else "**missed**"
        measured, bound = number(goal.value), number(goal.bound)
        lines.append(f"| {goal.text} | {bound} | {measured} | {verdict} |")
    for title, rows in tables(results):
        lines += ["", f"## {title}", "", *markdown_table(HEAD, rows)]
    lines += ["", "## Memory", "", *(f"- {line}" for line in memory_lines(results))]
    return "\n".join(lines)


def into_page(page, markdown, begin=BEGIN, end=END):
    """Replaces the part of a page between `begin` and `end`."""
    text = page.read_text()
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}\n\n{markdown}\n\n{end}{after}")
