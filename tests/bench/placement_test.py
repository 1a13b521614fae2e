#!/usr/bin/env python3
"""./run bench placement on a core and PoCL: each kernel runs where it is faster, at least 95 of 100 times, and the models predicted
the place.   usage: placement_test.py FOLDER_OF_PROGRAMS      exit 77: there is no OpenCL device"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "bench" / "run.py"
ENV = {k: v for k, v in os.environ.items() if not k.startswith("CONSORT_")} | {"CONSORT_OPENCL__CACHE": "off"}

with tempfile.TemporaryDirectory() as folder:
    out = Path(folder) / "out.json"
    for attempt in range(3):  # others may have the cores to themselves for a while
        done = subprocess.run([sys.executable, RUN, "placement", "--bin", sys.argv[1], "--rounds", "25", "--json", out],
                              capture_output=True, text=True, timeout=250, env=ENV)
        if done.returncode == 77:
            print(done.stderr)
            sys.exit(77)
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    records = json.loads(out.read_text())["rows"]
    where = {r["kernel"]: r for r in records if r["faster"]}
    assert {k: r["units"] for k, r in where.items()} == {"sums": "cpu", "series": "opencl", "sort": "cpu"}, records
    for r in where.values():
        assert r["share"] >= 0.95 and r["tasks"] >= 95 and r["predicted_us"] > 0 and r["measured_us"] > 0, r
    assert all(r["error"] < 1e-3 for r in records), records
    assert subprocess.run([Path(sys.argv[1]) / "placement-consort", "--what"], capture_output=True).returncode == 2
