#!/usr/bin/env python3
"""Every pattern of the micro benchmark under its oracle: exactly once, in an order that a sequential run could have had;
and the oracle finds tasks that nothing orders, in every pattern that orders its tasks.
usage: order_test.py FOLDER_OF_PROGRAMS"""
import json
import subprocess
import sys
from pathlib import Path

PATTERNS = ["independent", "chain", "wavefront", "data2", "data4", "data4_wide", "stencil", "sync", "acquire_release", "acquire_task",
            "register_unregister", "register_task", "partition", "redux", "commute", "independent_2sub", "chain_2sub", "wavefront_2sub",
            "data4_2sub", "independent_bare", "chain_bare", "wavefront_bare", "data2_bare", "data4_bare", "independent_prio", "wavefront_prio",
            "replay_chain", "replay_wavefront", "replay_data4", "grid:line:6", "grid:stencil:96", "grid:fft:96", "grid:spread:6",
            "grid:fan:8", "grid:sweep:120", "grid:near:8", "grid:random:120", "grid:near:1200"]

program = Path(sys.argv[1]) / "micro-consort"
bad = 0
for scheduler in ("lws", "eager", "prio", "ws", "random"):
    for workers in ("1", "2"):
        for pattern in PATTERNS:
            done = subprocess.run([program, "--mode", "check", "--pattern", pattern, "--workers", workers, "--scheduler", scheduler, "--n", "10000"],
                                  capture_output=True, text=True, timeout=60)
            if done.returncode != 0 or json.loads(done.stdout)["wrong"] != 0:
                print(f"{pattern}, {workers} workers, {scheduler}: exit {done.returncode}\n{done.stdout}{done.stderr}")
                bad += 1
# Two workers must meet on a datum: on a busy machine that can take more than one run.
FREE = {"independent", "independent_2sub", "independent_bare", "independent_prio", "sync", "acquire_release", "register_unregister",
        "register_task", "partition", "redux", "replay_chain", "replay_wavefront", "replay_data4"}
for pattern in [p for p in PATTERNS if p not in FREE]:
    for _ in range(10):
        done = subprocess.run([program, "--mode", "check", "--pattern", pattern, "--workers", "2", "--plant", "unordered", "--n", "10000"],
                              capture_output=True, text=True, timeout=60)
        if done.returncode == 1 and json.loads(done.stdout)["wrong"] > 0:
            break
    else:
        print(f"{pattern}: the oracle did not find tasks without an order: exit {done.returncode}\n{done.stdout}{done.stderr}")
        bad += 1
sys.exit(1 if bad else 0)
