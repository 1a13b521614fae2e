"""Several ranks on this machine: messages by each transport beside libfabric, MPI and memcpy; a chain of tasks over the ranks
and a tiled Cholesky beside StarPU-MPI and plain MPI; the cost of a task that another rank runs."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from . import callgrind, draw, options, report
from .measure import call, in_turns, say

PARTS = ["messages", "namespaces", "chain", "cholesky", "dropped"]
LATENCY_BYTES, BANDWIDTH_BYTES = 64, 4 << 20
LATENCY_GOAL, BANDWIDTH_GOAL, COPY_GOAL = 1.3, 0.95, 0.9  # times of the peer
CHAIN_GOAL, PLAIN_GOAL, DROPPED_GOAL = 0.2, 0.95, 40  # of StarPU-MPI's cost, of plain MPI's rate, ns
MPIRUN = {"openmpi": ["--oversubscribe", "--bind-to", "none", "--mca", "plm_rsh_agent", "sh"], "mpich": []}
# Messages: what is compared with which transport. MPI's own name tells whose it is.
PEERS = {"memcpy": "shm", "libfabric": "ofi", "openmpi": "mpi", "mpich": "mpi-mpich"}
LINE = ["--delay-us", "100", "--rate", "1gbit"]  # between two network namespaces
PACKAGES = {"libfabric": "libfabric-dev", "openmpi": "libopenmpi-dev openmpi-bin", "mpich": "libmpich-dev mpich",
            "starpu": "libstarpu-dev libopenmpi-dev", "ranks-openmpi": "libopenmpi-dev libopenblas-dev"}
# StarPU's threads are bound to the same core by default, and take turns there.
STARPU = {"STARPU_MPI_NOBIND": "1", "STARPU_WORKERS_NOBIND": "1"}
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


def add(commands):
    text = "several ranks: messages beside libfabric, MPI and memcpy; tasks beside StarPU-MPI and plain MPI"
    p = options.command(commands, sys.modules[__name__], "network", text)
    options.turns(p, 7)
    p.add_argument("--parts", type=options.names, default=PARTS, help="comma-separated: " + ",".join(PARTS))
    p.add_argument("--transports", type=options.names, default=["shm", "ofi", "mpi", "mpi-mpich"], help="of messages: %(default)s")
    p.add_argument("--sizes", help="of messages, comma-separated bytes; all by default")
    p.add_argument("--scale", type=float, default=1, help="of the number of messages (%(default)s)")
    p.add_argument("--ranks", type=options.numbers, default=[2, 4])
    p.add_argument("--n", type=int, default=4096, help="rows of Cholesky (%(default)s)")
    p.add_argument("--tiles", type=options.numbers, default=[128, 256, 512])
    p.add_argument("--steps", type=int, default=2000, help="of the chain (%(default)s)")
    p.add_argument("--tasks", type=int, default=200000, help="that another rank runs (%(default)s)")


def launcher(abi):
    """The start of a command line, or None."""
    found = shutil.which(f"mpirun.{abi}") or (shutil.which("mpirun") if abi == "openmpi" else None)
    return [found, *MPIRUN[abi]] if found else None


def lacks(rows, name, why):
    if name not in rows.about["missing"]:
        say(f"no {name}: {why}")
    rows.missing(name, why)


class Programs:
    """The command lines of what was built; of the rest the rows say what is missing."""
    def __init__(self, args, rows):
        self.bin, self.rows = args.bin, rows
        self.plugins = args.bin.parent / "lib" / "consort" / "plugins"
        self.consort = args.bin.parent / "bin" / "consort"

    def has(self, program, name):
        if (self.bin / program).exists():
            return True
        lacks(self.rows, name, f"its package is missing: {PACKAGES[name]}" if name in PACKAGES else f"{program} was not built")
        return False

    def under_mpi(self, abi, ranks, name, *command):
        start = launcher(abi)
        if start:
            return [*start, "-n", ranks, *command]
        lacks(self.rows, name, f"there is no mpirun of {abi}")
        return None

    def messages(self, transports):
        """By (transport, runtime)."""
        found = {}
        for transport in transports:
            abi = {"mpi": "openmpi", "mpi-mpich": "mpich"}.get(transport)
            plugin = transport.split("-")[0]
            name = f"transport {transport}"
            if self.has("network-consort", name):
                if not (self.plugins / f"{plugin}.so").exists():
                    lacks(self.rows, name, f"the plugin {plugin} was not built")
                else:
                    own = [self.bin / "network-consort", "--plugins", self.plugins, "--transport", plugin]
                    found[transport, "consort"] = self.under_mpi(abi, 2, name, *own) if abi else own
            for peer in (p for p, t in PEERS.items() if t == transport):
                if self.has(f"network-{peer}", peer):
                    own = [self.bin / f"network-{peer}"]
                    found[transport, peer] = self.under_mpi(abi, 2, peer, *own) if abi else own
        return {key: command for key, command in found.items() if command}

    def between_namespaces(self):
        """By (transport, runtime)."""
        found, relay = {}, self.bin / "network-relay"
        if not self.has("network-relay", "namespaces"):
            return found
        if subprocess.run([relay, *LINE, "--", "/bin/true"], capture_output=True).returncode == 3:
            lacks(self.rows, "namespaces", "no network namespace with a TUN device can be made here")
            return found
        for key, command in self.messages(["ofi"]).items():
            found["ofi-far", key[1]] = [relay, *LINE, "--", *command]
        return found

    def tasks(self, ranks):
        """By runtime."""
        found = {}
        own = self.bin / "network-ranks-consort"
        if self.has("network-ranks-consort", "consort"):
            found["consort"] = [self.consort, "run", "-n", ranks, "--", own]
            if (self.plugins / "mpi" / "openmpi.so").exists():
                found["consort-mpi"] = self.under_mpi("openmpi", ranks, "consort-mpi", own, "--name", "consort-mpi")
            else:
                lacks(self.rows, "consort-mpi", "the plugin mpi was not built for Open MPI")
        for name, program in (("starpu", "network-ranks-starpu"), ("openmpi", "network-ranks-openmpi")):
            if self.has(program, "starpu" if name == "starpu" else "ranks-openmpi"):
                found[name] = self.under_mpi("openmpi", ranks, name, self.bin / program)
        return {key: command for key, command in found.items() if command}


def checked(rows, name, got):
    """The program's answer; a wrong result is said, and kept for the exit status."""
    if got and (got.get("wrong") or got.get("failed")):
        say(f"  WRONG: {name}: {got}")
        rows.about["wrong"] = rows.about.get("wrong", 0) + 1
    return got


