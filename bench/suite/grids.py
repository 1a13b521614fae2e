"""Grids of tasks: eight shapes of dependences with 1 to 9 inputs, each at three widths; cost per task and METG(50 %).

Half of the shapes and widths are held out: nothing is tuned by them, so that what is gained there is gained anywhere."""
import statistics
import sys

from . import compare, draw, metg, micro, options, report
from .measure import say
from .runtimes import RUNTIMES, programs

SHAPES = {"line": 1, "stencil": 3, "fft": 2, "spread": 5, "fan": 1, "sweep": 2, "near": 9, "random": 9}  # the most inputs
HELD_OUT = ("fan", "sweep", "near", "random")
WIDTHS, HELD_OUT_WIDTHS = (6, 96, 1500), (8, 120, 1200)
NARROW = 200           # the goals hold for widths up to this
GOALS = (1.6, 0.75)    # to the sketch, to the best peer
METG_GOALS = (1.5, None)


def add(commands):
    p = options.command(commands, sys.modules[__name__], "grids", "grids of tasks: cost and METG for eight shapes at three widths")
    options.turns(p, 7)
    options.runtimes(p, [r for r in RUNTIMES if r != "tbb-hand"], n=1e5)
    p.add_argument("--shapes", type=options.names, default=list(SHAPES), help="comma-separated: " + ",".join(SHAPES))
    p.add_argument("--widths", type=options.numbers, help="of all shapes (those of the set that a shape is in)")
    p.add_argument("--set", choices=["all", "tuning", "held-out"], default="all", help="(%(default)s)")
    p.add_argument("--metg-rounds", type=int, default=3, help="processes per runtime for METG; 0: cost alone (%(default)s)")
    p.add_argument("--no-check", action="store_true", help="leave out the checked run; what runs inline is then not marked")
    p.add_argument("--check-n", type=int, default=20000, help="tasks of the checked run (%(default)s)")


def grids(args):
    for shape in args.shapes:
        held_out = shape in HELD_OUT
        if args.set == "all" or (args.set == "held-out") == held_out:
            for width in args.widths or (HELD_OUT_WIDTHS if held_out else WIDTHS):
                yield f"grid:{shape}:{width}", {"shape": shape, "width": width, "inputs": SHAPES.get(shape), "held_out": held_out}


def measure(args, rows):
    progs, workers = programs(args, rows), args.workers[0]
    chosen = list(grids(args))
    wrong, inline = 0, set()
    if not args.no_check:
        say("checking order and count …")
        wrong, inline = micro.checked(args, progs, [p for p, _ in chosen], [workers])
    for measured in (micro.timed, metg.timed) if args.metg_rounds else (micro.timed,):
        for pattern, about in chosen:
            measured(args, rows, progs, pattern, workers, lambda r: about | ({"inline": True} if (r, pattern, workers) in inline else {}))
    return 1 if wrong else 0


def key(r):
    return r["shape"], r["width"], r["held_out"]


def title(k):
    return f"{k[0]} {k[1]}" + (" *" if k[2] else "")


def tables(rows):
    """(header, rows) for the cost and for METG, as far as they were measured."""
    for value, unit, goals in [("ns_median", "ns per task, median", GOALS), ("metg_us_median", "METG(50 %), us", METG_GOALS)]:
        mine = [r for r in rows if value in r]
        if mine:
            yield compare.table(mine, value, unit, key, title,
                                lambda k: (None, None) if k[1] > NARROW or (goals is METG_GOALS and k[0] != "stencil") else goals)


def ratio_bars(rows, value):
    out = []
    for k in dict.fromkeys(key(r) for r in rows):
        to_sketch, to_best, _ = compare.ratios([r for r in rows if key(r) == k and value in r], value)
        out.append((title(k), [("to the sketch", to_sketch), ("to the best peer", to_best)]))
    return out


def mean(values):
    values = [v for v in values if v]
    return statistics.geometric_mean(values) if values else None


def summary(rows):
    """Geometric means of both ratios, of what was tuned by and of what was not: lines of text."""
    out = []
    for value, what in (("ns_median", "cost"), ("metg_us_median", "METG")):
        for held_out, name in ((False, "tuned by"), (True, "held out")):
            ratios = [compare.ratios([r for r in rows if key(r) == k and value in r], value)
                      for k in dict.fromkeys(key(r) for r in rows) if k[2] == held_out and k[1] <= NARROW]
            to_sketch, to_best = mean(r[0] for r in ratios), mean(r[1] for r in ratios)
            if to_sketch or to_best:
                out.append(f"{what}, widths up to {NARROW}, {name}: {compare.verdict(to_sketch, None)} the sketch, "
                           f"{compare.verdict(to_best, None)} the best peer (geometric means)")
    return out


def show(args, rows):
    if not rows:
        return 1
    for header, lines in tables(rows):
        report.table(header, lines)
        print()
    print("\n".join([*summary(rows), "*: held out, nothing is tuned by it", *compare.notes(rows)]))
    draw.all_beside(args.json, pictures(rows))
    return 0


def pictures(rows):
    for name, value, title in (("cost", "ns_median", "Grids: Consort's time per task"), ("metg", "metg_us_median", "Grids: Consort's METG(50 %)")):
        yield name, draw.bars, f"{title}, in times of others'", "times; * held out", ratio_bars(rows, value), False
