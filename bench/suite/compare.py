"""Consort beside the sketch of the floor and beside the best peer, and the goals for both ratios.

A peer infers dependences or is given them, task by task. A runtime that runs more than half of the tasks inside of their
own submission keeps no dependences: it is marked, and does not count."""
from . import report
from .runtimes import PEERS

INLINE = 0.5  # share of the tasks, from which on a runtime is marked
HEADLINE = ("independent", "chain", "wavefront", "data4")
# (pattern, workers): at most so many times the sketch, and the best peer
GOALS = {**{(p, 2): (1.3, 0.8) for p in HEADLINE}, ("data4", 1): (None, 1.0), ("wavefront_2sub", 2): (None, 1.0)}


def counts(row):
    return row["runtime"] in PEERS and not row.get("inline")


def ratios(rows, value):
    """Of the rows of one pattern: (to the sketch, to the best peer, its name); None where there is nothing to compare."""
    by = {r["runtime"]: r[value] for r in rows}
    mine, sketch = by.get("consort"), by.get("mini")
    best = min(((r[value], r["runtime"]) for r in rows if counts(r)), default=(None, None))
    if not mine:
        return None, None, best[1]
    return mine / sketch if sketch else None, mine / best[0] if best[0] else None, best[1]


def verdict(ratio, goal):
    if ratio is None:
        return "–"
    return report.times(ratio) + (f" / {goal:g}" + ("" if ratio <= goal else " !") if goal else "")


def table(rows, value, unit, key, title, goals):
    """Header and rows of text: a row per key, a column per runtime, then both ratios beside their goals (! missed)."""
    runtimes = list(dict.fromkeys(r["runtime"] for r in rows))
    out = []
    for k in dict.fromkeys(key(r) for r in rows):
        mine = [r for r in rows if key(r) == k]
        by = {r["runtime"]: report.number(r[value]) + (" inline" if r.get("inline") else "") for r in mine}
        to_sketch, to_best, name = ratios(mine, value)
        sketch_goal, best_goal = goals(k)
        best = verdict(to_best, best_goal) + (f" ({name})" if to_best is not None else "")
        out.append([title(k), *(by.get(r, "–") for r in runtimes), verdict(to_sketch, sketch_goal), best])
    return [unit, *runtimes, "to mini / goal", "to the best peer / goal"], out


def bars(rows, value, key, title):
    """Groups of bars, without those that do not count."""
    return report.groups([r for r in rows if not r.get("inline")], value, key, title)


def notes(rows):
    """What a table needs to be told below it."""
    out = ["to mini, to the best peer: Consort's time divided by theirs; ! is more than the goal"]
    if any(r.get("inline") for r in rows):
        out.append("inline: runs more than half of the tasks inside of their own submission, and does not count as a peer")
    if any(r["runtime"] == "tbb-hand" for r in rows):
        out.append("tbb-hand: written for this pattern, without inference; does not count as a peer")
    out += [f"missing: {name}: {why}" for name, why in rows.about["missing"].items()]
    return out
