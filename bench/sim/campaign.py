"""Policies over many machines and graphs, in virtual time: against the bound, and against three policies frozen at 65e8e6c."""
import json
import math
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from suite import draw, options
from suite.measure import say

from .instances import HELD_OUT, PRIORITIES, Instance

FROZEN = ("heft", "dmdas", "heteroprio")
FILE = Path(__file__).with_name("frozen.json")
CLASSES = (
    ("all", lambda r: True), ("no priorities", lambda r: r["priorities"] == "none"), ("priorities", lambda r: r["priorities"] != "none"),
    ("random priorities", lambda r: r["priorities"] == "random"), ("window 2048", lambda r: r["window"]),
    ("noise", lambda r: r["noise"]), ("models exact", lambda r: r["models"] == "exact"), ("models wrong", lambda r: r["models"] == "wrong"),
    ("a time unknown", lambda r: r["models"] == "unknown"), ("filled first", lambda r: r["filled"]), ("memory short", lambda r: r["limited"]),
    ("below 300 tasks", lambda r: r["tasks"] < 300),
)


def add(commands):
    p = options.command(commands, sys.modules[__name__], "campaign",
                        "policies on many machines and graphs, in virtual time, against the bound and frozen policies", warn=False)
    p.add_argument("--policy", type=options.names, default=["auto", "graph-lookahead", "darts", "heft", "dmdas", "heteroprio", "lws"],
                   help="comma-separated")
    p.add_argument("--instances", type=int, help="how many (320; quick: 48)")
    p.add_argument("--first", type=int, default=0, help="the first instance (%(default)s)")
    p.add_argument("--held-out", action="store_true", help="instances that nobody may tune to")
    p.add_argument("--seeds", type=int, help="runs of each instance with noise (5; quick: 2); others run once")
    p.add_argument("--quick", action="store_true", help="few and small instances: below two minutes on two cores")
    p.add_argument("--jobs", type=int, default=2, help="processes at a time (%(default)s)")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any other setting")
    p.add_argument("--freeze", metavar="FOLDER", help=f"run {', '.join(FROZEN)} of the plugins there and add them to {FILE.name}")
    p.add_argument("--worst", type=int, default=0, metavar="N", help="also list the N instances at which the first policy is worst")


def numbers_of(args):
    count = args.instances or (48 if args.quick else 320)
    first = args.first + (HELD_OUT if args.held_out else 0)
    return range(first, first + count), args.seeds or (2 if args.quick else 5)


def run(args, instance, policies, seeds, folder=None):
    """Makespans: {(policy, column, window): [ns by seed]}, as the instance has them, and without its priorities or its window."""
    column = PRIORITIES.index(instance.priorities)
    seeds = seeds if instance.noise else 1
    kinds = {(column, instance.window)} | ({(0, instance.window)} if column and not folder else set())
    if instance.window and len(instance.graph.tasks) > instance.window and not folder:
        kinds.add((column, 0))
    with tempfile.TemporaryDirectory() as place:
        machine, graph = Path(place, "machine.toml"), Path(place, "graph.txt")
        machine.write_text(instance.toml)
        graph.write_text(instance.text)
        command = [args.bin / "campaign-consort", "--machine", machine, "--graph", graph, "--noise", instance.noise]
        command += ["--limits", instance.limits] if instance.limits else []
        command += ["--plugin-path", folder] if folder else []
        command += [x for word in args.set for x in ("--set", word)]
        for p in policies:
            command += [x for c, w in sorted(kinds) for s in range(1, seeds + 1) for x in ("--run", f"{p},{w},{c},{s}")]
        try:
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            say(f"  instance {instance.seed}: no answer within 300 s")
            return {}
    if done.returncode:
        say(f"  instance {instance.seed}: {done.stderr.strip()[-300:]}")
    found = {}
    for line in done.stdout.splitlines():
        r = json.loads(line)
        found.setdefault((r["policy"], r["priorities"], r["window"]), []).append(r["makespan_ns"])
    return found