def environment(runtime):
    return ROOT | (STARPU if runtime == "starpu" else {})


def measure_messages(args, rows, commands, scale, sizes):
    more = ["--scale", scale, *(["--only", sizes] if sizes else [])]

    def keep(key, results):
        for i, first in enumerate(results[0]["rows"]):
            rows.add({"part": "messages", "transport": key[0], "runtime": key[1], "bytes": first["bytes"],
                      "ns": statistics.median(r["rows"][i]["ns"] for r in results),
                      "bytes_per_s": statistics.median(r["rows"][i]["bytes_per_s"] for r in results)})
    in_turns(args.rounds, commands, lambda key: checked(rows, " ".join(key), call([*commands[key], *more], 120, ROOT)), keep)


def measure_tasks(args, rows, programs, part, value, what):
    """what: [(command line, fields of the row)]."""
    for ranks in args.ranks:
        commands = programs.tasks(ranks)
        for words, fields in what:
            def keep(runtime, results):
                all_ = [r[value] for r in results]
                rows.add({"part": part, "runtime": runtime, "ranks": ranks, **fields, value: statistics.median(all_),
                          f"{value}_best": min(all_) if value == "ns" else max(all_)})

            def once(runtime):
                return checked(rows, f"{part} {runtime}", call([*commands[runtime], "--what", part, *words], 300, environment(runtime)))
            in_turns(args.rounds, commands, once, keep)
            mine = [r for r in rows if r["part"] == part and r["ranks"] == ranks and all(r[k] == v for k, v in fields.items())]
            say(f"  {part}, {ranks} ranks {fields or ''}: " + ", ".join(f"{r['runtime']} {report.number(r[value])}" for r in mine))


