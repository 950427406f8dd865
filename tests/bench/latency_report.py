"""Formats latencies as tables and JSON, and checks them against the goals."""

import json
import shutil
from statistics import median

import latency_chart
import report
from results import Goal

BEGIN = "<!-- latency: written by scripts/bench --latency -->"
END = "<!-- end of latency -->"
NOT_HERE = ("wrk",)
# The minimum share of the requested rate; with less, the rate is not served.
SERVED = 0.97
TO_HOP = 1.05
GOALS = ("get", "list-20")

HEAD = (
    "", "", "p50 ms", "p99 ms", "p99.9 ms", "p99, of floor", "of proxy_pass", "not served",
)  # fmt: skip
EVENT_HEAD = (
    "", "from this moment on", "window s", "p50 ms", "p99 ms", "p99.9 ms", "longest ms",
    "failed", "in ms (p99)", "last failure after s", "repeated",
)  # fmt: skip


def floors(rows):
    return {row.cell.rate: row for row in rows if row.contender == "floor"}


def hops(rows):
    return {row.cell.rate: row for row in rows if row.cell.case.name == "hop"}


def to(row, base):
    """The median of the rounds' ratios of p99."""
    pairs = zip(row.samples, base.samples)
    return median(mine.p99_ms / other.p99_ms for mine, other in pairs)


def failures(row):
    """Failures per round, in words."""
    counts = [
        (median(sample.statuses.get(status, 0) for sample in row.samples), status)
        for status in sorted({s for sample in row.samples for s in sample.statuses})
    ]
    return [f"{count:,.0f} × {status}" for count, status in counts]


def not_served(row):
    """What was not served, in words; empty if every request was."""
    words = failures(row)
    if row.reached < SERVED * row.cell.rate:
        words.append(f"only {row.reached:,.0f} per second")
    return ", ".join(words)


def goals(rows):
    for row in rows:
        hop = hops(rows).get(row.cell.rate)
        if row.contender == "petstore" and row.cell.case.name in GOALS and hop:
            text = f"{row.cell.case.text}, {row.cell.rate:,} requests per second:"
            yield Goal(f"{text} p99, of proxy_pass", TO_HOP, to(row, hop))


def milliseconds(value):
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def columns(row, floor, hop):
    return (
        row.cell.case.text,
        "" if row is floor or row.cell.case.name == "hop" else report.TITLES[row.contender],
        *(milliseconds(value) for value in (row.p50_ms, row.p99_ms, row.p999_ms)),
        f"{row.p99_ms / floor.p99_ms:.2f}",
        f"{row.p99_ms / hop.p99_ms:.2f}",
        not_served(row) or "–",
    )


def event_columns(row):
    return (
        report.TITLES[row.contender],
        row.cell.event,
        str(row.cell.seconds),
        *(
            milliseconds(value)
            for value in (row.p50_ms, row.p99_ms, row.p999_ms, row.longest_ms)
        ),
        ", ".join(failures(row)) or "–",
        milliseconds(row.failed_p99_ms) if row.failed else "–",
        f"{row.failed_until:.1f}" if row.failed else "–",
        f"{row.repeated:,.0f}",
    )


def tables(rows, events, event_rate):
    for rate, floor in floors(rows).items():
        hop = hops(rows)[rate]
        lines = [columns(row, floor, hop) for row in rows if row.cell.rate == rate]
        yield f"{rate:,} requests per second", HEAD, lines
    if events:
        title = f"During events, {event_rate:,} requests per second"
        yield title, EVENT_HEAD, [event_columns(row) for row in events]


def plan_line(plan, rows, events):
    parts = []
    if rows:
        parts.append(f"{plan['rounds']} rounds of {plan['seconds']:g} s")
    if events:
        parts.append(f"{plan['event_rounds']} of each event")
    return "; ".join(parts) + "; medians"


def in_markdown(document, rows, events):
    plan = document["plan"]
    versions = ", ".join(
        f"{name} {text}"
        for name, text in document["versions"].items()
        if name not in NOT_HERE
    )
    lines = [
        f"Measured on {document['date']} by `{document['command']}`:"
        f" {plan_line(plan, rows, events)}.",
        "",
        f"- {report.machine_line(document['machine'])}",
        f"- {versions}",
        f"- {document['foreign']:.1%} of the CPU time went to processes outside the"
        " benchmark",
        "",
        "![p50, p99 and p99.9](latency.svg)",
    ]
    if rows:
        lines += ["", "| goal | at most | measured | |", "|---|--:|--:|---|"]
    for goal in goals(rows):
        verdict = "met" if goal.met else "**missed**"
        lines.append(f"| {goal.text} | {goal.bound} | {goal.value:.2f} | {verdict} |")
    for title, head, cells in tables(rows, events, plan["event_rate"]):
        lines += ["", f"### {title}", "", *report.markdown_table(head, cells)]
    return "\n".join(lines)


def sample_as_json(sample):
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in vars(sample).items()
    }


def as_json(document, rows, events):
    def medians(row):
        names = ("p50_ms", "p99_ms", "p999_ms", "longest_ms")
        return {name: round(getattr(row, name), 4) for name in names}

    return {
        **document,
        "foreign": round(document["foreign"], 4),
        "goals": [goal.as_json() for goal in goals(rows)],
        "rates": [
            {
                "case": row.cell.case.name,
                "text": row.cell.case.text,
                "rate": row.cell.rate,
                "contender": row.contender,
                **medians(row),
                "rounds": [sample_as_json(sample) for sample in row.samples],
            }
            for row in rows
        ],
        "events": [
            {
                "event": row.cell.event,
                "seconds": row.cell.seconds,
                "contender": row.contender,
                **medians(row),
                "rounds": [sample_as_json(sample) for sample in row.samples],
            }
            for row in events
        ],
    }


def write(folder, page_of_project, document, rows, events):
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(as_json(document, rows, events), indent=1, ensure_ascii=False)
    (folder / "latency.json").write_text(text + "\n")
    (folder / "latency.svg").write_text(latency_chart.draw(rows, events))
    page = folder / "README.md"
    # A page written by an earlier trial may lack the markers.
    if not page.exists() or page.resolve() != page_of_project.resolve():
        shutil.copy(page_of_project, page)
    report.into_page(page, in_markdown(document, rows, events), BEGIN, END)
