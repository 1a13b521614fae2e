"""A call through a plugin's table: ns for each task that goes to a plugin or comes from it, beside the budget."""
import statistics
import subprocess
import sys

from . import options, report
from .measure import lines_of, say


def add(commands):
    p = options.command(commands, sys.modules[__name__], "crossing", "a call through a plugin's table: ns a task, in batches of 1 and 16")
    p.add_argument("--rounds", type=int, default=7, help="processes (%(default)s)")


def measure(args, rows):
    command = [str(args.bin / "crossing-consort"), *(str(args.bin / f"crossing-{how}.so") for how in ("table", "class"))]
    runs = []
    for _ in range(args.rounds):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            say(f"exit {done.returncode}: {done.stderr.strip()}")
            return 1
        runs.append(lines_of(done.stdout))
    rows.add([dict(row, ns=statistics.median(r[i]["ns"] for r in runs)) for i, row in enumerate(runs[0])])
    return 0


def show(args, rows):
    report.table(["plugin", "batch", "ns a task", "budget", ""],
                 [[r["plugin"], r["batch"], f"{r['ns']:.2f}", r["budget"], "ok" if r["ns"] <= r["budget"] else "over"] for r in rows])
    return 0 if rows and all(r["ns"] <= r["budget"] for r in rows) else 1
