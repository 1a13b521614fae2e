"""Instructions per task, counted by callgrind and held against a budget: a figure that other load does not move."""
import sys

from . import callgrind, options, report
from .measure import say

GOALS = {"independent": 250, "data2": 500}      # where the project wants to be
BUDGETS = {"independent": 600, "data2": 1050}   # where it is, and some room: more than this fails


def add(commands):
    p = options.command(commands, sys.modules[__name__], "instructions", "instructions per task, by callgrind, against the budget", warn=False)
    p.add_argument("--pump", help="manual: the caller steps the worker, which costs more per task")
    p.add_argument("--profile", action="store_true", help="by function; shown anyway where the budget is exceeded")


def measure(args, rows):
    if not callgrind.there():
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
            less, more = (callgrind.by_function([prog, "--pattern", pattern, "--workers", "1", "--n", n, *extra]) for n in (few, many))
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
