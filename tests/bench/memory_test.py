#!/usr/bin/env python3
"""./run bench memory, small: every case answers, its rows are whole, and the figures without noise are the expected ones.
usage: memory_test.py FOLDER_OF_PROGRAMS"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "bench" / "run.py"


def main():
    if not (Path(sys.argv[1]) / "memory-consort").exists():
        return 77
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        done = subprocess.run([sys.executable, RUN, "memory", "--smoke", "--bin", sys.argv[1], "--json", out, "--disk", folder],
                              capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": folder})
        if done.returncode != 0 or not out.exists():
            print(done.stdout + done.stderr)
            return 1
        rows = json.loads(out.read_text())["rows"]
    wrong = []
    for r in rows:
        if set(r) != {"case", "value", "unit", "reference", "ratio", "goal"} or not r["unit"] or r["value"] < 0:
            wrong.append(f"a row is not whole: {r}")
    # wherever this runs
    simulated = {"copy host -> sim0, virtual": 2, "copy host -> sim0": 1, "pipeline of": 3, "Cholesky of": 4, "product of": 4,
                 "product out of core, virtual time": 3}
    for name, least in simulated.items():
        if sum(r["case"].startswith(name) for r in rows) < least:
            wrong.append(f"fewer than {least} rows of \"{name} …\"")
    for r in rows:
        if r["case"].startswith("copy ") and ", virtual time, " in r["case"] and not 0.9 < r["ratio"] <= 1.0001:
            wrong.append(f"in virtual time nothing is faster than the driver's own copies, nor much slower: {r}")
        if r["case"].startswith("product out of core, virtual") and not 0.3 < r["ratio"] < 1.1:  # some bytes are still under way at the end
            wrong.append(f"in virtual time nothing is faster than the slower of link and cores: {r}")
        if r["case"].startswith("pipeline of") and not 0.5 < r["ratio"] <= 1.0001:
            wrong.append(f"in virtual time nothing is faster than the slowest stage, nor half as fast: {r}")
        if "bytes loaded" in r["case"] and r["ratio"] < 1:
            wrong.append(f"fewer bytes than the best replacement loads: {r}")
        if r["case"].startswith("with checksums") and not r["reference"] > 0:
            wrong.append(f"copies without checksums were not measured beside: {r}")
        if "needed" in r["case"] and r["value"] != 0:
            wrong.append(f"a replica that a task needed was evicted: {r}")
    print("\n".join(wrong) or f"{len(rows)} rows are right")
    return 1 if wrong else 0


sys.exit(main())
