"""Instances of the campaign: a machine, a graph and how it is run, all by one seed."""
import hashlib
import random

from . import graphs, machines

PRIORITIES = ("none", "levels", "critical", "random")  # by the column of the graph's file
HELD_OUT = 100_000                                     # seeds from here on are for the last look alone


class Instance:
    def __init__(self, seed, most):
        rng = random.Random(f"campaign {seed}")
        self.seed, self.app = seed, graphs.APPS[seed % len(graphs.APPS)]
        self.machine = machines.Machine(rng, machines.LINKS[seed // len(graphs.APPS) % len(machines.LINKS)])
        self.graph = graphs.generate(rng, self.app, most * (4 if rng.random() < .2 else 1))
        self.filled = rng.random() < .15
        if self.filled:
            graphs.filled(self.graph)
        self.limited = rng.random() < .2
        if self.limited:
            for kind in self.machine.kinds:
                kind["memory"] = rng.uniform(.15, .6)
        self.priorities = rng.choice(("none", "none") + PRIORITIES[1:])
        self.window = rng.choice((0, 2048))
        self.noise = rng.choice((0, 0.05))
        self.models = rng.choice(("exact", "exact", "exact", "wrong", "unknown"))
        times = [self.machine.ns(k) for k in self.graph.kernels]
        told = [dict(t) for t in times]
        for k, t in zip(self.graph.kernels, told):
            for c in t:
                if k.name == "fill":
                    t[c] = 0
                elif self.models == "wrong":
                    t[c] *= rng.uniform(.7, 1.3)
        if self.models == "unknown":
            k = rng.choice([k for k, kernel in enumerate(self.graph.kernels) if kernel.name != "fill"])
            told[k][rng.choice(sorted(told[k]))] = 0
        self.toml, limits = self.machine.describe(self.graph.kernels, sum(self.graph.data), max(k.bytes for k in self.graph.kernels))
        self.limits = ",".join(limits)
        self.text = self._text(rng, times, told)
        self.bound_ns = graphs.bound_ns(self.graph, self.machine, times)
        self.key = hashlib.sha256((self.toml + self.text + self.limits + str(self.noise)).encode()).hexdigest()[:12]

    def _text(self, rng, times, told):
        g = self.graph
        bottom, depth = g.levels([min(t.values()) for t in times])
        longest, deepest = max(bottom), max(depth)
        out = ["data " + " ".join(map(str, g.data))]
        for k, t, say in zip(g.kernels, times, told):
            out.append(f"kernel {k.name} " + " ".join(f"{c}={ns}:{say[c]:.0f}" for c, ns in t.items()))
        for i, t in enumerate(g.tasks):
            uses = " ".join("rw"[writes] + str(d) for d, writes in t.uses)
            out.append(f"task {t.kernel} {deepest - depth[i]} {round(bottom[i] / longest * 1e6)} {rng.randrange(1000)} {uses}")
        return "\n".join(out) + "\n"

    def says(self):
        """What it is, for the file of figures."""
        m = self.machine
        return {"instance": self.seed, "key": self.key, "app": self.app, "tasks": len(self.graph.tasks), "links": m.links,
                "units": m.classes(), "priorities": self.priorities, "window": self.window, "noise": self.noise, "models": self.models,
                "filled": self.filled, "limited": self.limited, "bound_ns": round(self.bound_ns)}
