"""Factorisations in tiles by each runtime, beside OpenBLAS's own threads: Cholesky, LU without pivoting, QR."""
import statistics
import sys

from . import draw, options, report
from .measure import call, in_turns, say
from .runtimes import RUNTIMES, programs

NAMES = {"cholesky": "Cholesky", "lu": "LU without pivoting", "qr": "QR"}
PATIENCE = 600  # seconds for a process: QR of 8,192 takes 25 s, and runs twice in each repetition


def add(commands):
    for app, name in NAMES.items():
        p = options.command(commands, sys.modules[__name__], app, f"tiled {name} against StarPU and OpenBLAS's own threads", app=app)
        options.turns(p, 3)
        p.add_argument("--runtimes", type=options.names, default=RUNTIMES, help="comma-separated: consort,starpu")
        p.add_argument("--workers", type=options.numbers, default=[2])
        p.add_argument("--reps", type=int, default=3, help="factorisations in a process, besides the first (%(default)s)")
        p.add_argument("--sizes", type=options.numbers, default=[4096, 8192] if app == "cholesky" else [4096])
        p.add_argument("--tiles", type=options.numbers, default=[64, 128, 256, 512])


def measure(args, rows):
    progs, workers = programs(args, rows, "factor"), args.workers[0]
    always = ["--app", args.app, "--workers", workers, "--reps", args.reps]
    blas = args.bin / "factor-openblas"
    for n in args.sizes:
        for tile in [t for t in args.tiles if t < n]:
            def keep(runtime, got):
                rows.add({"app": args.app, "n": n, "tile": tile, "runtime": runtime, "workers": workers,
                          **{c: statistics.median(g[c] for g in got) for c in ("gflops", "loss_percent", "outside_percent")},
                          "residual": max(g["residual"] for g in got)})
            in_turns(args.rounds, progs, lambda r: call([progs[r], *always, "--n", n, "--tile", tile], PATIENCE), keep)
            say(f"  {n}/{tile}: " + ", ".join(f"{r['runtime']} {r['gflops']:.1f} GFlop/s" for r in rows if (r["n"], r["tile"]) == (n, tile)))
        if blas.exists():
            def keep_blas(_, got):
                rows.add({"app": args.app, "n": n, "tile": 0, "runtime": "openblas", "workers": workers,
                          "gflops": statistics.median(g["gflops"] for g in got), "loss_percent": None, "outside_percent": None,
                          "residual": max(g["residual"] for g in got)})
                say(f"  {n}: openblas's own threads {rows[-1]['gflops']:.1f} GFlop/s")
            in_turns(args.rounds, ["openblas"], lambda _: call([blas, *always, "--n", n], PATIENCE), keep_blas)
    return wrong(rows)


def wrong(rows):
    """1 where a result is not that of the factorisation: single precision leaves some 1e-7 of the matrix."""
    bad = [r for r in rows if not r["residual"] < 1e-5]
    for r in bad:
        say(f"wrong result: {r['runtime']} {r['app']} {r['n']}/{r['tile']}, residual {r['residual']:.3g}")
    return 1 if bad else 0


def cell(r):
    if r is None:
        return "–"
    return f"{r['gflops']:.1f}" + (f" ({r['loss_percent']:.1f} / {r['outside_percent']:.1f} %)" if r["loss_percent"] is not None else "")


def table(rows):
    """Header and rows of text: a line for each size and tile."""
    columns = ["consort", "starpu", "openblas"]
    by = {(r["n"], r["tile"], r["runtime"]): r for r in rows}
    return ["GFlop/s (lost against kernels alone / outside of kernels)", *columns], [
        [f"{n}/{tile}" if tile else f"{n}, own threads", *(cell(by.get((n, tile, c))) for c in columns)]
        for n, tile in dict.fromkeys((r["n"], r["tile"]) for r in rows)]


def show(args, rows):
    report.table(*table(rows))
    draw.all_beside(args.json, pictures(rows))
    return 0


def pictures(rows):
    name = NAMES[rows[0].get("app", "cholesky")] if rows else ""
    yield ("", draw.bars, f"Tiled {name}, single precision", "GFlop/s",
           report.groups(rows, "gflops", lambda r: (r["n"], r["tile"]), lambda k: f"{k[0]}/{k[1]}" if k[1] else f"{k[0]}, own threads"), False)
