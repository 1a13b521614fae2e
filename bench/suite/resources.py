"""What a runtime holds and takes: bytes per pending task and per handle; its start, its stop, its memory when idle; the
processor time of a task that comes once in a millisecond."""
import statistics
import sys

from . import options, report
from .measure import call, in_turns
from .runtimes import RUNTIMES, programs

FOOTPRINT = {"bytes_per_task": "B per pending task, 2 data", "bytes_per_handle": "B per handle"}
START = {"start_stop_ms": "warm start + stop, ms", "start_stop_min_ms": "least, ms", "idle_rss_mb": "idle RSS, MB",
         "rss_before_mb": "before start, MB"}
IDLE = {"cpu_us_per_task": "processor time per task, us (goal 40)", "cpu_us_without": "the same milliseconds without tasks, us"}


def add(commands):
    for name, text, columns, mode, extra in [
            ("footprint", "bytes per pending task and per handle", FOOTPRINT, "memory", ["--n", 100000]),
            ("start", "start and stop, and what an idle runtime holds", START, "start", ["--reps", 21]),
            ("idle", "one empty task in a millisecond: the processor time of each", IDLE, "idle", ["--n", 1000])]:
        p = options.command(commands, sys.modules[__name__], name, text, columns=columns, mode=mode, extra=extra, warn=name != "footprint")
        options.turns(p, 3)
        options.runtimes(p, [r for r in RUNTIMES if r != "tbb-hand"])


def measure(args, rows):
    progs, workers = programs(args, rows), args.workers[0]
    env = {"OMP_WAIT_POLICY": "passive"} if args.mode == "idle" else {}  # who is almost idle asks OpenMP to sleep

    def keep(runtime, results):
        rows.add({"runtime": runtime, "workers": workers, **{c: statistics.median(r[c] for r in results) for c in args.columns}})
    in_turns(args.rounds, progs, lambda r: call([progs[r], "--mode", args.mode, "--workers", workers, *args.extra], env=env), keep)


def table(columns, rows):
    return ["runtime", *columns.values()], [[r["runtime"], *(report.number(r[c]) for c in columns)] for r in rows]


def show(args, rows):
    report.table(*table(args.columns, rows))
    return 0
