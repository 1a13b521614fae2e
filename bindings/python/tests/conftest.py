"""A runtime for a test, and programs that run in a process of their own."""

import os
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
    """Runs a program in another process; returns what it printed. It must end by itself, and well."""

    def start(program, status=0, wait=True, **options):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ), **options
        )
        if not wait:
            return process
        try:
            out = process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError("hangs: " + process.communicate()[0]) from None
        assert process.returncode == status, out
        return out

    return start
