"""Starts the programs of the benchmarks: where they are, their turns, and whether the machine is quiet.
Every benchmark uses it. It never decides what a figure means."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]

patience = 0  # seconds: the longest wait for quiet cores before each process (--patience)


def say(text):
    print(text, file=sys.stderr, flush=True)


def percent_busy(seconds):
    """The share of the machine that other processes take now; None where it cannot be measured."""
    def idle_and_all():
        fields = [int(x) for x in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return fields[3] + fields[4], sum(fields)
    try:
        (idle0, all0), _, (idle1, all1) = idle_and_all(), time.sleep(seconds), idle_and_all()
    except (OSError, IndexError, ValueError):
        return None
    return 100 * (1 - (idle1 - idle0) / max(all1 - all0, 1))


def warn_if_busy(busy):
    """Warns of other processes on these cores, with their share: their work is in every figure."""
    if busy is not None and busy > 5:
        say(f"warning: the machine is {busy:.0f} % busy with something else; compare inside this run only, and distrust differences")


def wait_for_quiet(limit):
    end = time.monotonic() + limit
    while time.monotonic() < end and (percent_busy(0.2) or 0) > 10:
        pass


def find_programs(folder):
    build = BENCH.parent / "build"
    candidates = [Path(folder)] if folder else [build / "release" / "bench", build / "bench", *sorted(build.glob("*/bench"))]
    told = os.environ.pop("CONSORT_BUILD_DIR", None)  # the programs would take it for a misspelt setting
    if not folder and told:
        candidates = [Path(told) / "bench"]
    for c in candidates:
        if (c / "micro-consort").exists() or (folder and c.is_dir()):
            return c
    sys.exit("no benchmark programs found; build them with ./run bench, or by hand:\n"
             "  cmake --preset release && cmake --build build/release --target bench")


def call(command, timeout=120, env=None):
    """The program's line of JSON; None where it has no such thing (exit 3). A failure is said, not hidden."""
    if patience:
        wait_for_quiet(patience)
    told = dict(os.environ, OMP_PROC_BIND="true", OMP_WAIT_POLICY=os.environ.get("OMP_WAIT_POLICY", "active")) | (env or {})
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, env=told)
    except subprocess.TimeoutExpired:
        say(f"  no answer within {timeout} s: {' '.join(map(str, command))}")
        return None
    if done.returncode == 3:
        return None
    lines = lines_of(done.stdout)
    if not lines or done.returncode != 0:
        say(f"  exit {done.returncode}: {' '.join(map(str, command))}\n  {(done.stdout + done.stderr).strip()[-400:]}")
        return lines[-1] | {"failed": True} if lines else None
    return lines[-1]


def lines_of(text):
    """The lines of JSON in a program's output."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def in_turns(rounds, names, once, keep):
    """Calls once(name) for each name in turn, `rounds` times; None or a failure drops the name. At the end, or when the
    run is stopped, keep(name, results) gets what there is."""
    found = {name: [] for name in names}
    try:
        for _ in range(rounds):
            for name in list(found):
                got = once(name)
                if got is None or got.get("failed"):
                    del found[name]
                else:
                    found[name].append(got)
    finally:
        for name, results in found.items():
            if results:
                keep(name, results)