def instructions(programs, n):
    """Of rank 0, which submits n tasks (and 1.1 times as many in all) that rank 1 runs; None where callgrind gives none."""
    with tempfile.TemporaryDirectory() as folder:
        counted = f"valgrind --tool=callgrind --toggle-collect=submit_dropped --callgrind-out-file={folder}/out"
        own = f'exec $([ "$CONSORT_RANK" = 0 ] && echo "{counted}") "$0" "$@"'
        command = [programs.consort, "run", "-n", "2", "--", "sh", "-c", own, programs.bin / "network-ranks-consort",
                   "--what", "dropped", "--reps", "1", "--n", str(n)]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    match = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not match:
        say(f"  no instructions: {done.stderr.strip()[-300:]}")
        return None
    return int(match.group(1))


def measure_dropped(args, rows, programs):
    if not programs.has("network-ranks-consort", "consort"):
        return
    command = [programs.consort, "run", "-n", 2, "--", programs.bin / "network-ranks-consort", "--what", "dropped", "--n", args.tasks]
    results = []
    in_turns(args.rounds, ["consort"], lambda _: checked(rows, "dropped", call(command, 120)), lambda _, all_: results.extend(all_))
    if not results:
        return
    row = {"part": "dropped", "runtime": "consort", "n": args.tasks, "ns": statistics.median(r["ns"] for r in results),
           "instructions": None}
    if callgrind.there():
        n = 100000
        counted = instructions(programs, n)
        row["instructions"] = counted and round(counted / (1.1 * n), 1)  # the warm-up is a tenth
    rows.add(row)


def measure(args, rows):
    programs = Programs(args, rows)
    if "messages" in args.parts:
        measure_messages(args, rows, programs.messages(args.transports), args.scale, args.sizes)
    if "namespaces" in args.parts:
        measure_messages(args, rows, programs.between_namespaces(), args.scale / 10, f"{LATENCY_BYTES},{BANDWIDTH_BYTES}")
    if "chain" in args.parts:
        measure_tasks(args, rows, programs, "chain", "ns", [(["--n", args.steps], {})])
    if "cholesky" in args.parts:
        measure_tasks(args, rows, programs, "cholesky", "gflops",
                      [(["--n", args.n, "--tile", t], {"n": args.n, "tile": t}) for t in args.tiles])
    if "dropped" in args.parts:
        measure_dropped(args, rows, programs)
    return 0 if rows and not rows.about.get("wrong") else 1


# -- tables -------------------------------------------------------------------------------------------------------------

def verdict(ratio, goal, most):
    """The ratio beside its goal; `most`: it may be at most that."""
    if ratio is None:
        return "–"
    return f"{report.times(ratio)} / {goal:g}" + ("" if (ratio <= goal if most else ratio >= goal) else " !")


def rate(value):
    return "–" if value is None else f"{value / 1e9:.2f}"


def microseconds(value):
    return "–" if value is None else report.number(value / 1e3)


def messages_table(rows):
    by = {(r["transport"], r["runtime"], r["bytes"]): r for r in rows if r["part"] == "messages"}
    lines = []
    for peer, transport in [*PEERS.items(), ("libfabric", "ofi-far")]:
        mine, its = ([by.get((transport, who, n), {}) for n in (LATENCY_BYTES, BANDWIDTH_BYTES)] for who in ("consort", peer))
        if not any(mine):
            continue
        times = [mine[0].get("ns"), None if peer == "memcpy" else its[0].get("ns")]
        rates = [mine[1].get("bytes_per_s"), its[1].get("bytes_per_s")]
        where = " between namespaces" if transport == "ofi-far" else ""
        lines.append([f"{transport.split('-')[0]}{where}, {peer}", *map(microseconds, times),
                      verdict(times[0] / times[1] if all(times) else None, LATENCY_GOAL, True), *map(rate, rates),
                      verdict(rates[0] / rates[1] if all(rates) else None, COPY_GOAL if peer == "memcpy" else BANDWIDTH_GOAL, False)])
    return ["transport, peer", "64 B, us", "peer", "ratio / goal", "4 MiB, GB/s", "peer", "ratio / goal"], lines


