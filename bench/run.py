#!/usr/bin/env python3
"""Measures Consort beside its peers: one process per runtime and repetition, in turns, so that a noisy minute hits all of
them alike. Each pattern is first run under an oracle that checks order and count. Python's own library is all it needs."""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report

HERE = Path(__file__).resolve().parent
RUNTIMES = ["consort", "starpu", "tbb", "libgomp", "libomp"]
PATTERNS = ["independent", "chain", "wavefront", "data4", "sync", "acquire_release", "register_unregister",
            "independent_2sub", "chain_2sub", "wavefront_2sub", "data4_2sub", "redux", "commute", "partition",
            "replay_chain", "replay_wavefront", "replay_data4"]
UNCHECKED = ("redux", "commute")  # no order to look at: tests/api/{reduction,access_modes}_test.cpp check what they give
# Fewer tasks of what is slow; n is in the output. A share of --n, by runtime, by pattern, or by both: libgomp's cost of
# data4 grows with the tasks before it wherever the submitter is ahead, and always with one thread.
SHARE = {"starpu": 0.1, "sync": 0.1, "register_unregister": 0.2, "partition": 0.05, "starpu partition": 0.01, "libgomp data4": 0.02}
PEER_PACKAGES = {"starpu": "libstarpu-dev", "tbb": "libtbb-dev", "libgomp": "g++", "libomp": "clang-19 libomp-19-dev"}
INSTRUCTION_GOALS = {"independent": 250, "data2": 500}      # where the project wants to be
INSTRUCTION_BUDGETS = {"independent": 600, "data2": 1050}   # where it is, and some room: more than this fails


patience = 0  # seconds, set by --patience


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


def warn_if_busy():
    """Warns of other processes on these cores, with their share: their work is in every figure."""
    busy = percent_busy(0.5)
    if busy is not None and busy > 5:
        say(f"warning: the machine is {busy:.0f} % busy with something else; compare inside this run only, and distrust differences")


def wait_for_quiet(limit):
    """--patience: each process waits until the others leave the cores alone, so many seconds at most."""
    end = time.monotonic() + limit
    while time.monotonic() < end and (percent_busy(0.2) or 0) > 10:
        pass


def find_programs(folder):
    build = HERE.parent / "build"
    candidates = [Path(folder)] if folder else [build / "release" / "bench", build / "bench", *sorted(build.glob("*/bench"))]
    told = os.environ.pop("CONSORT_BUILD_DIR", None)  # the programs would take it for a misspelt setting
    if not folder and told:
        candidates = [Path(told) / "bench"]
    for c in candidates:
        if (c / "micro-consort").exists() or (folder and c.is_dir()):
            return c
    sys.exit("no benchmark programs found; build them with ./run bench, or by hand:\n"
             "  cmake --preset release && cmake --build build/release --target bench")


def call(command, timeout=120):
    """The program's line of JSON; None where it has no such thing (exit 3). A failure is said, not hidden."""
    if patience:
        wait_for_quiet(patience)
    env = dict(os.environ, OMP_PROC_BIND="true", OMP_WAIT_POLICY=os.environ.get("OMP_WAIT_POLICY", "active"))
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, env=env)
    except subprocess.TimeoutExpired:
        say(f"  no answer within {timeout} s: {' '.join(map(str, command))}")
        return None
    if done.returncode == 3:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines or done.returncode != 0:
        say(f"  exit {done.returncode}: {' '.join(map(str, command))}\n  {(done.stdout + done.stderr).strip()[-400:]}")
        return json.loads(lines[-1]) | {"failed": True} if lines else None
    return json.loads(lines[-1])


def programs(args, kind="micro"):
    found = {r: args.bin / f"{kind}-{r}" for r in args.runtimes if (args.bin / f"{kind}-{r}").exists()}
    for r in args.runtimes:
        if r not in found and (kind == "micro" or r in ("consort", "starpu")):
            say(f"no {kind}-{r}: {'its package is missing: ' + PEER_PACKAGES[r] if r in PEER_PACKAGES else 'it was not built'}")
    return found