def freeze(args, numbers, seeds, most):
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}

    def one(n):
        i = Instance(n, most)
        if i.key not in kept or len(kept[i.key][FROZEN[0]]) < (seeds if i.noise else 1):
            found = run(args, i, FROZEN, seeds, args.freeze)
            kept[i.key] = {p: [round(x) for x in ns] for (p, _, _), ns in found.items()}
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(one, numbers))
    FILE.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(kept.items())) + "\n}\n")
    return 0


def measure(args, rows):
    if not (args.bin / "campaign-consort").exists():
        say("no campaign-consort: it was not built")
        return 77
    numbers, seeds = numbers_of(args)
    most = 800 if args.quick else 3000
    if args.freeze:
        return freeze(args, numbers, seeds, most)
    frozen = json.loads(FILE.read_text()) if FILE.exists() else {}
    mean = lambda x: sum(x) / len(x)

    def one(n):
        i = Instance(n, most)
        found, mine, column = run(args, i, args.policy, seeds), [], PRIORITIES.index(i.priorities)
        for p in args.policy:
            if (p, column, i.window) not in found:
                continue
            row = i.says() | {"policy": p, "ns": found[p, column, i.window], "frozen": {
                q: mean(ns[:seeds]) for q, ns in frozen.get(i.key, {}).items()}}
            for name, other in (("bare", (p, 0, i.window)), ("open", (p, column, 0))):
                if other in found and other != (p, column, i.window):
                    row[f"{name}_ns"] = found[other]
            mine.append(row)
        return mine
    with ThreadPoolExecutor(args.jobs) as pool:
        for mine in pool.map(one, numbers):
            rows.add(mine)
    return 0 if rows else 1


def geometric(x):
    return math.exp(sum(map(math.log, x)) / len(x)) if x else math.nan


def pair(x):
    return f"{geometric(x):6.3f} {min(x):6.3f}" if x else "     –      –"


def ratios(rows, policy):
    """By instance: of the bound, against the frozen best, without and with its priorities, without and with its window."""
    out = []
    for r in rows:
        if r["policy"] != policy:
            continue
        ns = sum(r["ns"]) / len(r["ns"])
        over = lambda key: sum(r[key]) / len(r[key]) / ns if key in r else None
        best = min(r["frozen"].values()) if r["frozen"] else None
        room = best and r["bound_ns"] / best < .95  # the frozen best left something to gain
        out.append((r, r["bound_ns"] / ns, best and best / ns, best / ns if room else None, over("bare_ns"), over("open_ns"),
                    {q: x / ns for q, x in r["frozen"].items()}))
    return out


def show(args, rows):
    if args.freeze:
        return 0
    columns = ("of the bound", "frozen best", "- with room", "with prior.", "with window", *FROZEN)
    print("Each: geometric mean and worst. Of the bound; speed against the best of the frozen three, also where these reach less than 0.95 of\n"
          "the bound; speed with priorities against without, with a window against none; speed against each of the frozen three.")
    found = {p: ratios(rows, p) for p in args.policy}
    for label, within in CLASSES:
        if not any(within(x[0]) for f in found.values() for x in f):
            continue
        print(f"\n{label:20}  n  " + " | ".join(f"{c:13}" for c in columns))
        for p in args.policy:
            some = [x for x in found[p] if within(x[0])]
            cells = [pair([x[i] for x in some if x[i]]) for i in range(1, 6)]
            cells += [pair([x[6][q] for x in some if q in x[6]]) for q in FROZEN]
            print(f"{p:18} {len(some):4}  " + " | ".join(cells))
    for x in sorted((x for x in found[args.policy[0]] if x[2]), key=lambda x: x[2])[:args.worst]:
        say(f"{x[2]:.3f} of the frozen best: {json.dumps({k: v for k, v in x[0].items() if k not in ('ns', 'key')})}")
    draw.all_beside(args.json, pictures(found))
    return 0


def pictures(found):
    """Speed against the frozen best over the instances, the worst first, a line for each policy."""
    lines = [(p, list(enumerate(sorted(x[2] for x in f if x[2]), 1))) for p, f in found.items()]
    last = max((len(line) for _, line in lines), default=0)
    if last > 1:
        yield ("", draw.curves, "Speed against the frozen best", "times the frozen best", "instances, from the worst to the best",
               [line for line in lines if line[1]], [("as fast", [(1, 1), (last, 1)])])
