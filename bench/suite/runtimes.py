"""The runtimes that are measured: their programs, packages and the share of the tasks that a slow one gets."""
from .measure import say

RUNTIMES = ["consort", "mini", "starpu", "tbb", "taskflow", "libgomp", "libomp", "tbb-hand"]
PACKAGES = {"starpu": "libstarpu-dev", "tbb": "libtbb-dev", "tbb-hand": "libtbb-dev", "libgomp": "g++", "libomp": "clang-19 libomp-19-dev"}
MISSING = {"mini": "mini_stf.h was not found when the benchmarks were configured: CONSORT_BENCH_MINI=PATH",
           "taskflow": "taskflow/taskflow.hpp was not found when the benchmarks were configured: -DCONSORT_BENCH_TASKFLOW=FOLDER"}
# What is compared with Consort: runtimes that infer dependences or are given them, task by task.
PEERS = ["starpu", "tbb", "taskflow", "libgomp", "libomp"]
# Fewer tasks of what is slow; n is in the output. A share of --n, by runtime, by pattern, or by both: libgomp's cost of
# data4 grows with the tasks before it wherever the submitter is ahead, and always with one thread.
SHARE = {"starpu": 0.1, "sync": 0.1, "acquire_task": 0.1, "register_unregister": 0.2, "register_task": 0.1,
         "partition": 0.05, "starpu partition": 0.01, "libgomp data4": 0.02, "libgomp data4_bare": 0.02}


def environment(pattern):
    """What OpenMP must be told before it starts: without a highest priority it heeds none."""
    return {"OMP_MAX_TASK_PRIORITY": "7"} if pattern.endswith("_prio") else {}


def share_of(pattern, runtime, n):
    for key in (pattern, runtime, f"{runtime} {pattern}"):
        n *= SHARE.get(key, 1)
    return max(int(n), 1000)


def why_missing(runtime):
    if runtime in MISSING:
        return MISSING[runtime]
    return f"its package is missing: {PACKAGES[runtime]}" if runtime in PACKAGES else "it was not built"


def programs(args, rows, kind="micro"):
    """The program of each runtime that was built; of the others the rows say what is missing."""
    found = {r: args.bin / f"{kind}-{r}" for r in args.runtimes if (args.bin / f"{kind}-{r}").exists()}
    for r in args.runtimes:
        if r not in found and (kind == "micro" or r in ("consort", "starpu")):
            say(f"no {kind}-{r}: {why_missing(r)}")
            rows.missing(r, why_missing(r))
    return found