def share_of(pattern, runtime, n):
    for key in (pattern, runtime, f"{runtime} {pattern}"):
        n *= SHARE.get(key, 1)
    return max(int(n), 1000)


def write(args, records, plot=None):
    if not args.json:
        return
    Path(args.json).parent.mkdir(parents=True, exist_ok=True)
    with open(args.json, "w", encoding="utf-8") as f:
        json.dump(records, f, indent=1)
        f.write("\n")
    say(f"wrote {args.json}")
    if plot:
        picture = Path(args.json).with_suffix(".svg")
        report.bars(picture, *plot)
        say(f"wrote {picture}")


def groups(records, value, key, title):
    return [(title(k), [(r["runtime"], r[value]) for r in records if key(r) == k]) for k in dict.fromkeys(key(r) for r in records)]


# -- micro ------------------------------------------------------------------------------------------------------------

def micro(args):
    progs = programs(args)
    wrong = 0
    if not args.no_check:
        say("checking order and count …")
        for pattern in (p for p in args.patterns if p not in UNCHECKED):
            for runtime, prog in progs.items():
                for workers in args.workers:
                    got = call([prog, "--mode", "check", "--pattern", pattern, "--workers", workers, "--n", args.check_n], 120)
                    if got and got.get("wrong"):
                        say(f"  WRONG: {runtime} {pattern}, {workers} workers: {got['wrong']} observations")
                        wrong += 1
        say("  all right" if not wrong else f"  {wrong} wrong")
    records = []
    try:
        micro_rounds(args, progs, records)
    except KeyboardInterrupt:
        say("interrupted: what was measured so far")
    if not records:
        return 1
    report.ratio_table(records, "ns_median", "ns per task, median")
    key, title = (lambda r: (r["pattern"], r["workers"])), (lambda k: f"{k[0]}, {k[1]} w")
    write(args, records, ("Empty tasks: time per task, median", "ns, logarithmic", groups(records, "ns_median", key, title)))
    return 1 if wrong else 0


def micro_rounds(args, progs, records):
    for workers in args.workers:
        for pattern in args.patterns:
            ns, n = {r: [] for r in progs}, {}
            for _ in range(args.rounds):
                for runtime in [r for r in progs if r in ns]:
                    got = call([progs[runtime], "--pattern", pattern, "--workers", workers, "--n", share_of(pattern, runtime, args.n)])
                    if got is None or got.get("failed"):
                        del ns[runtime]
                        continue
                    ns[runtime] += got["ns"]
                    n[runtime] = got["n"]
            for runtime, times in ns.items():
                records.append({"pattern": pattern, "runtime": runtime, "workers": workers, "n": n[runtime],
                                "ns_min": min(times), "ns_median": statistics.median(times)})
            say(f"  {pattern}, {workers} w: " + ", ".join(f"{r} {statistics.median(t):.0f}" for r, t in ns.items()))


# -- the smallest useful task -------------------------------------------------------------------------------------------

def metg(args):
    progs = programs(args)
    records = []
    for pattern in ["wavefront", "data4", "stencil"]:
        found = {r: [] for r in progs}
        for _ in range(args.rounds):
            for runtime in [r for r in progs if r in found]:
                got = call([progs[runtime], "--mode", "metg", "--pattern", pattern, "--workers", args.workers[0], "--reps", 3,
                            "--n", share_of(pattern, runtime, args.n)])
                if got is None:
                    del found[runtime]
                    continue
                found[runtime].append(got["metg_us"])
        for runtime, us in found.items():
            records.append({"pattern": pattern, "runtime": runtime, "workers": args.workers[0],
                            "metg_us_min": min(us), "metg_us_median": statistics.median(us)})
        say(f"  {pattern}: " + ", ".join(f"{r} {statistics.median(u):.2f} us" for r, u in found.items()))
    report.ratio_table(records, "metg_us_median", "METG(50 %), us")
    key, title = (lambda r: r["pattern"]), (lambda k: k)
    write(args, records, ("The smallest task with 50 % efficiency", "us, logarithmic", groups(records, "metg_us_median", key, title)))
    return 0


