#!/usr/bin/env python3
"""./run bench trace: each length has a run with a trace and one without, and the trace has all tasks.
usage: trace_test.py FOLDER_OF_PROGRAMS"""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "bench" / "run.py"
ENV = {k: v for k, v in os.environ.items() if not k.startswith("CONSORT_")}



def runs_of(data):
    """Records of runs, by the form of docs/trace.md: chunks behind the first line, and those of events have records."""
    at, runs = 16, 0
    while at < len(data):
        mark, kind, size, _ = struct.unpack_from("<IIII", data, at)
        assert mark == int.from_bytes(b"Chnk", "little"), at
        at += 16
        here = at
        while kind == 2 and here < at + size:
            number, words = struct.unpack_from("<HH", data, here)
            runs += number in (1, 2, 3)
            here += 8 * words
        at += size
    return runs


with tempfile.TemporaryDirectory() as folder:
    out, trace = Path(folder) / "out.json", Path(folder) / "run.trace"
    command = [sys.executable, RUN, "trace", "--bin", sys.argv[1], "--rounds", "1", "--seconds", "0.02", "--json", out]
    done = subprocess.run([*command, "--lengths", "0,20000"], capture_output=True, text=True, timeout=250, env=ENV)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(out.read_text())["rows"]
    assert [(r["length"], r["tasks"]) for r in rows] == [(0, 20000), (20000, 1000)], rows
    for r in rows:
        assert r["off_ns"] >= r["length"] and r["on_ns"] >= r["length"] and r["file_bytes"] > 20, r
        assert abs(r["event_ns"] * 2 - (r["on_ns"] - r["off_ns"])) < 1, r
    refused = subprocess.run(command, capture_output=True, text=True, env=ENV | {"CONSORT_TRACE": str(trace)})
    assert refused.returncode == 1 and "CONSORT_TRACE" in refused.stderr, refused.stderr
    program = [Path(sys.argv[1]) / "trace-consort", "--n", "500"]
    done = subprocess.run(program, capture_output=True, text=True, env=ENV | {"CONSORT_TRACE": str(trace)})
    assert done.returncode == 0 and json.loads(done.stdout)["ns"] > 0, done.stderr
    assert runs_of(trace.read_bytes()) == 1000, "500, and as many before"
    for wrong in (["--n"], ["--n", "x"], ["--n", "0"], ["--what", "1"]):
        assert subprocess.run([program[0], *wrong], capture_output=True).returncode == 2, wrong
