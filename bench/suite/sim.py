"""A policy on a described machine, in virtual time: GFlop/s of each seed beside the bound."""
import statistics
import subprocess
import sys

from . import options
from .measure import lines_of, say


def add(commands):
    p = options.command(commands, sys.modules[__name__], "sim", "a policy on a described machine, in virtual time: GFlop/s beside the bound", warn=False)
    p.add_argument("--machine", required=True, help="its file: consort machine import writes one")
    p.add_argument("--app", choices=["cholesky", "lu", "gemm"], default="cholesky", help="(%(default)s)")
    p.add_argument("--tile", type=int, default=960, help="rows of a tile (%(default)s)")
    p.add_argument("--n", type=options.numbers, default=[10], help="tiles a side; comma-separated")
    p.add_argument("--policy", type=options.names, default=["lws"], help="comma-separated")
    p.add_argument("--noise", default="0", help="kernels take up to this share more or less (%(default)s)")
    p.add_argument("--seeds", type=int, default=1, help="how many runs, each with a seed of its own (%(default)s)")
    p.add_argument("--seed", type=int, default=1, help="the first (%(default)s)")
    p.add_argument("--repeats", type=int, default=1, help="runs of each seed; what a decision takes is each call's median (%(default)s)")
    p.add_argument("--priorities", choices=["none", "levels"], default="none", help="levels: by the longest way to the end (%(default)s)")
    p.add_argument("--memory", help="of each accelerator: bytes, or 250M (of 1024)")
    p.add_argument("--only", metavar="CLASS", help="kernels for this class of units alone: cuda")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any other setting")
    p.add_argument("--trace", help="file for a line about each operation of the last run")
    p.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for all seeds of a policy (%(default)s)")


def measure(args, rows):
    prog = args.bin / "sim-consort"
    if not prog.exists():
        say("no sim-consort: it was not built (it needs GLPK: apt-get install libglpk-dev)")
        return 77
    failed = False
    for policy in args.policy:
        for n in args.n:
            command = [prog, "--machine", args.machine, "--app", args.app, "--tile", args.tile, "--n", n, "--policy", policy,
                       "--noise", args.noise, "--seed", args.seed, "--seeds", args.seeds, "--repeats", args.repeats,
                       "--priorities", args.priorities]
            command += [x for key in ("memory", "only", "trace") if getattr(args, key) for x in (f"--{key}", getattr(args, key))]
            command += [x for word in args.set for x in ("--set", word)]
            try:
                done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=args.limit)
            except subprocess.TimeoutExpired:
                say(f"  {policy}, n = {n}: no answer within {args.limit:g} s")
                failed = True
                continue
            if done.stderr.strip():
                say("  " + done.stderr.strip().replace("\n", "\n  "))
            mine = lines_of(done.stdout)
            rows.add(mine)
            failed |= done.returncode != 0
            if mine:
                rates = [r["gflops"] for r in mine]
                spread = f" ± {statistics.stdev(rates):.0f}" if len(rates) > 1 else ""
                bound = mine[0]["bound_gflops"]
                say(f"{mine[0]['machine']} {args.app} n = {n} {policy}: {statistics.mean(rates):.0f}{spread} GFlop/s, "
                    f"{100 * statistics.mean(rates) / bound:.1f} % of the bound {bound:.0f}; "
                    f"{statistics.median(r['decision_ns'] for r in mine):.0f} ns a decision, "
                    f"{statistics.median(r['wall_s'] for r in mine):.3f} s a run")
    return 1 if failed else 0


def show(args, rows):
    return 0 if rows else 1
