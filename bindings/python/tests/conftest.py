"""A runtime for a test, and programs that run in a process of their own."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

import consort


@pytest.fixture
def rt():
    with consort.Runtime(workers=2) as runtime:
        yield runtime


@pytest.fixture
def run():
    """Runs a program in another process; returns what it printed. It must end by itself, and well. No process outlives its
    test."""
    started = []

    def takes_interrupts():  # also where these tests are a background job, which ignores them
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def start(program, status=0, wait=True, **options):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=dict(os.environ),
            preexec_fn=takes_interrupts,
            **options,
        )
        started.append(process)
        if not wait:
            return process
        try:
            out = process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError("hangs: " + process.communicate()[0]) from None
        assert process.returncode == status, out
        return out

    yield start
    for process in started:
        process.kill()
        process.communicate()
