"""METG(50 %): the smallest task with which half of the workers' time is work."""
import statistics
import sys

from . import draw, options, report
from .measure import call, in_turns, say
from .runtimes import RUNTIMES, programs, share_of

PATTERNS = ["wavefront", "data4", "stencil"]


def add(commands):
    p = options.command(commands, sys.modules[__name__], "metg", "the smallest task with half efficiency")
    options.turns(p, 3)
    options.runtimes(p, RUNTIMES, n=1e5)


def measure(args, rows):
    progs, workers = programs(args, rows), args.workers[0]
    for pattern in PATTERNS:
        def once(runtime):
            return call([progs[runtime], "--mode", "metg", "--pattern", pattern, "--workers", workers, "--reps", 3,
                         "--n", share_of(pattern, runtime, args.n)])

        def keep(runtime, results):
            us = [r["metg_us"] for r in results]
            rows.add({"pattern": pattern, "runtime": runtime, "workers": workers,
                      "metg_us_min": min(us), "metg_us_median": statistics.median(us)})
        in_turns(args.rounds, progs, once, keep)
        say(f"  {pattern}: " + ", ".join(f"{r['runtime']} {r['metg_us_median']:.2f} us" for r in rows if r["pattern"] == pattern))


def show(args, rows):
    report.table(*report.ratios(rows, "metg_us_median", "METG(50 %), us"))
    draw.beside(args.json, draw.bars, "The smallest task with 50 % efficiency", "us, logarithmic",
                report.groups(rows, "metg_us_median", lambda r: r["pattern"], lambda k: k))
    return 0
