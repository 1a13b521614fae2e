"""Instructions per task, counted by callgrind and held against a budget: a figure that other load does not move."""
import re
import shutil
import subprocess
import sys
import tempfile

from . import options, report
from .measure import say

GOALS = {"independent": 250, "data2": 500}      # where the project wants to be
BUDGETS = {"independent": 600, "data2": 1050}   # where it is, and some room: more than this fails


def add(commands):
    p = options.command(commands, sys.modules[__name__], "instructions", "instructions per task, by callgrind, against the budget", warn=False)
    p.add_argument("--pump", help="manual: the caller steps the worker, which costs more per task")
    p.add_argument("--profile", action="store_true", help="by function; shown anyway where the budget is exceeded")


def count(prog, pattern, n, extra):
    """Instructions by function, and under None their sum."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", prog, "--pattern", pattern, "--workers", "1", "--n", n, *extra]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600)
        match = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or not match:
            sys.exit(f"valgrind failed on {pattern}:\n{done.stderr[-2000:]}")
        counts = {None: int(match.group(1))}
        listing = subprocess.run(["callgrind_annotate", "--threshold=100", out], capture_output=True, text=True).stdout
    for line in listing.splitlines():
        if m := re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+(?:[^:\s]*:)?(.*?)(?: \[.*\])?$", line):
            if m.group(2) != "PROGRAM TOTALS":
                counts[m.group(2)] = counts.get(m.group(2), 0) + int(m.group(1).replace(",", ""))
    return counts


def measure(args, rows):
    if not shutil.which("valgrind"):
        say("no valgrind: apt-get install valgrind")
        return 77
    prog = args.bin / "micro-consort"
    if not prog.exists():
        say("no micro-consort: it was not built")
        return 77
    few, many = 20000, 70000
    tasks = (many - few) * 1.1  # the programs warm up with a tenth
    extra = ["--pump", args.pump] if args.pump else []
    for pattern, budget in BUDGETS.items():
        total = None
        for _ in range(4):  # which thread runs a task, others at work here decide, too: over the budget it is counted again
            less, more = (count(prog, pattern, n, extra) for n in (few, many))
            found = {name: (value - less.get(name, 0)) / tasks for name, value in more.items()}
            if total is None or found[None] < total:
                total, per_task = found.pop(None), found
            if total <= budget:
                break
        rows.add({"pattern": pattern, "runtime": "consort", "workers": 1, "instructions": round(total, 1), "budget": budget, "goal": GOALS[pattern]})
        if args.profile or total > budget:
            top = sorted(((v, k) for k, v in per_task.items() if v >= 1), reverse=True)
            report.table([f"{pattern}: function", "instructions per task"], [[name[:110], f"{v:.0f}"] for v, name in top])
            print()
    return 1 if any(r["instructions"] > r["budget"] for r in rows) else 0


def show(args, rows):
    report.table(["instructions per task", "consort", "budget", "goal", ""],
                 [[r["pattern"], f"{r['instructions']:.0f}", r["budget"], r["goal"], "over" if r["instructions"] > r["budget"] else "ok"] for r in rows])
    return 0
