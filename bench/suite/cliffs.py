"""What each thing that a task has costs: ns, or instructions, over the same task without it, in the same process.

With one worker the goal of an increment is that of its parts; with more it may take twice the one-way time of a cache
line, measured in the same process, for each further line that goes from the submitter to the worker."""
import statistics
import sys

from . import callgrind, draw, options, report
from .measure import call, in_turns, say
from .runtimes import why_missing

RUNTIMES = ["consort", "mini"]


def add(commands):
    p = options.command(commands, sys.modules[__name__], "cliffs", "what data, values, a priority, a name and the rest cost a task")
    options.turns(p, 5)
    options.runtimes(p, RUNTIMES, workers=(1, 2), n=20000)
    p.add_argument("--policies", type=options.names, default=["lws", "prio"], help="comma-separated (lws,prio)")
    p.add_argument("--reps", type=int, default=15, help="slices of each shape in a process (%(default)s)")
    p.add_argument("--shape", default="", help="this one alone, and what it is compared with is missing")
    p.add_argument("--count", action="store_true", help="instructions by callgrind, the least of --rounds, in place of ns")
    p.add_argument("--pump", help="with --count: manual repeats to the instruction, but the caller's steps cost more")
    p.add_argument("--no-check", action="store_true", help="leave out the checked run")


def programs(args, rows):
    found = {}
    for r in args.runtimes:
        prog = args.bin / f"cliffs-{r}"
        if prog.exists():
            found[r] = prog
        else:
            rows.missing(r, why_missing(r))
            say(f"no cliffs-{r}: {why_missing(r)}")
    return found


def configurations(args, progs):
    """(runtime, policy, workers), in the order of the columns."""
    return [(r, p, w) for r in progs for p in (args.policies if r == "consort" else [""]) for w in args.workers]


def command(args, progs, which, mode):
    runtime, policy, workers = which
    return [progs[runtime], "--mode", mode, "--workers", workers, "--n", int(args.n), "--reps", args.reps,
            *(x for key, value in (("--policy", policy), ("--shape", args.shape)) if value for x in (key, value))]


def measure(args, rows):
    progs = programs(args, rows)
    if not progs:
        return 1
    if args.count:
        return count(args, rows, progs)
    wrong = 0
    for which in [] if args.no_check else configurations(args, progs):
        got = call(command(args, progs, which, "check"))
        if got is None or got.get("wrong"):
            say(f"  WRONG: {' '.join(map(str, which))}: {got['which'] if got else 'no answer'}")
            wrong += 1

    def keep(which, results):
        rows.add(rows_of(which, results))
    in_turns(args.rounds, configurations(args, progs), lambda which: call(command(args, progs, which, "time"), 600), keep)
    return 1 if wrong else 0


def rows_of(which, results):
    """A row for each shape: its ns, and the median of what it took over its base in the same repetition."""
    runtime, policy, workers = which
    line = statistics.median(x for r in results for x in r["line_ns"])
    shapes = results[0]["shapes"]
    out = []
    for name, shape in shapes.items():
        ns = [x for r in results for x in r["shapes"][name]["ns"]]
        row = {"shape": name, "base": shape["base"], "runtime": runtime, "policy": policy, "workers": workers, "data": shape["data"],
               "ns_min": min(ns), "ns_median": round(statistics.median(ns), 2), "line_ns": round(line, 1)}
        if base := shapes.get(shape["base"]):
            over = [x - y for r in results for x, y in zip(r["shapes"][name]["ns"], r["shapes"][shape["base"]]["ns"])]
            goal = shape["goal"] - base["goal"]
            lines = max(shape["lines"] - base["lines"], 0)
            row |= {"increment": round(statistics.median(over), 2), "goal": goal or None,
                    "allowed": round(goal + (2 * line * lines if workers > 1 else 0), 1) if goal else None}
        out.append(row)
    return out


