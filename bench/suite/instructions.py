"""Instructions per task, counted by callgrind and held against a budget: a figure that other load does not move."""
import sys

from . import callgrind, options, report
from .measure import say

# What is counted: the program, its arguments; the goal; the budget, which is where the project is, and some room.
TASKS = {
    "plain": ("micro-consort", ["--pattern", "independent_bare"], None, 600),
    "one value": ("micro-consort", ["--pattern", "independent"], 400, 680),
    "two data": ("micro-consort", ["--pattern", "data2_bare"], None, 980),
    "two data and a value": ("micro-consort", ["--pattern", "data2"], 650, 1030),
    # a task of a recording of so many, with the call of the replay and the wait for its end
    "replay of 16": ("micro-consort", ["--pattern", "replay_data4", "--n", 16], None, 820),
    "replay of 64": ("micro-consort", ["--pattern", "replay_data4", "--n", 64], None, 660),
    "replay of 512": ("micro-consort", ["--pattern", "replay_data4", "--n", 512], None, 590),
    "rich": ("cliffs-consort", ["--mode", "once", "--shape", "rich"], None, 2050),  # six data, a value, a priority, a name
}


def add(commands):
    p = options.command(commands, sys.modules[__name__], "instructions", "instructions per task, by callgrind, against the budget", warn=False)
    p.add_argument("--pump", help="manual: the caller steps the worker, which costs more per task")
    p.add_argument("--tasks", type=options.names, default=list(TASKS), help="comma-separated: " + ",".join(f"'{t}'" for t in TASKS))
    p.add_argument("--profile", action="store_true", help="by function; shown anyway where the budget is exceeded")


def measure(args, rows):
    if not callgrind.there():
        return 77
    for program in {task[0] for task in TASKS.values()}:
        if not (args.bin / program).exists():
            say(f"no {program}: it was not built")
            return 77
    extra = ["--pump", args.pump] if args.pump else []
    for name in args.tasks:
        program, words, goal, budget = TASKS[name]
        counted, few, many, tasks = "--n", 20000, 70000, 50000 * 1.1  # the programs warm up with a tenth
        if "--n" in words:  # a recording of that length: its replays are counted
            counted, few = "--reps", 200
            many = few + max(50, 20000 // words[-1])
            tasks = (many - few) * words[-1]
        total = None
        for _ in range(4):  # which thread runs a task, others at work here decide, too: over the budget it is counted again
            less, more = (callgrind.by_function([args.bin / program, *words, "--workers", "1", counted, n, *extra]) for n in (few, many))
            found = {function: (value - less.get(function, 0)) / tasks for function, value in more.items()}
            if total is None or found[None] < total:
                total, per_task = found.pop(None), found
            if total <= budget:
                break
        rows.add({"task": name, "runtime": "consort", "workers": 1, "instructions": round(total, 1), "budget": budget, "goal": goal})
        if args.profile or total > budget:
            top = sorted(((v, k) for k, v in per_task.items() if v >= 1), reverse=True)
            report.table([f"{name}: function", "instructions per task"], [[function[:110], f"{v:.0f}"] for v, function in top])
            print()
    return 1 if any(r["instructions"] > r["budget"] for r in rows) else 0


def verdict(r):
    if r["instructions"] > r["budget"]:
        return "over the budget"
    return "goal missed" if r["goal"] and r["instructions"] > r["goal"] else "ok"


def table(rows):
    return ["instructions per task", "consort", "budget", "goal", ""], [
        [r["task"], f"{r['instructions']:,.0f}", f"{r['budget']:,}", r["goal"] or "–", verdict(r)] for r in rows]


def show(args, rows):
    report.table(*table(rows))
    return 0
