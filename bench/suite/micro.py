"""Empty tasks: nanoseconds per task for each pattern and runtime, each pattern checked first by the oracle."""
import statistics
import sys

from . import compare, draw, options, report
from .measure import call, in_turns, say
from .runtimes import RUNTIMES, environment, programs, share_of

PATTERNS = ["independent", "chain", "wavefront", "data4", "independent_bare", "chain_bare", "wavefront_bare", "data4_bare",
            "independent_prio", "wavefront_prio", "data4_wide", "sync", "acquire_release", "acquire_task", "register_unregister",
            "register_task", "independent_2sub", "chain_2sub", "wavefront_2sub", "data4_2sub", "redux", "commute", "partition",
            "replay_chain", "replay_wavefront", "replay_data4"]
CROWDED = ["independent", "chain", "wavefront", "data4", "sync"]
CROWDED_GOAL, WIDE_GOAL, SYNC_GOAL = 2.5, 2.0, 100


def add(commands):
    for name, text, patterns, runtimes, workers in [
            ("micro", "empty tasks: ns per task for each pattern and runtime", PATTERNS, RUNTIMES, (2, 1)),
            ("crowded", "empty tasks by more workers than there are cores, beside as many workers as cores", CROWDED, ["consort"], (2, 4, 8, 16))]:
        p = options.command(commands, sys.modules[__name__], name, text)
        options.turns(p, 7)
        options.runtimes(p, runtimes, workers=workers)
        p.add_argument("--patterns", type=options.names, default=patterns, help="comma-separated: " + ",".join(patterns))
        p.add_argument("--no-check", action="store_true", help="leave out the checked run; what runs inline is then not marked")
        p.add_argument("--check-n", type=int, default=20000, help="tasks of the checked run (%(default)s)")


def checked(args, progs, patterns, workers):
    """The oracle's answers: how many it found wrong, and what each runtime ran inside of its own submission."""
    wrong, inline = 0, set()
    asked = list(dict.fromkeys([*patterns, *(p.removesuffix("_bare") for p in patterns)]))  # a bare task cannot tell
    for pattern in asked:
        for runtime, prog in progs.items():
            for w in workers:
                n = max(share_of(pattern, runtime, args.check_n) // (10 if pattern == "partition" else 1), 100)
                got = call([prog, "--mode", "check", "--pattern", pattern, "--workers", w, "--n", n], 120, environment(pattern))
                if got and got.get("wrong"):
                    say(f"  WRONG: {runtime} {pattern}, {w} workers: {got['wrong']} observations")
                    wrong += 1
                if got and got.get("inline", 0) > compare.INLINE:
                    inline |= {(runtime, p, w) for p in patterns if p.removesuffix("_bare") == pattern or p == pattern}
    say("  all right" if not wrong else f"  {wrong} wrong")
    return wrong, inline


def timed(args, rows, progs, pattern, workers, more):
    """Adds a row for each runtime; `more(runtime)` is what else stands in it."""
    def once(runtime):
        return call([progs[runtime], "--pattern", pattern, "--workers", workers, "--n", share_of(pattern, runtime, args.n)], 120,
                    environment(pattern))

    def keep(runtime, results):
        ns = [x for r in results for x in r["ns"]]
        rows.add({"pattern": pattern, "runtime": runtime, "workers": workers, "n": results[0]["n"],
                  "ns_min": min(ns), "ns_median": statistics.median(ns), **more(runtime)})
    in_turns(args.rounds, progs, once, keep)
    mine = [r for r in rows if (r["pattern"], r["workers"]) == (pattern, workers) and "ns_median" in r]
    say(f"  {pattern}, {workers} w: " + ", ".join(f"{r['runtime']} {r['ns_median']:.0f}" for r in mine))


def measure(args, rows):
    progs = programs(args, rows)
    wrong, inline = 0, set()
    if not args.no_check:
        say("checking order and count …")
        wrong, inline = checked(args, progs, args.patterns, args.workers)
    for workers in args.workers:
        for pattern in args.patterns:
            timed(args, rows, progs, pattern, workers, lambda r: {"inline": True} if (r, pattern, workers) in inline else {})
    return 1 if wrong else 0


def key(r):
    return r["pattern"], r["workers"]


def title(k):
    return f"{k[0]}, {k[1]} w"


def table(rows):
    return compare.table(rows, "ns_median", "ns per task, median", key, title, lambda k: compare.GOALS.get(k, (None, None)))


def crowded_table(rows):
    """What each pattern costs with more workers, beside the least number of them."""
    few = min(r["workers"] for r in rows)
    base = {(r["pattern"], r["runtime"]): r["ns_median"] for r in rows if r["workers"] == few}
    out = []
    for pattern, runtime in dict.fromkeys((r["pattern"], r["runtime"]) for r in rows):
        mine = {r["workers"]: r["ns_median"] for r in rows if (r["pattern"], r["runtime"]) == (pattern, runtime)}
        of = base.get((pattern, runtime))
        out.append([f"{pattern}, {runtime}", *(report.number(mine.get(w)) + (
            f" ({compare.verdict(mine[w] / of, CROWDED_GOAL)})" if w != few and w in mine and of else "") for w in sorted({r["workers"] for r in rows}))])
    return ["ns per task, median"] + [f"{w} w" for w in sorted({r["workers"] for r in rows})], out


def absolute(rows):
    """The goals that are no ratio to another runtime, as lines of text."""
    by = {(r["pattern"], r["workers"]): r["ns_median"] for r in rows if r["runtime"] == "consort"}
    out = []
    if ("sync", 2) in by:
        out.append(f"sync, 2 w: {report.number(by['sync', 2])} ns (goal {SYNC_GOAL})")
    for w in (2, 1):
        if ("data4_wide", w) in by and ("data4", w) in by:
            out.append(f"10^5 data beside 1,000, {w} w: {compare.verdict(by['data4_wide', w] / by['data4', w], WIDE_GOAL)}")
    return out


def show(args, rows):
    if not rows:
        return 1
    if args.command == "crowded":
        report.table(*crowded_table(rows))
        draw.all_beside(args.json, crowded_pictures(rows))
        return 0
    report.table(*table(rows))
    print("\n".join([*absolute(rows), *compare.notes(rows)]))
    draw.all_beside(args.json, pictures(rows))
    return 0


def pictures(rows):
    for w in sorted({r["workers"] for r in rows}, reverse=True):
        shown = [r for r in rows if r["workers"] == w and not r["pattern"].startswith(("acquire", "register", "partition"))]
        yield (f"{w}w", draw.bars, f"Empty tasks by {w} worker{'s' * (w > 1)}: time per task, median", "ns, logarithmic",
               compare.bars(shown, "ns_median", key, lambda k: k[0]))


def crowded_pictures(rows):
    lines = [(f"{p}, {r}", [(x["workers"], x["ns_median"]) for x in rows if (x["pattern"], x["runtime"]) == (p, r)])
             for p, r in dict.fromkeys((x["pattern"], x["runtime"]) for x in rows)]
    yield "", draw.curves, "More workers than cores", "ns per task, median", "workers", lines
