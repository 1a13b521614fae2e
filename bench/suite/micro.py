"""Empty tasks: nanoseconds per task for each pattern and runtime, each pattern checked first by the oracle."""
import statistics
import sys

from . import draw, options, report
from .measure import call, in_turns, say
from .runtimes import RUNTIMES, programs, share_of

PATTERNS = ["independent", "chain", "wavefront", "data4", "sync", "acquire_release", "register_unregister",
            "independent_2sub", "chain_2sub", "wavefront_2sub", "data4_2sub", "redux", "commute", "partition",
            "replay_chain", "replay_wavefront", "replay_data4"]
UNCHECKED = ("redux", "commute")  # no order to look at: tests/api/{reduction,access_modes}_test.cpp check what they give


def add(commands):
    p = options.command(commands, sys.modules[__name__], "micro", "empty tasks: ns per task for each pattern and runtime")
    options.turns(p, 7)
    options.runtimes(p, RUNTIMES, workers=(2, 1))
    p.add_argument("--patterns", type=options.names, default=PATTERNS, help="comma-separated: " + ",".join(PATTERNS))
    p.add_argument("--no-check", action="store_true", help="leave out the checked run")
    p.add_argument("--check-n", type=int, default=20000, help="tasks of the checked run (%(default)s)")


def checked(args, progs):
    """How many patterns the oracle found wrong."""
    wrong = 0
    say("checking order and count …")
    for pattern in (p for p in args.patterns if p not in UNCHECKED):
        for runtime, prog in progs.items():
            for workers in args.workers:
                got = call([prog, "--mode", "check", "--pattern", pattern, "--workers", workers, "--n", args.check_n], 120)
                if got and got.get("wrong"):
                    say(f"  WRONG: {runtime} {pattern}, {workers} workers: {got['wrong']} observations")
                    wrong += 1
    say("  all right" if not wrong else f"  {wrong} wrong")
    return wrong


def measure(args, rows):
    progs = programs(args, rows)
    wrong = 0 if args.no_check else checked(args, progs)
    for workers in args.workers:
        for pattern in args.patterns:
            def once(runtime):
                return call([progs[runtime], "--pattern", pattern, "--workers", workers, "--n", share_of(pattern, runtime, args.n)])

            def keep(runtime, results):
                ns = [x for r in results for x in r["ns"]]
                rows.add({"pattern": pattern, "runtime": runtime, "workers": workers, "n": results[0]["n"],
                          "ns_min": min(ns), "ns_median": statistics.median(ns)})
            in_turns(args.rounds, progs, once, keep)
            mine = [r for r in rows if (r["pattern"], r["workers"]) == (pattern, workers)]
            say(f"  {pattern}, {workers} w: " + ", ".join(f"{r['runtime']} {r['ns_median']:.0f}" for r in mine))
    return 1 if wrong else 0


def show(args, rows):
    if not rows:
        return 1
    report.table(*report.ratios(rows, "ns_median", "ns per task, median"))
    draw.beside(args.json, draw.bars, "Empty tasks: time per task, median", "ns, logarithmic",
                report.groups(rows, "ns_median", lambda r: (r["pattern"], r["workers"]), lambda k: f"{k[0]}, {k[1]} w"))
    return 0