def tasks_table(rows):
    runtimes = ["consort", "consort-mpi", "starpu", "openmpi"]
    header = ["ranks", "consort, shm", "consort, mpi", "StarPU-MPI", "plain MPI", "shm to StarPU-MPI / goal", "mpi to StarPU-MPI / goal",
              "best to plain MPI / goal"]
    lines = []
    for part, value, shown in (("chain", "ns", microseconds), ("cholesky", "gflops", report.number)):
        mine = [r for r in rows if r["part"] == part]
        for key in dict.fromkeys((r["ranks"], r.get("n"), r.get("tile")) for r in mine):
            by = {r["runtime"]: r[value] for r in mine if (r["ranks"], r.get("n"), r.get("tile")) == key}
            name = f"chain, {key[0]} ranks: us" if part == "chain" else f"Cholesky {key[1]}/{key[2]}, {key[0]} ranks: GFlop/s"

            def ratio(who, to):
                return by[who] / by[to] if who in by and to in by else None
            best = max((ratio(w, "openmpi") or 0 for w in runtimes[:2]), default=0) or None
            goal = (CHAIN_GOAL, True) if part == "chain" else (1, False)
            lines.append([name, *(shown(by.get(r)) for r in runtimes), *(verdict(ratio(w, "starpu"), *goal) for w in runtimes[:2]),
                          verdict(best, PLAIN_GOAL, False) if part == "cholesky" else "–"])
    return header, lines


def dropped_table(rows):
    return ["task that another rank runs", "ns", "goal", "instructions", ""], [
        ["two data and a value", f"{r['ns']:.1f}", DROPPED_GOAL, report.number(r["instructions"]),
         "ok" if r["ns"] <= DROPPED_GOAL else "goal missed"]
        for r in rows if r["part"] == "dropped"]


def tables(rows):
    return [t for t in (messages_table(rows), tasks_table(rows), dropped_table(rows)) if t[1]]


def best_chains(rows):
    """The least of all processes: other work of the machine only ever adds to it."""
    out = []
    mine = [r for r in rows if r["part"] == "chain" and "ns_best" in r]
    for ranks in dict.fromkeys(r["ranks"] for r in mine):
        each = ", ".join(f"{r['runtime']} {microseconds(r['ns_best'])}" for r in mine if r["ranks"] == ranks)
        out.append(f"chain, {ranks} ranks, the least of all processes, us: {each}")
    return out


def notes(rows):
    return [*best_chains(rows), *(["ratio: of Consort's time or rate to the peer's; ! is more than the goal, or less"] if rows else []),
            *(f"missing: {name}: {why}" for name, why in rows.about["missing"].items())]


def show(args, rows):
    for t in tables(rows):
        report.table(*t)
        print()
    print("\n".join(notes(rows)))
    draw.all_beside(args.json, pictures(rows))
    return 0 if rows else 1


def pictures(rows):
    mine = [r for r in rows if r["part"] == "messages" and r["transport"] != "ofi-far"]
    lines = list(dict.fromkeys((r["transport"], r["runtime"]) for r in mine))

    def curves(value, scale, which):
        return [(f"{t}, {w}", [(r["bytes"], r[value] / scale) for r in mine if (r["transport"], r["runtime"]) == (t, w)])
                for t, w in lines if which(w)]
    yield ("latency", draw.curves, "Messages between two ranks: one way", "us, logarithmic", "bytes",
           curves("ns", 1e3, lambda w: w != "memcpy"), (), True)
    yield ("bandwidth", draw.curves, "Messages between two ranks: bandwidth", "GB/s, logarithmic", "bytes",
           curves("bytes_per_s", 1e9, lambda w: True), (), True)
