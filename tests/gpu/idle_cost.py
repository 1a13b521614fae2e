#!/usr/bin/env python3
"""What a program without GPU kernels pays for GPUs that are found: CPU time and peak memory of one process, over the
doubles of the vendors' libraries.

  idle_cost.py [BUILD] [ROUNDS]     build/release, 15

Runs a program of cores alone in turns with: the cores (`drivers = "cpu"`), no device found, a device found (asleep), and
a named driver (its context is created). Prints the median of each, and its difference to the first."""
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else "build/release").resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
NODES = {"cuda": "dev/nvidia0", "hip": "dev/kfd"}
LIBRARIES = {"cuda": "libcuda_double.so", "hip": "libamdhip64_double.so"}
PROGRAM = [str(BUILD / "bin/vector_scal")]


def run(settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CONSORT_")} | settings | {"CONSORT_LOG": "error"}
    # A process of its own between: else the peak would be this interpreter's, from before the program was loaded.
    child = subprocess.Popen(["/usr/bin/time", "-f", "%M", *PROGRAM], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        sys.exit(f"{PROGRAM[0]} failed with {settings}: {said}")
    return (used.ru_utime + used.ru_stime) * 1e3, float(said.split()[-1]) / 1024


def main():
    with tempfile.TemporaryDirectory() as root:
        for node in NODES.values():
            Path(root, node).parent.mkdir(parents=True, exist_ok=True)
            Path(root, node).touch()
        cases = {"cores alone": {"CONSORT_DRIVERS": "cpu"}, "no device": {"CONSORT_DEVICE_ROOT": root + "/none"}}
        for name, library in LIBRARIES.items():
            double = BUILD / "tests/doubles" / library
            if not double.exists():
                continue
            where = {f"CONSORT_{name.upper()}__LIBRARY": str(double)}
            others = ",".join("^" + n for n in NODES if n != name)
            cases[f"{name} found"] = where | {"CONSORT_DEVICE_ROOT": root, "CONSORT_DRIVERS": "*," + others}
            cases[f"{name} named"] = where | {"CONSORT_DEVICE_ROOT": root + "/none", "CONSORT_DRIVERS": "cpu," + name}
        measured = {case: [] for case in cases}
        for _ in range(ROUNDS):
            for case, settings in cases.items():
                measured[case].append(run(settings))
    first = None
    print(f"{'':14} {'CPU ms':>8} {'MiB':>8}   differences to the cores alone, medians of {ROUNDS}")
    for case, values in measured.items():
        time, memory = (statistics.median(v[i] for v in values) for i in (0, 1))
        first = first or (time, memory)
        print(f"{case:14} {time:8.2f} {memory:8.2f}   {time - first[0]:+.2f} ms, {memory - first[1]:+.2f} MiB")


if __name__ == "__main__":
    main()
