"""Formats the results of the soak test as text, JSON and Markdown."""

import json
import shutil
from collections import Counter
from statistics import median

import curves
import report
from paced import percentile

SAMPLES_EVERY = 10  # seconds, in the JSON
NOT_HERE = ("node", "Fastify", "ioredis", "wrk")


def served(run):
    counts = Counter()
    for second in run.outcome.served.values():
        for (_, status), count in second.items():
            counts[status] += count
    return counts


def statuses(replies):
    """How often each operation of the admin API got each status."""
    counts = {}
    for reply in replies:
        counts.setdefault(reply.operation, Counter())[reply.status] += 1
    return counts


def all_latencies(outcome):
    """Latencies of all requests, failed ones included."""
    total = sum(outcome.latencies.values(), Counter())
    for failed in outcome.failed.values():
        for (_, bucket), count in failed.items():
            total[bucket] += count
    return total


def in_text(run, verdict):
    lines = []
    for check in verdict.checks:
        lines.append(f"{'met   ' if check.met else 'FAILED'}  {check.text}: {check.found}")
    lines += verdict.bad_lines[:20]
    counts = served(run)
    lines.append("responses: " + ", ".join(f"{n:,} × {s}" for s, n in sorted(counts.items())))
    lines += [outage_line(run, verdict, event) for event in run.events.outages]
    return "\n".join(lines)


def outage_line(run, verdict, event):
    failed = [r for r in run.outcome.unexpected if event.covers(r)]
    last = max((r.sent for r in failed), default=event.begin)
    what = {
        "restart": "Redis restarted: all Sentinels knew the new process",
        "switch": "SENTINEL FAILOVER: all Sentinels had announced the new primary",
        "handover": "FAILOVER, then SENTINEL FAILOVER: all Sentinels had announced the new"
        " primary",
        "failover": "primary killed: all Sentinels had announced the new one",
        "cluster-failover": "primary of the Cluster killed: its replica was promoted",
    }[event.name]
    return (
        f"{what} after {event.end - event.begin:.2f} s; {len(failed):,} requests failed"
        f" in these {event.end - event.begin:.2f} s and the {event.grace} s after them,"
        f" the last one {last - event.end:+.2f} s from the end"
    )


def generations(run):
    """The medians over the workers and samples of each generation."""
    for generation in run.events.generations:
        usages = [
            sample.workers[pid]
            for sample in run.watch.samples
            for pid in generation.workers & sample.workers.keys()
            if sample.time - generation.born > 35
        ]
        if usages:
            yield {
                "born": round(generation.born - run.began, 1),
                "rss": round(median(u.rss for u in usages)),
                "pss": round(median(u.pss for u in usages)),
                "private": round(median(u.private for u in usages)),
                "descriptors": median(u.descriptors for u in usages),
                "gone_after": generation.gone_after and round(generation.gone_after, 2),
            }


def as_json(document, run, verdict):
    began = run.began
    return {
        **document,
        "workers": run.workers,
        "saturation": round(run.saturation),
        "rate": run.rate,
        "seconds": round(run.ended - began, 1),
        "foreign": round(run.foreign, 4),
        "longest_pause": round(run.longest_pause, 2),
        "checks": [check.__dict__ for check in verdict.checks],
        "events": [
            {"name": e.name, "begin": round(e.begin - began, 2), "end": round(e.end - began, 2)}
            for e in (*run.events.reloads, *run.events.outages, *run.events.others)
        ],
        "responses": dict(sorted(served(run).items())),
        "raced": len(run.outcome.raced),
        "lost_in_failovers": verdict.lost,
        "audits": [
            {
                "time": round(audit.time - began, 1),
                "ledger": audit.ledger,
                "admitted": audit.admitted,
                "in_doubt": audit.in_doubt,
            }
            for audit in run.audits
        ],
        "access_log": {line.decode(): n for line, n in sorted(run.access_log.lines.items())},
        "admin": statuses(run.admin.replies),
        "totals": [part.totals for part in run.parts],
        "generations": list(generations(run)),
        "samples": [
            {
                "time": round(s.time - began, 1),
                "master": s.master.__dict__,
                "workers": [usage.__dict__ for usage in s.workers.values()],
                "redis": s.redis,
                "admitted": s.admitted,
            }
            for s in run.watch.samples[::SAMPLES_EVERY]
        ],
    }


def in_markdown(name, document, run, verdict):
    versions = ", ".join(
        f"{program} {text}"
        for program, text in document["versions"].items()
        if program not in NOT_HERE
    )
    latencies = all_latencies(run.outcome)
    counts = served(run)
    total = sum(counts.values())
    lines = [
        f"Measured on {document['date']} by `{document['command']}`:",
        "",
        f"- {report.machine_line(document['machine'])}; load generator, nginx, Redis and"
        f" Sentinels share it; {run.foreign:.0%} of its CPU time went to other work,"
        f" which kept the sampling thread waiting for {run.longest_pause:.1f} s at most",
        f"- {versions}; {run.workers} workers",
        f"- saturation: {run.saturation:,.0f} requests per second; the test ran at"
        f" {run.rate:,.0f} for {(run.ended - run.began) / 60:.0f} minutes: {total:,}"
        f" responses, {counts['503']:,} of them 503; {run.access_log.admitted:,} units"
        " admitted",
        *(f"- {outage_line(run, verdict, event)}" for event in run.events.outages),
        f"- median latency {percentile(latencies, 0.5) / 1000:.1f} ms, p99"
        f" {percentile(latencies, 0.99) / 1000:.1f} ms, outages included",
        "",
        f"![Memory, descriptors and responses over time]({name}.svg)",
        "",
        "| rule | found | |",
        "|---|---|---|",
        *(
            f"| {check.text} | {check.found} | {'met' if check.met else '**failed**'} |"
            for check in verdict.checks
        ),
    ]
    return "\n".join(lines)


def write(folder, page_of_project, name, document, run, verdict):
    """`name` is that of the files, and of the section of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(as_json(document, run, verdict), indent=1, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n")
    (folder / f"{name}.svg").write_text(curves.draw(run))
    page = folder / "README.md"
    if not page.exists():
        shutil.copy(page_of_project, page)
    report.into_page(
        page, in_markdown(name, document, run, verdict),
        f"<!-- {name}: written by scripts/soak -->", f"<!-- end of {name} -->",
    )  # fmt: skip
