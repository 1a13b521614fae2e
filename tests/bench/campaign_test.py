#!/usr/bin/env python3
"""./run bench campaign: a seed gives the same instance and the same times twice, no run without noise is faster than its bound,
the kept times of the frozen policies belong to the instances of today, and held-out instances are others.
usage: campaign_test.py FOLDER_OF_PROGRAMS"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"


def campaign(*args, status=0):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CONSORT_")}
    done = subprocess.run([sys.executable, BENCH / "run.py", "campaign", "--bin", sys.argv[1], "--quick", *map(str, args)],
                          capture_output=True, text=True, timeout=240, env=env)
    assert done.returncode == status, f"{args}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done


with tempfile.TemporaryDirectory() as folder:
    out = Path(folder) / "out.json"

    def rows(*args):
        campaign("--json", out, *args)
        return json.loads(out.read_text())["rows"]

    first = rows("--instances", 32, "--policy", "heft,lws")
    assert len(first) == 64, len(first)
    assert first == rows("--instances", 32, "--policy", "heft,lws"), "two runs differ"
    for r in first:
        assert sorted(r["frozen"]) == ["dmdas", "heft", "heteroprio"], f"no frozen times of instance {r['instance']}: the generator changed?"
        assert all(ns > 0 for ns in r["ns"]) and len(r["ns"]) == (2 if r["noise"] else 1), r
        if not r["noise"]:
            assert min(r["ns"]) >= r["bound_ns"] * 0.999, r
            assert min(r["frozen"].values()) >= r["bound_ns"] * 0.999, r
        if r["priorities"] != "none":
            assert r["bare_ns"], r
    for key, values in (("priorities", 4), ("links", 4), ("models", 3), ("app", 8), ("window", 2), ("noise", 2)):
        assert len({str(r[key]) for r in first}) == values, key
    assert out.with_suffix(".svg").read_text().startswith("<svg")
    held = rows("--instances", 4, "--policy", "lws", "--held-out")
    assert not {r["key"] for r in held} & {r["key"] for r in first}
    table = campaign("--instances", 8, "--policy", "heft", "--worst", 2)
    assert "frozen best" in table.stdout and "of the frozen best" in table.stderr, table
    assert "no-such" in campaign("--instances", 1, "--policy", "no-such", status=1).stderr
print("as documented")
