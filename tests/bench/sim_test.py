#!/usr/bin/env python3
"""./run bench sim on a small machine: the figures have the documented form, a seed gives the same figures twice, no run is
faster than its bound, wrong options are refused with a message.
usage: sim_test.py FOLDER_OF_PROGRAMS"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "bench" / "run.py"
KEYS = ["machine", "app", "tile", "n", "policy", "seed", "gflops", "bound_gflops", "decision_ns", "wall_s"]
MACHINE = """[overheads]
submit = "1us"
task = "1us"
fetch = "1us"
launch = "10us"
copy = "10us"
alloc = "175us"
[[device]]
name = "cpu"
host = true
class = "cpu"
units = 3
depth = 1
memory = "1T"
[[device]]
name = "cuda"
class = "cuda"
count = 2
depth = 2
memory = "4G"
""" + "".join(f'[[kernel]]\nset = "{app}_single"\ncodelet = "{kernel}"\nclass = "{klass}"\n{4 * 100 * 100 * tiles} = "{us}us"\n'
              for app, kernels in {"cholesky": {"potrf": (1, 90, 80), "trsm": (2, 200, 60), "syrk": (2, 190, 30), "gemm": (3, 380, 40)},
                                   "lu": {"getrf": (1, 90, 80), "trsm_ll": (2, 200, 60), "trsm_ru": (2, 210, 50), "gemm": (3, 380, 40)},
                                   "gemm": {"gemm": (3, 400, 42)}}.items()
              for kernel, (tiles, cpu, cuda) in kernels.items() for klass, us in (("cpu", cpu), ("cuda", cuda)))


def bench(*args, status=0):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CONSORT_")}
    done = subprocess.run([sys.executable, RUN, "sim", "--bin", sys.argv[1], *map(str, args)], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == status, f"{args}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr


with tempfile.TemporaryDirectory() as folder:
    machine, out = Path(folder) / "small.toml", Path(folder) / "out.json"
    machine.write_text(MACHINE)

    def figures(*args):
        bench("--machine", machine, "--tile", 100, "--json", out, *args)
        return json.loads(out.read_text())["rows"]

    for app in ("cholesky", "lu", "gemm"):
        for extra in ((), ("--priorities", "levels"), ("--only", "cuda", "--memory", "1M")):
            got = figures("--app", app, "--n", "4,7", "--policy", "eager,lws", "--noise", "0.05", "--seeds", 2, *extra)
            assert len(got) == 8, got
            for r in got:
                assert list(r) == KEYS, r
                assert r["machine"] == "small" and r["app"] == app and r["tile"] == 100 and r["n"] in (4, 7), r
                assert 0 < r["gflops"] < 1.06 * r["bound_gflops"] and r["wall_s"] > 0 and r["decision_ns"] > 0, r
            assert [r["seed"] for r in got] == [1, 2] * 4, got
            again = figures("--app", app, "--n", "4,7", "--policy", "eager,lws", "--noise", "0.05", "--seeds", 2, *extra)
            assert [r["gflops"] for r in again] == [r["gflops"] for r in got], (got, again)
            assert got[0]["gflops"] != got[1]["gflops"], "another seed is another noise"
    # One unit, no overheads worth speaking of: the time is the sum of the kernels, and the bound is that.
    alone = Path(folder) / "alone.toml"
    alone.write_text('[[device]]\nname = "c"\nhost = true\nclass = "cpu"\ndepth = 1\nmemory = "1G"\n[[kernel]]\ncodelet = "gemm"\n120000 = "2ms"\n')
    bench("--machine", alone, "--tile", 100, "--app", "gemm", "--n", 3, "--json", out)
    (r,) = json.loads(out.read_text())["rows"]
    assert abs(r["gflops"] - 2 * 300**3 / (27 * 2e6)) < 0.01 and abs(r["bound_gflops"] - r["gflops"]) < 0.01, r
    assert "there is no policy \"nosuch\"" in bench("--machine", machine, "--tile", 100, "--policy", "nosuch", status=1)
    assert "nosuch.toml cannot be read" in bench("--machine", Path(folder) / "nosuch.toml", status=1)
    assert "does not say how long potrf takes" in bench("--machine", alone, "--tile", 100, status=1)
