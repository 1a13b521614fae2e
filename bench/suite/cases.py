"""Benchmarks that measure each case beside a reference of the same run: data that move, and GPUs."""
import os
import subprocess
import sys

from . import options, report
from .measure import lines_of, say

MEMORY = ["copies", "checksum", "chain", "overlap", "replacement", "out_of_core"]
GPU = ["launches", "copies", "overlap", "limited", "cholesky"]


def add(commands):
    p = common(commands, "memory", "copies, chains, overlap, replacement, out of core: each beside its bound", MEMORY, memory, 300)
    p.add_argument("--disk", default=os.environ.get("TMPDIR", "/var/tmp"), help="folder of the disk (%(default)s)")
    p.add_argument("--tiles", type=int, default=0, help="along a side, where there are matrices; 0: about a minute in all")
    p.add_argument("--tile", type=int, default=0, help="rows of a tile out of core; 0: as above")
    p = common(commands, "gpu", "a GPU by its driver, beside its vendor's own calls: launches, copies, overlap, limited memory, Cholesky",
               GPU, gpu, 600)
    p.add_argument("--driver", choices=["cuda", "hip", "level_zero"], help="else the first of these that has a device")
    p.add_argument("--library", help="the vendor's, by name or path; a double of the tests has it all small, and judges no speed")
    p.add_argument("--compiler", help="the vendor's for kernels as text")


def common(commands, name, text, cases, program, limit):
    p = options.command(commands, sys.modules[__name__], name, text, program=program)
    p.add_argument("--cases", type=options.names, default=cases, help="comma-separated: " + ",".join(cases))
    p.add_argument("--rounds", type=int, default=7, help="of each, in turns; the median is shown (%(default)s)")
    p.add_argument("--smoke", action="store_true", help="small and quick: that it works, not how well")
    p.add_argument("--limit", type=float, default=limit, metavar="SECONDS", help="for each case (%(default)s)")
    return p


def memory(args):
    """The command, or the exit status where there is none."""
    prog = args.bin / "memory-consort"
    if not prog.exists():
        say("no memory-consort: it was not built (it needs OpenBLAS: apt-get install libopenblas-dev)")
        return 77
    return [prog, "--reps", args.rounds, "--disk", args.disk, "--tiles", args.tiles, "--tile", args.tile]


def gpu(args):
    prog = args.bin / "gpu-consort"
    if not prog.exists():
        say("no gpu-consort: it was not built")
        return 77
    if args.library and not args.driver:
        say("--library needs --driver: whose is it?")
        return 2
    return [prog, "--reps", args.rounds, *(x for key in ("driver", "library", "compiler") if getattr(args, key) for x in (f"--{key}", getattr(args, key)))]


def meets(ratio, goal):
    """Whether the ratio is as its goal says, ">= 0.95"; None where there is none."""
    if not goal:
        return None
    relation, bound = goal.split()
    return ratio >= float(bound) if relation == ">=" else ratio <= float(bound)


def measure(args, rows):
    """A process for each case. 77: there is nothing here that could run them (exit 3)."""
    command, failed = args.program(args), False
    if isinstance(command, int):
        return command
    args.judged = not args.smoke
    for case in args.cases:
        say(f"{case} …")
        try:
            done = subprocess.run([str(c) for c in [*command, *["--smoke"] * args.smoke, "--case", case]], capture_output=True, text=True,
                                  timeout=args.limit)
        except subprocess.TimeoutExpired:
            say(f"  no answer within {args.limit} s")
            failed = True
            continue
        if done.stderr.strip():
            say("  " + done.stderr.strip().replace("\n", "\n  "))
        if done.returncode == 3:
            return 77
        args.judged &= "one of the tests' doubles" not in done.stderr
        rows.add(lines_of(done.stdout))
        if done.returncode != 0:
            say(f"  exit {done.returncode}")
            failed = True
    return 1 if failed else 0


def table(rows, judged):
    """Header and rows of text."""
    verdict = {True: "ok", False: "missed", None: ""}
    return ["", "value", "reference", "ratio", "goal", ""], [
        [r["case"], f"{r['value']:.4g} {r['unit']}", f"{r['reference']:.4g}" if r["reference"] else "–", f"{r['ratio']:.3f}" if r["reference"] else "–",
         r["goal"], verdict[meets(r["ratio"], r["goal"]) if judged else None]] for r in rows]


def show(args, rows):
    report.table(*table(rows, args.judged))
    return 0 if rows else 1