# -- footprint, start --------------------------------------------------------------------------------------------------------

def per_process(args, mode, columns, extra):
    records = []
    for runtime, prog in programs(args).items():
        got = [g for g in (call([prog, "--mode", mode, "--workers", args.workers[0], *extra]) for _ in range(args.rounds)) if g]
        if got:
            median = {c: statistics.median(g[c] for g in got) for c in columns}
            records.append({"runtime": runtime, "workers": args.workers[0], **median})
    report.table(["runtime", *columns.values()], [[r["runtime"], *(report.number(r[c]) for c in columns)] for r in records])
    write(args, records)
    return 0


def footprint(args):
    return per_process(args, "memory", {"bytes_per_task": "B per pending task, 2 data", "bytes_per_handle": "B per handle"},
                       ["--n", 100000])


def start(args):
    return per_process(args, "start", {"start_stop_ms": "warm start + stop, ms", "start_stop_min_ms": "least, ms",
                                       "idle_rss_mb": "idle RSS, MB", "rss_before_mb": "before start, MB"}, ["--reps", 21])


# -- memory ------------------------------------------------------------------------------------------------------------------

MEMORY_CASES = ["copies", "checksum", "chain", "overlap", "replacement", "out_of_core"]


def meets(ratio, goal):
    """Whether the ratio is as its goal says, ">= 0.95"; None where there is none."""
    if not goal:
        return None
    relation, bound = goal.split()
    return ratio >= float(bound) if relation == ">=" else ratio <= float(bound)


def memory(args):
    prog = args.bin / "memory-consort"
    if not prog.exists():
        say("no memory-consort: it was not built (it needs OpenBLAS: apt-get install libopenblas-dev)")
        return 77
    command = [prog, "--reps", args.rounds, "--disk", args.disk, "--tiles", args.tiles, "--tile", args.tile]
    return by_case(args, command + ["--smoke"] * args.smoke)


def by_case(args, command):
    """A process for each case, the rows of all in one table. 77: there is nothing here that could run them (exit 3)."""
    records, failed, judged = [], False, not args.smoke
    for case in args.cases:
        say(f"{case} …")
        try:
            done = subprocess.run([str(c) for c in [*command, "--case", case]], capture_output=True, text=True, timeout=args.limit)
        except subprocess.TimeoutExpired:
            say(f"  no answer within {args.limit} s")
            failed = True
            continue
        if done.stderr.strip():
            say("  " + done.stderr.strip().replace("\n", "\n  "))
        if done.returncode == 3:
            return 77
        judged &= "one of the tests' doubles" not in done.stderr
        records += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode != 0:
            say(f"  exit {done.returncode}")
            failed = True
    verdict = {True: "ok", False: "missed", None: ""}
    report.table(["", "value", "reference", "ratio", "goal", ""],
                 [[r["case"], f"{r['value']:.4g} {r['unit']}", f"{r['reference']:.4g}" if r["reference"] else "–",
                   f"{r['ratio']:.3f}" if r["reference"] else "–", r["goal"], verdict[meets(r["ratio"], r["goal"]) if judged else None]] for r in records])
    write(args, records)
    return 1 if failed or not records else 0


# -- GPUs -------------------------------------------------------------------------------------------------------------------

GPU_CASES = ["launches", "copies", "overlap", "limited", "cholesky"]


