"""Traces and their reports."""

import os
import shutil

import numpy as np
import pytest

import consort


def work(v):
    v += 1


def test_a_trace_of_the_runtimes_in_a_block(tmp_path):
    with consort.trace(tmp_path / "run.trace") as trace:
        with consort.Runtime(workers=2) as rt:
            x = rt.data(np.zeros(10), "the data")
            for _ in range(10):
                rt.post(work, consort.rw(x))
    data = trace.path.read_bytes()
    assert data.startswith(b"consort trace") and b"work" in data
    before = os.path.getmtime(trace.path)
    with consort.Runtime(workers=1) as rt:
        rt.submit(int).result()
    assert os.path.getmtime(trace.path) == before


def test_a_report(tmp_path):
    if not (os.environ.get("CONSORT_COMMAND") or shutil.which("consort")):
        pytest.skip("the command is not here")
    with consort.trace(tmp_path / "run.trace") as trace, consort.Runtime(workers=2) as rt:
        rt.for_each(lambda i: sum(range(1000)), range(200))
    page = trace.report()
    assert page.path == tmp_path / "run.html" and "<iframe srcdoc=" in page._repr_html_()
    assert "<html" in page.path.read_text().lower()
    assert trace.summary()


def test_a_report_without_the_command(tmp_path, monkeypatch):
    monkeypatch.delenv("CONSORT_COMMAND", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FileNotFoundError, match="consort-tools"):
        consort.trace(tmp_path / "x").report()
