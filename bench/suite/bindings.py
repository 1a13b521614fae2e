"""What tasks cost from other languages. Python: empty tasks in a batch, and with a future each, beside concurrent.futures, joblib and
Dask; a tiled Cholesky with NumPy's kernels beside the same in C++."""
import os
import re
import shutil
import statistics
import subprocess
import sys

from . import options, report
from .measure import BENCH, call, in_turns, say

KINDS = {"batch": "in a batch", "future": "with a future each"}
PEERS = {"threads": "concurrent.futures", "joblib": "joblib, threads", "loky": "joblib, loky", "dask": "Dask, threads"}
GOAL_NS = {"batch": 1500, "future": 5000}
GOAL_CHOLESKY = 0.95  # of the speed of the program in C++
SHARE = {"threads": 4, "joblib": 4, "loky": 20, "dask": 20}  # slow peers get this share of the tasks
PACKAGES = {"joblib": "python3-joblib", "loky": "python3-joblib", "dask": "python3-dask"}


def add(commands):
    text = "tasks from Python: empty ones beside concurrent.futures, joblib and Dask; a tiled Cholesky beside C++"
    p = options.command(commands, sys.modules[__name__], "bindings", text)
    options.turns(p, 7)
    p.add_argument("--n", type=int, default=20000, help="tasks of a run (%(default)s)")
    p.add_argument("--workers", type=int, default=2, help="(%(default)s)")
    p.add_argument("--kinds", type=options.names, default=[*KINDS, "cholesky"], help="comma-separated: %(default)s")
    p.add_argument("--size", type=options.numbers, default=[4096, 256], help="of Cholesky: rows, tile (%(default)s)")
    p.add_argument("--runtimes", type=options.names, default=["consort", *PEERS], help="comma-separated: %(default)s")


def python():
    """The interpreter that the binding was built for by tests/checks/python.sh, and where it is; None: it was not built."""
    built = BENCH.parent / "build" / "python" / "lib"
    for candidate in (sys.executable, "/usr/bin/python3"):
        found = shutil.which(candidate)
        env = dict(os.environ, PYTHONPATH=str(built))
        if found and subprocess.run([found, "-c", "import consort"], env=env, capture_output=True).returncode == 0:
            return found, {"PYTHONPATH": str(built), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return None, {}


def empty_tasks(args, rows, interpreter, env, kind):
    found = {}

    def once(name):
        n = max(100, args.n // SHARE.get(name, 1))
        return call([interpreter, BENCH / "bindings" / "tasks.py", name, kind, n, args.workers], env=env)

    in_turns(args.rounds, args.runtimes, once, lambda name, results: found.update({name: results}))
    for name, results in found.items():
        ns = sorted(r["ns"] for r in results)
        rows.add({"language": "python", "kind": kind, "runtime": name, "workers": args.workers, "ns_median": statistics.median(ns),
                  "ns_low": ns[0], "ns_high": ns[-1]})
    for name in args.runtimes:
        if name not in found and not (name == "dask" and kind == "future"):
            rows.missing(name, f"its package is missing: {PACKAGES.get(name, name)}")


def rate(text):
    found = re.search(r"([\d.]+) GFlop/s", text, re.I)
    return float(found[1]) if found else None


def cholesky(args, rows, interpreter, env):
    n, tile = args.size
    example = BENCH.parent / "bindings" / "python" / "examples" / "cholesky.py"
    programs = {"python": [interpreter, example, n, tile], "c++": [args.bin.parent / "bin" / "cholesky", "--n", n, "--tile", tile, "--no-bar"]}

    def once(name):
        done = subprocess.run([str(c) for c in programs[name]], capture_output=True, text=True, env=os.environ | env, timeout=600)
        gflops = rate(done.stdout)
        if done.returncode or not gflops:
            say(f"  exit {done.returncode}: {name}: {(done.stdout + done.stderr).strip()[-300:]}")
            return None
        return {"gflops": gflops}

    def keep(name, results):
        rows.add({"language": name, "kind": "cholesky", "n": n, "tile": tile, "gflops_median": statistics.median(r["gflops"] for r in results)})

    in_turns(args.rounds, list(programs), once, keep)


def measure(args, rows):
    interpreter, env = python()
    if not interpreter:
        say("the Python binding is not built: ./run test python builds it")
        return 77
    rows.missing("starpu", "Debian's StarPU has no Python")
    for kind in args.kinds:
        if kind in KINDS:
            empty_tasks(args, rows, interpreter, env, kind)
        else:
            cholesky(args, rows, interpreter, env)
    return 0


def tables(rows):
    found = []
    tasks = [r for r in rows if r["kind"] in KINDS]
    if tasks:
        runtimes = [name for name in ("consort", *PEERS) if any(r["runtime"] == name for r in tasks)]
        lines = []
        for kind, title in KINDS.items():
            by = {r["runtime"]: r for r in tasks if r["kind"] == kind}
            if "consort" not in by:
                continue
            goal = GOAL_NS[kind] / 1000
            own = by["consort"]["ns_median"] / 1000
            peers = {name: by[name]["ns_median"] for name in PEERS if name in by}
            best = min(peers, key=peers.get) if peers else None
            lines.append([title, f"{own:.2f} / {goal:g}" + (" !" if own > goal else ""),
                          *(f"{by[name]['ns_median'] / 1000:.2f}" if name in by else "–" for name in runtimes[1:]),
                          f"{by['consort']['ns_median'] / peers[best]:.2f}x ({PEERS[best]})" if best else "–"])
        found.append((["Python, us per empty task", "consort / goal", *(PEERS[name] for name in runtimes[1:]), "to the best peer"], lines))
    rates = {r["language"]: r for r in rows if r["kind"] == "cholesky"}
    if len(rates) == 2:
        python_, other = rates["python"]["gflops_median"], rates["c++"]["gflops_median"]
        share = python_ / other
        found.append((["Cholesky, GFlop/s", "Python, NumPy", "C++", "share / goal"],
                      [[f"{rates['c++']['n']}, tiles of {rates['c++']['tile']}", f"{python_:.1f}", f"{other:.1f}",
                        f"{share:.2f} / {GOAL_CHOLESKY}" + (" !" if share < GOAL_CHOLESKY else "")]]))
    return found


def show(args, rows):
    for table in tables(rows):
        report.table(*table)
    return 0
