"""The program of ./run bench bindings: each runtime that is here runs each kind of task."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[3] / "bench/bindings/tasks.py"


@pytest.mark.parametrize("kind", ["batch", "future"])
@pytest.mark.parametrize("runtime", ["consort", "threads", "joblib", "dask"])
def test_each_runtime_runs_each_kind(runtime, kind):
    done = subprocess.run([sys.executable, PROGRAM, runtime, kind, "50", "2"], stdout=subprocess.PIPE, text=True, timeout=100)
    if done.returncode == 3:
        pytest.skip(f"{runtime} is not here, or has no {kind}")
    assert done.returncode == 0 and json.loads(done.stdout)["ns"] > 0
