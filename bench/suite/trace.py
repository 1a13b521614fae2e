"""What a trace costs: tasks of several lengths with a trace and without, in turns, and the stop that writes the file."""
import os
import statistics
import sys
import tempfile
from pathlib import Path

from . import options, report
from .measure import call, in_turns

EVENTS = 2  # of a task: its start and its end
GOAL_NS = 15  # an event, without what the tasks do
GOAL_PERCENT = {1000: 12, 100_000: 1}


def add(commands):
    text = "what a trace costs: empty tasks, tasks of 1 us and of 100 us on one worker, and the stop that writes it"
    p = options.command(commands, sys.modules[__name__], "trace", text)
    options.turns(p, 7)
    p.add_argument("--lengths", type=options.numbers, default=[0, 1000, 100_000], help="of the tasks, ns, comma-separated")
    p.add_argument("--seconds", type=float, default=0.5, help="about so long is each run (%(default)s)")
    p.add_argument("--workers", type=int, default=1, help="(%(default)s)")


def measure(args, rows):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.trace"
        base = {k: v for k, v in os.environ.items() if k.startswith("CONSORT_")}
        if base:
            sys.exit(f"settings of the environment would be measured too: unset {' '.join(base)}")
        for length in args.lengths:
            n = max(100, min(200_000, int(args.seconds * 1e9 / max(length, 1000))))
            found = {}
            on = {"CONSORT_TRACE": str(file), "CONSORT_TRACE_EVENTS": str(2 * n + 10_000)}  # all of them are kept
            in_turns(args.rounds, ["off", "on"],
                     lambda name: call([args.bin / "trace-consort", "--n", n, "--length", length, "--workers", args.workers],
                                       env=on if name == "on" else None),
                     lambda name, results: found.update({name: results}))
            if len(found) != 2 or not all(found.values()):
                return 1
            ns, stop = ({name: statistics.median(r[key] for r in results) for name, results in found.items()} for key in ("ns", "stop_ns"))
            rows.add({"length": length, "tasks": n, "workers": args.workers, "off_ns": ns["off"], "on_ns": ns["on"],
                      "event_ns": (ns["on"] - ns["off"]) / EVENTS, "percent": 100 * (ns["on"] / ns["off"] - 1),
                      "stop_ns": stop["on"] - stop["off"], "file_bytes": file.stat().st_size / n})
    return 0


def verdict(r):
    if not r["length"]:
        return f"<= {GOAL_NS} ns an event", r["event_ns"] <= GOAL_NS
    most = GOAL_PERCENT.get(r["length"])
    return (f"<= {most} %", r["percent"] <= most) if most else ("", True)


def table(rows):
    return ["task, us", "off, ns", "on, ns", "an event, ns", "slower", "goal", "", "written at the stop, ns a task", "B a task"], [
        [f"{r['length'] / 1000:g}", f"{r['off_ns']:.0f}", f"{r['on_ns']:.0f}", f"{r['event_ns']:.1f}", f"{r['percent']:.1f} %", verdict(r)[0],
         "ok" if verdict(r)[1] else "missed", f"{r['stop_ns']:.0f}", f"{r['file_bytes']:.0f}"] for r in rows]


def show(args, rows):
    report.table(*table(rows))
    return 0
