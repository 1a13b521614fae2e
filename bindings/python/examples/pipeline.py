"""A pipeline with asyncio: items go through three stages, each stage one item at a time and in order.   pipeline.py [--small]"""

import asyncio
import sys

import numpy as np

import consort
from consort import rw

ITEMS = 20 if "--small" in sys.argv else 200


def load(state, i):
    state += 1
    return np.full(1000, float(i))


def transform(state, item):
    state += 1
    return np.sqrt(item)


def store(state, item):
    state += 1
    return float(item.sum())


async def main():
    with consort.Runtime() as rt:
        stages = [rt.data(np.zeros(1), name) for name in ("load", "transform", "store")]  # the state of a stage orders its tasks
        sums = []
        for i in range(ITEMS):
            item = rt.submit(load, rw(stages[0]), i)
            item = rt.submit(transform, rw(stages[1]), item)
            sums.append(rt.submit(store, rw(stages[2]), item))
        done = await asyncio.gather(*sums)
        for stage in stages:
            with stage.acquire() as count:
                assert count[0] == ITEMS
    assert np.allclose(done, 1000 * np.sqrt(np.arange(ITEMS)))
    print(f"{ITEMS} items")


asyncio.run(main())
