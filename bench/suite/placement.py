"""Kernels that a core and an OpenCL device can run, in the world's time: where they went, and what the models had told."""
import subprocess
import sys

from . import options, report
from .measure import lines_of, say

SHARE_GOAL = 0.95  # of a kernel's tasks where it is faster


def add(commands):
    text = "kernels that a core and an OpenCL device can run, in the world's time: where they went, and what the models had told"
    p = options.command(commands, sys.modules[__name__], "placement", text)
    p.add_argument("--policy", default="dmda", help="the scheduler (%(default)s)")
    p.add_argument("--rounds", type=int, default=60, help="of four tasks of each kernel (%(default)s)")
    p.add_argument("--length", type=int, default=16384, help="numbers of a vector (%(default)s)")
    p.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="(%(default)s)")


def measure(args, rows):
    prog = args.bin / "placement-consort"
    try:
        done = subprocess.run([str(prog), "--policy", args.policy, "--rounds", str(args.rounds), "--length", str(args.length)],
                              capture_output=True, text=True, timeout=args.limit)
    except subprocess.TimeoutExpired:
        say(f"no answer within {args.limit:g} s")
        return 1
    if done.stderr.strip():
        say(done.stderr.strip())
    if done.returncode == 3:
        return 77
    rows.add(lines_of(done.stdout))
    if done.returncode:
        say(f"wrong: the result is off by {rows[0]['error'] if rows else '?'}")
    return 1 if done.returncode else 0


def one_place(x):
    return "–" if x is None else f"{x:.1f}"


def off(r):
    return "–" if r["predicted_us"] is None or not r["measured_us"] else f"{100 * (r['predicted_us'] / r['measured_us'] - 1):+.0f} %"


def table(rows):
    return ["kernel", "units", "tasks", "told, us", "measured, us", "off by", "share", "goal", ""], [
        [r["kernel"], r["units"], r["tasks"], one_place(r["predicted_us"]), one_place(r["measured_us"]), off(r), f"{100 * r['share']:.1f} %",
         f">= {100 * SHARE_GOAL:.0f} %" if r["faster"] else "", ("ok" if r["share"] >= SHARE_GOAL else "missed") if r["faster"] else ""] for r in rows]


def show(args, rows):
    report.table(*table(rows))
    return 0 if len(rows) == 6 and sum(r["faster"] and r["share"] >= SHARE_GOAL for r in rows) == 3 else 1
