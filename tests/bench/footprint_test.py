#!/usr/bin/env python3
"""A pending task with two data takes no more memory than the goal of `./run bench footprint`. usage: footprint_test.py
PROGRAM"""
import json
import subprocess
import sys

MOST = 256
out = subprocess.run([sys.argv[1], "--mode", "memory", "--workers", "1", "--n", "50000"], capture_output=True, text=True, check=True).stdout
found = json.loads(out)["bytes_per_task"]
if not 192 <= found <= MOST:  # the record alone has 192 bytes
    sys.exit(f"{found} bytes per pending task, not 192 to {MOST}")
