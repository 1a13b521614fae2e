#!/usr/bin/env python3
"""./run bench gpu over the doubles of the vendors' libraries: every case answers, its rows are whole, the double has found no
wrong call; without a device a message says so. No speed is judged.
usage: gpu_test.py FOLDER_OF_PROGRAMS FOLDER_OF_DOUBLES"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "bench" / "run.py"
BIN, DOUBLES = sys.argv[1], Path(sys.argv[2])
LIBRARIES = {"cuda": "libcuda_double.so", "hip": "libamdhip64_double.so", "level_zero": "libze_double.so"}
ROWS = {"launch to launch": 1, "pinned copy to": 1, "pinned copy from": 1, "in, kernel, out": 1, "tiles half": 1}


def bench(*options):
    return subprocess.run([sys.executable, RUN, "gpu", "--bin", BIN, *map(str, options)], capture_output=True, text=True)


def complaints_about(driver, library, folder):
    out = Path(folder) / f"{driver}.json"
    done = bench("--driver", driver, "--library", library, "--json", out, *["--smoke"] * (driver == "level_zero"),
                 *["--compiler", library] * (driver == "hip"))
    if done.returncode != 0 or not out.exists():
        return [f"{driver}: exit {done.returncode}: {done.stdout}{done.stderr}"]
    rows = json.loads(out.read_text())["rows"]
    wrong = [f"{driver}: a row is not whole: {r}" for r in rows
             if set(r) != {"case", "value", "unit", "reference", "ratio", "goal"} or r["value"] <= 0 or r["reference"] <= 0 or not r["goal"]]
    for name, least in (ROWS if driver != "level_zero" else {"copy host ->": 1, "copy level_zero": 1}).items():
        if sum(r["case"].startswith(name) for r in rows) < least:
            wrong.append(f"{driver}: no row \"{name} …\" in {[r['case'] for r in rows]}: {done.stderr}")
    if driver == "cuda" and not any(r["case"].startswith("Cholesky") for r in rows) and "cholesky is left out" not in done.stderr:
        wrong.append(f"cuda: no Cholesky, and no reason on stderr: {done.stderr}")
    if "double: " in done.stderr:
        wrong.append(f"{driver}: the double complains: {done.stderr}")
    return wrong


def main():
    there = {d: DOUBLES / name for d, name in LIBRARIES.items() if (DOUBLES / name).exists()}
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for driver, library in there.items():
            wrong += complaints_about(driver, library, folder)
    for driver in ("cuda", "hip"):
        none = bench("--driver", driver, "--library", "/nowhere/libgpu.so")
        if none.returncode != 77 or f"gpu: no device: {driver}: /nowhere/libgpu.so cannot be opened" not in none.stderr:
            wrong.append(f"no library of {driver}'s, and it answers {none.returncode}: {none.stderr}")
    print("\n".join(wrong) or f"right over {len(there)} doubles")
    return 1 if wrong else 0 if there else 77


sys.exit(main())
