#!/usr/bin/env python3
"""Instructions per task stay within their budget: a figure that noise cannot move. Exit 77 (skipped) without valgrind.
usage: instructions_test.py FOLDER_OF_PROGRAMS"""
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "bench" / "run.py"
sys.exit(subprocess.run([sys.executable, RUN, "instructions", "--bin", sys.argv[1]]).returncode)
