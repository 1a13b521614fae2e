"""METG(50 %): the smallest task with which half of the workers' time is work."""
import statistics
import sys

from . import compare, draw, options, report
from .measure import call, in_turns, say
from .runtimes import RUNTIMES, environment, programs, share_of

PATTERNS = ["wavefront", "data4", "stencil"]
GOALS = {"stencil": (1.5, None)}  # to the sketch, to the best peer


def add(commands):
    p = options.command(commands, sys.modules[__name__], "metg", "the smallest task with half efficiency")
    options.turns(p, 3)
    options.runtimes(p, RUNTIMES, n=1e5)


def timed(args, rows, progs, pattern, workers, more):
    """Adds a row for each runtime; `more(runtime)` is what else stands in it."""
    def once(runtime):
        return call([progs[runtime], "--mode", "metg", "--pattern", pattern, "--workers", workers, "--reps", 3,
                     "--n", share_of(pattern, runtime, args.n)], 120, environment(pattern))

    def keep(runtime, results):
        us = [r["metg_us"] for r in results]
        rows.add({"pattern": pattern, "runtime": runtime, "workers": workers,
                  "metg_us_min": min(us), "metg_us_median": statistics.median(us), **more(runtime)})
    in_turns(getattr(args, "metg_rounds", args.rounds), progs, once, keep)
    mine = [r for r in rows if r["pattern"] == pattern and "metg_us_median" in r]
    say(f"  {pattern}: " + ", ".join(f"{r['runtime']} {r['metg_us_median']:.2f} us" for r in mine))


def measure(args, rows):
    progs = programs(args, rows)
    for pattern in PATTERNS:
        timed(args, rows, progs, pattern, args.workers[0], lambda r: {})


def table(rows):
    return compare.table(rows, "metg_us_median", "METG(50 %), us", lambda r: r["pattern"], str, lambda k: GOALS.get(k, (None, None)))


def show(args, rows):
    if not rows:
        return 1
    report.table(*table(rows))
    print("\n".join(compare.notes(rows)))
    draw.all_beside(args.json, pictures(rows))
    return 0


def pictures(rows):
    yield ("", draw.bars, "The smallest task with 50 % efficiency", "us, logarithmic",
           report.groups(rows, "metg_us_median", lambda r: r["pattern"], lambda k: k))
