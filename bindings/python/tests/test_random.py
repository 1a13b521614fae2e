"""Random graphs against a sequential oracle: tasks over few data in random modes, futures as arguments, predecessors, parts, tasks
that submit. Each task mixes what it reads into what it writes, so that any other order gives another number."""

import os
import random

import numpy as np
import pytest

import consort
from consort import commute, r, rw, w

GRAPHS = 10000 if os.environ.get("CONSORT_FULL") else 1200
MODULUS = 1000003


def mix(salt, values):
    total = salt
    for v in values:
        total = (total * 31 + int(v)) % MODULUS
    return total


def write(salt, mode, target, *read):
    base = int(target[0]) if mode == "rw" else 0
    value = mix(salt, [base, *(x[0] for x in read)])
    target[:] = value
    return value


def plus(target, k):
    target += k


def graph(seed):
    """A program as a list of steps, so that both sides run the same one."""
    rng = random.Random(seed)
    ndata, steps = rng.randint(1, 5), []
    for i in range(rng.randint(5, 40)):
        kind = rng.choices(["write", "commute", "value", "part", "nested", "fence"], [8, 3, 3, 2, 1, 1])[0]
        target = rng.randrange(ndata)
        others = [d for d in range(ndata) if d != target and rng.random() < 0.4]
        steps.append((kind, i * 7 + 1, rng.choice(["rw", "w"]), target, others, rng.randrange(4)))
    return ndata, steps


def oracle(seed):
    ndata, steps = graph(seed)
    data, values = [np.zeros(4, np.int64) for _ in range(ndata)], []
    for kind, salt, mode, target, others, k in steps:
        x = data[target]
        if kind == "write":
            values.append(write(salt, mode, x, *(data[o] for o in others)))
        elif kind == "commute":
            plus(x, salt)
        elif kind == "value":
            values.append(mix(salt, values[-3:]))
        elif kind == "part":
            plus(x[k : k + 1], salt)
        elif kind == "nested":
            values.append(mix(salt, [1, 2]))
    return data, values


def run(rt, seed):
    ndata, steps = graph(seed)
    arrays = [np.zeros(4, np.int64) for _ in range(ndata)]
    data = [rt.data(a) for a in arrays]
    parts = [x.partition(4) for x in data]
    futures = []

    def nested(salt):
        return mix(salt, [rt.submit(int, 1).result(), rt.submit(int, 2).result()])

    for kind, salt, mode, target, others, k in steps:
        x = data[target]
        if kind == "write":
            access = rw(x) if mode == "rw" else w(x)
            futures.append(rt.submit(write, salt, mode, access, *(r(data[o]) for o in others)))
        elif kind == "commute":
            rt.post(plus, commute(x), salt)
        elif kind == "value":
            futures.append(rt.submit(lambda salt, *values: mix(salt, values), salt, *futures[-3:]))
        elif kind == "part":
            rt.post(plus, rw(parts[target][k]), salt)
        elif kind == "nested":
            futures.append(rt.submit(nested, salt, after=futures[-1:]))
        elif kind == "fence":
            with x.acquire():
                pass
    for x in data:
        x.unregister()
    return arrays, [f.result() for f in futures]


@pytest.mark.parametrize("settings", [{"workers": 2}, {"workers": 3, "scheduler": "prio"}, {"workers": 1, "window": 8}, {"workers": 2, "pump": "manual"}])
def test_graphs_equal_a_sequential_run(settings):
    share = GRAPHS // 4
    with consort.Runtime(**settings) as rt:
        for seed in range(share):
            want, got = oracle(seed), run(rt, seed)
            assert got[1] == want[1], f"seed {seed}: values"
            assert all((a == b).all() for a, b in zip(got[0], want[0])), f"seed {seed}: data"
        rt.wait()
        assert rt.info()["data"] == 0