def gpu(args):
    """A device by Consort's driver, beside the vendor's own calls in the same process."""
    prog = args.bin / "gpu-consort"
    if not prog.exists():
        say("no gpu-consort: it was not built")
        return 77
    if args.library and not args.driver:
        say("--library needs --driver: whose is it?")
        return 2
    command = [prog, "--reps", args.rounds]
    command += [x for key in ("driver", "library", "compiler") if getattr(args, key) for x in (f"--{key}", getattr(args, key))]
    return by_case(args, command + ["--smoke"] * args.smoke)


def add_gpu(commands, names):
    text = "a GPU by its driver, beside its vendor's own calls: launches, copies, overlap, limited memory, Cholesky"
    p = commands.add_parser("gpu", help=text, description=text)
    p.set_defaults(run=gpu, patience=0)
    p.add_argument("--driver", choices=["cuda", "hip", "level_zero"], help="else the first of these that has a device")
    p.add_argument("--library", help="the vendor's, by name or path; a double of the tests has it all small, and judges no speed")
    p.add_argument("--compiler", help="the vendor's for kernels as text")
    p.add_argument("--cases", type=names, default=GPU_CASES, help="comma-separated: " + ",".join(GPU_CASES))
    p.add_argument("--rounds", type=int, default=7, help="of each, in turns; the median is shown (%(default)s)")
    p.add_argument("--smoke", action="store_true", help="small and quick: that it works, not how well")
    p.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for each case (%(default)s)")
    p.add_argument("--json", help="write the figures there")
    p.add_argument("--bin", type=Path, help="folder of the benchmark programs")


# -- instructions -----------------------------------------------------------------------------------------------------------