def count(args, rows, progs):
    if not callgrind.there():
        return 77
    extra = ["--pump", args.pump] if args.pump else []
    for which in configurations(args, progs):
        runtime, policy, workers = which
        if workers != 1 or (extra and runtime != "consort"):
            continue
        least = {}
        for _ in range(args.rounds):  # a worker that spins while it waits counts, too
            for dump, total in callgrind.by_dump([*command(args, progs, which, "count"), *extra]).items():
                name, base = dump.split("|")
                least[name] = base, min(total, least.get(name, (base, total))[1])
        rows.add([{"shape": name, "base": base, "runtime": runtime, "policy": policy, "workers": 1, "instructions": round(total / int(args.n)),
                   "increment": round((total - least[base][1]) / int(args.n)) if base in least else None}
                  for name, (base, total) in least.items()])
    return 0


def cell(row):
    """What a shape takes, what of it is over its base, and whether that is allowed."""
    if row is None:
        return "–"
    if "instructions" in row:
        return f"{row['instructions']:,}" + (f" ({row['increment']:+,})" if row["increment"] is not None else "")
    text = report.number(row["ns_median"])
    if "increment" not in row:
        return text
    text += f" ({row['increment']:+.1f}"
    if row["allowed"] is not None:
        text += f" / {row['allowed']:.0f}" + ("" if row["increment"] <= row["allowed"] else " !")
    return text + ")"


def table(rows):
    """Header and rows of text: a line per shape, a column per runtime, policy and number of workers."""
    key = lambda r: (r["runtime"], r["policy"], r["workers"])
    columns = list(dict.fromkeys(key(r) for r in rows))
    by = {(key(r), r["shape"]): r for r in rows}
    header = ["a task with", "over", *(f"{r if r != 'consort' else p}, {w} w" for r, p, w in columns)]
    bases = {r["shape"]: r["base"] for r in rows}
    return header, [[shape, base or "–", *(cell(by.get((c, shape))) for c in columns)] for shape, base in bases.items()]


def show(args, rows):
    if not rows:
        return 1
    report.table(*table(rows))
    if args.count:
        print("instructions of a task (over its base)")
        return 0
    lines = sorted({r["line_ns"] for r in rows})
    print(f"ns of a task, median (over its base / allowed; ! more than that); one way of a cache line: {lines[0]:g} to {lines[-1]:g} ns")
    draw.all_beside(args.json, pictures(rows))
    return 0


def pictures(rows):
    """The curves by data and by bytes, and what each other thing takes."""
    if rows and "ns_median" not in rows[0]:
        return
    mine = [r for r in rows if r["policy"] in ("lws", "")]
    configurations_of = list(dict.fromkeys((r["runtime"], r["workers"]) for r in mine))

    def curve(runtime, workers, shapes):
        by = {r["shape"]: r["ns_median"] for r in mine if (r["runtime"], r["workers"]) == (runtime, workers)}
        return [(x, by[s]) for x, s in shapes if s in by]

    def plain(workers):
        return next((r["ns_median"] for r in mine if (r["runtime"], r["workers"], r["shape"]) == ("consort", workers, "plain")), None)
    for kind in ("read", "written"):
        lines = [(f"{r}, {w} w", curve(r, w, [(0, "plain"), *((k, f"{k} {kind}") for k in range(1, 17))])) for r, w in configurations_of]
        goals = [(f"{r}, {w} w", [(0, plain(w)), (16, plain(w) + 240)]) for r, w in configurations_of if r == "consort" and plain(w)]
        yield (f"data-{kind}", draw.curves, f"A task with 0 to 16 data, {kind}", "ns per task; dashed: the goal, 15 ns a datum", "data", lines, goals)
    lines = [(f"{'4 data' if four else 'no datum'}, {w} w", curve("consort", w, [(0, "4 data" if four else "plain"), *(
        (b, f"{'4 data, ' if four else ''}value {b}") for b in (8, 64, 256))])) for four in (False, True) for r, w in configurations_of if r == "consort"]
    yield "value", draw.curves, "A task with a value", "ns per task", "bytes", lines
    groups = []
    for r in mine:
        if r["runtime"] == "consort" and r["workers"] == 1 and r.get("goal") and not r["shape"].endswith(("read", "written")):
            two = next((x["increment"] for x in mine if (x["runtime"], x["workers"], x["shape"]) == ("consort", 2, r["shape"])), None)
            groups.append((f"{r['shape']} over {r['base']}", [("1 worker", r["increment"]), ("2 workers", two), ("goal", r["goal"])]))
    yield "features", draw.bars, "What else a task has: time over the same task without", "ns", groups, False