def count_instructions(prog, pattern, n, extra):
    """Instructions by function, and under None their sum."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", prog, "--pattern", pattern, "--workers", "1", "--n", n, *extra]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600)
        match = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or not match:
            sys.exit(f"valgrind failed on {pattern}:\n{done.stderr[-2000:]}")
        counts = {None: int(match.group(1))}
        listing = subprocess.run(["callgrind_annotate", "--threshold=100", out], capture_output=True, text=True).stdout
    for line in listing.splitlines():
        if m := re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+(?:[^:\s]*:)?(.*?)(?: \[.*\])?$", line):
            if m.group(2) != "PROGRAM TOTALS":
                counts[m.group(2)] = counts.get(m.group(2), 0) + int(m.group(1).replace(",", ""))
    return counts


def instructions(args):
    if not shutil.which("valgrind"):
        say("no valgrind: apt-get install valgrind")
        return 77
    prog = args.bin / "micro-consort"
    if not prog.exists():
        say("no micro-consort: it was not built")
        return 77
    few, many = 20000, 70000
    tasks = (many - few) * 1.1  # the programs warm up with a tenth
    extra = ["--pump", args.pump] if args.pump else []
    records, over = [], 0
    for pattern, budget in INSTRUCTION_BUDGETS.items():
        total = None
        for _ in range(4):  # which thread runs a task, others at work here decide, too: over the budget it is counted again
            less, more = (count_instructions(prog, pattern, n, extra) for n in (few, many))
            found = {name: (count - less.get(name, 0)) / tasks for name, count in more.items()}
            if total is None or found[None] < total:
                total, per_task = found.pop(None), found
            if total <= budget:
                break
        records.append({"pattern": pattern, "runtime": "consort", "workers": 1, "instructions": round(total, 1), "budget": budget, "goal": INSTRUCTION_GOALS[pattern]})
        over += total > budget
        if args.profile or total > budget:
            top = sorted(((v, k) for k, v in per_task.items() if v >= 1), reverse=True)
            report.table([f"{pattern}: function", "instructions per task"], [[name[:110], f"{v:.0f}"] for v, name in top])
            print()
    report.table(["instructions per task", "consort", "budget", "goal", ""],
                 [[r["pattern"], f"{r['instructions']:.0f}", r["budget"], r["goal"], "over" if r["instructions"] > r["budget"] else "ok"] for r in records])
    write(args, records)
    return 1 if over else 0


# -- cholesky ---------------------------------------------------------------------------------------------------------------

def cholesky(args):
    progs = programs(args, "cholesky")
    blas = args.bin / "cholesky-openblas"
    records = []
    for n in args.sizes:
        tiles = [t for t in args.tiles if t < n]
        for tile in tiles:
            found = {r: [] for r in progs}
            for _ in range(args.rounds):
                for runtime in [r for r in progs if r in found]:
                    got = call([progs[runtime], "--n", n, "--tile", tile, "--workers", args.workers[0]])
                    if got is None or got.get("failed"):
                        del found[runtime]
                        continue
                    found[runtime].append(got)
            for runtime, got in found.items():
                records.append({"n": n, "tile": tile, "runtime": runtime, "workers": args.workers[0],
                                "gflops": statistics.median(g["gflops"] for g in got),
                                "loss_percent": statistics.median(g["loss_percent"] for g in got),
                                "outside_percent": statistics.median(g["outside_percent"] for g in got),
                                "residual": max(g["residual"] for g in got)})
            say(f"  {n}/{tile}: " + ", ".join(f"{r['runtime']} {r['gflops']:.1f} GFlop/s" for r in records if (r["n"], r["tile"]) == (n, tile)))
        if blas.exists():
            got = [g for g in (call([blas, "--n", n, "--workers", args.workers[0]]) for _ in range(args.rounds)) if g]
            if got:
                records.append({"n": n, "tile": 0, "runtime": "openblas", "workers": args.workers[0],
                                "gflops": statistics.median(g["gflops"] for g in got), "loss_percent": None, "outside_percent": None,
                                "residual": max(g["residual"] for g in got)})
                say(f"  {n}: openblas's own threads {records[-1]['gflops']:.1f} GFlop/s")
    rows = []
    for n, tile in dict.fromkeys((r["n"], r["tile"]) for r in records):
        row = [f"{n}/{tile}" if tile else f"{n}, own threads"]
        for runtime in ["consort", "starpu", "openblas"]:
            r = next((r for r in records if (r["n"], r["tile"], r["runtime"]) == (n, tile, runtime)), None)
            row.append("–" if r is None else f"{r['gflops']:.1f}" + (f" ({r['loss_percent']:.1f} / {r['outside_percent']:.1f} %)" if r["loss_percent"] is not None else ""))
        rows.append(row)
    report.table(["GFlop/s (lost against kernels alone / outside of kernels)", "consort", "starpu", "openblas"], rows)
    key, title = (lambda r: (r["n"], r["tile"])), (lambda k: f"{k[0]}/{k[1]}" if k[1] else f"{k[0]}, own threads")
    write(args, records, ("Tiled Cholesky, single precision", "GFlop/s", groups(records, "gflops", key, title), False))
    return 0


# -- simulated machines -----------------------------------------------------------------------------------------------

def sim(args):
    """A policy on a described machine, in virtual time: GFlop/s of each seed."""
    prog = args.bin / "sim-consort"
    if not prog.exists():
        say("no sim-consort: it was not built (it needs GLPK: apt-get install libglpk-dev)")
        return 77
    records, failed = [], False
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
            mine = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            records += mine
            failed |= done.returncode != 0
            if mine:
                rates = [r["gflops"] for r in mine]
                spread = f" ± {statistics.stdev(rates):.0f}" if len(rates) > 1 else ""
                bound = mine[0]["bound_gflops"]
                say(f"{mine[0]['machine']} {args.app} n = {n} {policy}: {statistics.mean(rates):.0f}{spread} GFlop/s, "
                    f"{100 * statistics.mean(rates) / bound:.1f} % of the bound {bound:.0f}; "
                    f"{statistics.median(r['decision_ns'] for r in mine):.0f} ns a decision, "
                    f"{statistics.median(r['wall_s'] for r in mine):.3f} s a run")
    write(args, records)
    return 1 if failed or not records else 0


def add_sim(commands, numbers, names):
    text = "a policy on a described machine, in virtual time: GFlop/s beside the bound"
    p = commands.add_parser("sim", help=text, description=text)
    p.set_defaults(run=sim, patience=0)
    p.add_argument("--machine", required=True, help="its file: consort machine import writes one")
    p.add_argument("--app", choices=["cholesky", "lu", "gemm"], default="cholesky", help="(%(default)s)")
    p.add_argument("--tile", type=int, default=960, help="rows of a tile (%(default)s)")
    p.add_argument("--n", type=numbers, default=[10], help="tiles a side; comma-separated")
    p.add_argument("--policy", type=names, default=["lws"], help="comma-separated")
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
    p.add_argument("--json", help="write the figures there")
    p.add_argument("--bin", type=Path, help="folder of the benchmark programs")




# -- a plugin's table -----------------------------------------------------------------------------------------------------

def crossing(args):
    """ns for each task that goes to a plugin or comes from it, in batches of 1 and 16, beside the budget."""
    command = [str(args.bin / "crossing-consort"), *(str(args.bin / f"crossing-{how}.so") for how in ("table", "class"))]
    runs = []
    for _ in range(args.rounds):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            say(f"exit {done.returncode}: {done.stderr.strip()}")
            return 1
        runs.append([json.loads(line) for line in done.stdout.splitlines()])
    records = [dict(row, ns=statistics.median(r[i]["ns"] for r in runs)) for i, row in enumerate(runs[0])]
    report.table(["plugin", "batch", "ns a task", "budget", ""],
                 [[r["plugin"], r["batch"], f"{r['ns']:.2f}", r["budget"], "ok" if r["ns"] <= r["budget"] else "over"] for r in records])
    write(args, records)
    return 0 if all(r["ns"] <= r["budget"] for r in records) else 1


def add_crossing(commands):
    text = "a call through a plugin's table: ns a task, in batches of 1 and 16"
    p = commands.add_parser("crossing", help=text, description=text)
    p.set_defaults(run=crossing, patience=0)
    p.add_argument("--rounds", type=int, default=7, help="processes (%(default)s)")
    p.add_argument("--json", help="write the figures there")
    p.add_argument("--bin", type=Path, help="folder of the benchmark programs")


# -- a core and an OpenCL device ----------------------------------------------------------------------------------------

SHARE_GOAL = 0.95  # of a kernel's tasks where it is faster


def placement(args):
    """Kernels that a core and an OpenCL device can run: where they went, and what the models had told."""
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
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    number = lambda x: "–" if x is None else f"{x:.1f}"
    off = lambda r: None if r["predicted_us"] is None or not r["measured_us"] else 100 * (r["predicted_us"] / r["measured_us"] - 1)
    report.table(["kernel", "units", "tasks", "told, us", "measured, us", "off by", "share", "goal", ""],
                 [[r["kernel"], r["units"], r["tasks"], number(r["predicted_us"]), number(r["measured_us"]),
                   "–" if off(r) is None else f"{off(r):+.0f} %", f"{100 * r['share']:.1f} %",
                   f">= {100 * SHARE_GOAL:.0f} %" if r["faster"] else "", ("ok" if r["share"] >= SHARE_GOAL else "missed") if r["faster"] else ""]
                  for r in records])
    write(args, records)
    if done.returncode:
        say(f"wrong: the result is off by {records[0]['error'] if records else '?'}")
    return 1 if done.returncode or len(records) != 6 or sum(r["faster"] and r["share"] >= SHARE_GOAL for r in records) != 3 else 0


def add_placement(commands):
    text = "kernels that a core and an OpenCL device can run, in the world's time: where they went, and what the models had told"
    p = commands.add_parser("placement", help=text, description=text)
    p.set_defaults(run=placement, patience=0)
    p.add_argument("--policy", default="dmda", help="the scheduler (%(default)s)")
    p.add_argument("--rounds", type=int, default=60, help="of four tasks of each kernel (%(default)s)")
    p.add_argument("--length", type=int, default=16384, help="numbers of a vector (%(default)s)")
    p.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="(%(default)s)")
    p.add_argument("--json", help="write the figures there")
    p.add_argument("--bin", type=Path, help="folder of the benchmark programs")


def main():
    numbers = lambda text: [int(x) for x in text.split(",")]
    names = lambda text: text.split(",")
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="WHAT")
    for name, fn, rounds, text in [
            ("micro", micro, 7, "empty tasks: ns per task for each pattern and runtime"),
            ("metg", metg, 3, "the smallest task with half efficiency"),
            ("memory", memory, 7, "copies, chains, overlap, replacement, out of core: each beside its bound"),
            ("footprint", footprint, 3, "bytes per pending task and per handle"),
            ("start", start, 3, "start and stop, and what an idle runtime holds"),
            ("cholesky", cholesky, 3, "tiled Cholesky against StarPU and OpenBLAS's own threads"),
            ("instructions", instructions, 1, "instructions per task, by callgrind, against the budget")]:
        p = commands.add_parser(name, help=text, description=text)
        p.set_defaults(run=fn)
        p.add_argument("--bin", type=Path, help="folder of the benchmark programs")
        p.add_argument("--json", help="write the figures there; where there is a plot, it is beside it")
        p.add_argument("--rounds", type=int, default=rounds, help="processes per runtime, in turns (%(default)s)")
        p.add_argument("--patience", type=float, default=0, metavar="SECONDS",
                       help="before each process, the longest wait until no other process uses the cores")
        p.add_argument("--runtimes", type=names, default=RUNTIMES, help="comma-separated: " + ",".join(RUNTIMES))
        p.add_argument("--workers", type=numbers, default=[2, 1] if name == "micro" else [2], help="comma-separated")
        p.add_argument("--n", type=float, default=1e5 if name == "metg" else 1e6, help="tasks; slow runtimes get a share")
        if name == "micro":
            p.add_argument("--patterns", type=names, default=PATTERNS, help="comma-separated: " + ",".join(PATTERNS))
            p.add_argument("--no-check", action="store_true", help="leave out the checked run")
            p.add_argument("--check-n", type=int, default=20000, help="tasks of the checked run (%(default)s)")
        if name == "memory":
            p.add_argument("--cases", type=names, default=MEMORY_CASES, help="comma-separated: " + ",".join(MEMORY_CASES))
            p.add_argument("--smoke", action="store_true", help="small and quick: that it works, not how well")
            p.add_argument("--disk", default=os.environ.get("TMPDIR", "/var/tmp"), help="folder of the disk (%(default)s)")
            p.add_argument("--tiles", type=int, default=0, help="along a side, where there are matrices; 0: about a minute in all")
            p.add_argument("--tile", type=int, default=0, help="rows of a tile out of core; 0: as above")
            p.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="for each case (%(default)s)")
        if name == "instructions":
            p.add_argument("--pump", help="manual: the caller steps the worker, which costs more per task")
            p.add_argument("--profile", action="store_true", help="by function; shown anyway where the budget is exceeded")
        if name == "cholesky":
            p.add_argument("--sizes", type=numbers, default=[4096, 8192])
            p.add_argument("--tiles", type=numbers, default=[64, 128, 256, 512])
    add_sim(commands, numbers, names)
    add_placement(commands)
    add_crossing(commands)
    add_gpu(commands, names)
    args = parser.parse_args(sys.argv[1:] or ["--help"])
    def interrupt(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, interrupt)
    global patience
    patience = args.patience
    args.bin = find_programs(args.bin)
    if args.command not in ("instructions", "footprint", "sim") and not getattr(args, "smoke", False):
        warn_if_busy()
    sys.exit(args.run(args))


if __name__ == "__main__":
    main()
