"""Graphs of the campaign: kernels, data and tasks, with the bounds of their time on a machine."""
import math
from collections import namedtuple

APPS = ("cholesky", "lu", "qr", "gemm", "stencil", "cg", "layered", "forkjoin")
Task = namedtuple("Task", "kernel uses")  # uses: (datum, writes)


class Kernel:
    """flops and shape: a kernel of linear algebra; speedup and cpu_ns: given outright; neither: bound by the bytes."""

    def __init__(self, name, *, nbytes=0, tile=0, flops=0, shape=None, speedup=0, cpu_ns=0, only=None):
        self.name, self.bytes, self.tile, self.flops, self.shape = name, nbytes, tile, flops, shape or name
        self.sizes = set()                                        # of its tasks' data, each with the same time
        self.speedup, self.cpu_ns, self.only = speedup, cpu_ns, only


class Graph:
    def __init__(self, app):
        self.app, self.kernels, self.data, self.tasks, self._index = app, [], [], [], {}

    def datum(self, nbytes):
        self.data.append(int(nbytes) // 4 * 4)
        return len(self.data) - 1

    def kernel(self, *a, **k):
        self.kernels.append(Kernel(*a, **k))
        self._index[self.kernels[-1].name] = len(self.kernels) - 1

    def task(self, kernel, reads, writes):
        k = self._index[kernel]
        uses = [(d, False) for d in reads] + [(d, True) for d in writes]
        nbytes = sum(self.data[d] for d, _ in uses)
        self.kernels[k].sizes.add(nbytes)
        self.kernels[k].bytes = max(self.kernels[k].bytes, nbytes)
        self.tasks.append(Task(k, uses))

    def predecessors(self):
        writer, readers = {}, {}
        for i, t in enumerate(self.tasks):
            before = set()
            for d, writes in t.uses:
                if d in writer:
                    before.add(writer[d])
                if writes:
                    before.update(readers.get(d, ()))
            for d, writes in t.uses:
                if writes:
                    writer[d], readers[d] = i, []
                else:
                    readers.setdefault(d, []).append(i)
            yield i, before

    def levels(self, ns):
        """(bottom level of each task in ns, depth of each in tasks from the start)."""
        before = [b for _, b in self.predecessors()]
        depth, bottom = [0] * len(self.tasks), [ns[t.kernel] for t in self.tasks]
        for i, b in enumerate(before):
            depth[i] = 1 + max((depth[p] for p in b), default=-1)
        for i in range(len(before) - 1, -1, -1):
            for p in before[i]:
                bottom[p] = max(bottom[p], ns[self.tasks[p].kernel] + bottom[i])
        return bottom, depth


def tiled(app, n, tile):
    g, t = Graph(app), tile * tile * 4
    cube = float(tile) ** 3
    if app == "cholesky":
        for name, share in (("potrf", 1 / 3), ("trsm", 1), ("syrk", 1), ("gemm", 2)):
            g.kernel(name, tile=tile, flops=share * cube)
        a = {(i, j): g.datum(t) for i in range(n) for j in range(i + 1)}
        for k in range(n):
            g.task("potrf", [], [a[k, k]])
            for i in range(k + 1, n):
                g.task("trsm", [a[k, k]], [a[i, k]])
            for i in range(k + 1, n):
                for j in range(k + 1, i):
                    g.task("gemm", [a[i, k], a[j, k]], [a[i, j]])
                g.task("syrk", [a[i, k]], [a[i, i]])
    elif app == "lu":
        for name, share in (("getrf", 2 / 3), ("trsm_ll", 1), ("trsm_ru", 1), ("gemm", 2)):
            g.kernel(name, tile=tile, flops=share * cube)
        a = {(i, j): g.datum(t) for i in range(n) for j in range(n)}
        for k in range(n):
            g.task("getrf", [], [a[k, k]])
            for j in range(k + 1, n):
                g.task("trsm_ll", [a[k, k]], [a[k, j]])
            for i in range(k + 1, n):
                g.task("trsm_ru", [a[k, k]], [a[i, k]])
            for i in range(k + 1, n):
                for j in range(k + 1, n):
                    g.task("gemm", [a[i, k], a[k, j]], [a[i, j]])
    elif app == "qr":
        for name, share in (("geqrt", 4 / 3), ("ormqr", 2), ("tsqrt", 2), ("tsmqr", 4)):
            g.kernel(name, tile=tile, flops=share * cube)
        a = {(i, j): g.datum(t) for i in range(n) for j in range(n)}
        r = {(i, k): g.datum(t / 8) for i in range(n) for k in range(n)}
        for k in range(n):
            g.task("geqrt", [], [a[k, k], r[k, k]])
            for j in range(k + 1, n):
                g.task("ormqr", [a[k, k], r[k, k]], [a[k, j]])
            for i in range(k + 1, n):
                g.task("tsqrt", [], [a[k, k], a[i, k], r[i, k]])
                for j in range(k + 1, n):
                    g.task("tsmqr", [a[i, k], r[i, k]], [a[k, j], a[i, j]])
    else:
        g.kernel("gemm", tile=tile, flops=2 * cube)
        a, b, c = ({(i, j): g.datum(t) for i in range(n) for j in range(n)} for _ in range(3))
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    g.task("gemm", [a[i, k], b[k, j]], [c[i, j]])
    return g


def stencil(side, steps, nbytes):
    g = Graph("stencil")
    g.kernel("sweep")
    x = [{(i, j): g.datum(nbytes) for i in range(side) for j in range(side)} for _ in range(2)]
    for s in range(steps):
        for i in range(side):
            for j in range(side):
                near = [(i, j)] + [(i + a, j + b) for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))]
                near = [p if p in x[0] else (i, j) for p in near]
                g.task("sweep", sorted({x[s % 2][p] for p in near}), [x[1 - s % 2][i, j]])
    return g


def cg(blocks, steps, nbytes):
    g = Graph("cg")
    matrix = [g.datum(12 * nbytes) for _ in range(blocks)]
    p, q, r, x = ([g.datum(nbytes) for _ in range(blocks)] for _ in range(4))
    part, alpha = [g.datum(64) for _ in range(blocks)], g.datum(64)
    for name in ("spmv", "dot", "axpy", "xpay"):
        g.kernel(name)
    g.kernel("sum", cpu_ns=3e3, speedup=.3)
    for _ in range(steps):
        for b in range(blocks):
            g.task("spmv", [matrix[b], p[b - 1], p[b], p[(b + 1) % blocks]] if blocks > 2 else [matrix[b], *p], [q[b]])
        for u, v in ((p, q), (r, r)):
            for b in range(blocks):
                g.task("dot", sorted({u[b], v[b]}), [part[b]])
            g.task("sum", part, [alpha])
            for b in range(blocks):
                g.task("axpy", [alpha, v[b]] if v is not r else [alpha, p[b]], [x[b] if v is r else r[b]])
        for b in range(blocks):
            g.task("xpay", [alpha, r[b]], [p[b]])
    return g


def layered(rng, layers, width, nbytes):
    g = Graph("layered")
    for k in range(rng.randint(2, 5)):
        g.kernel(f"work{k}", cpu_ns=math.exp(rng.uniform(math.log(2e5), math.log(2e7))),
                 speedup=math.exp(rng.uniform(math.log(.4), math.log(40))))
    sizes = [nbytes * rng.choice((1, 1, 2, 4)) for _ in g.kernels]
    before = []
    for _ in range(layers):
        here = []
        for _ in range(max(1, round(width * rng.uniform(.5, 1.5)))):
            k = rng.randrange(len(g.kernels))
            d = g.datum(sizes[k])
            g.task(g.kernels[k].name, sorted(set(rng.sample(before, min(len(before), rng.randint(1, 3))))), [d])
            here.append(d)
        before = here
    return g


def forkjoin(rng, rounds, width, nbytes):
    g = Graph("forkjoin")
    g.kernel("serial", cpu_ns=math.exp(rng.uniform(math.log(5e4), math.log(2e6))), speedup=rng.uniform(.2, 2))
    g.kernel("part", cpu_ns=math.exp(rng.uniform(math.log(3e5), math.log(1e7))), speedup=math.exp(rng.uniform(0, math.log(30))))
    whole, parts = g.datum(nbytes), [g.datum(nbytes) for _ in range(width)]
    for _ in range(rounds):
        g.task("serial", parts[:24], [whole])
        for d in parts:
            g.task("part", [whole], [d])
    return g


def filled(g):
    """The same graph after a task of the cores for each datum, whose time nobody knows."""
    work, g.tasks = g.tasks, []
    g.kernel("fill", only=("cpu",))
    for d in range(len(g.data)):
        g.task("fill", [], [d])
    g.tasks += work
    return g


def generate(rng, app, most):
    """A graph of at most about `most` tasks."""
    tasks = math.exp(rng.uniform(math.log(80), math.log(most)))
    tile = rng.choice((192, 320, 512, 768, 1024))
    if app == "gemm":
        return tiled(app, max(4, round(tasks ** (1 / 3))), tile)
    if app in ("cholesky", "lu", "qr"):
        return tiled(app, max(4, round((tasks * (6 if app == "cholesky" else 3)) ** (1 / 3))), tile)
    if app == "stencil":
        side = rng.randint(3, 16)
        return stencil(side, max(2, round(tasks / side ** 2)), rng.choice((1, 2, 4, 8)) << 20)
    if app == "cg":
        blocks = rng.choice((4, 8, 16, 32))
        return cg(blocks, max(2, round(tasks / (6 * blocks))), rng.choice((1, 2, 4)) << 18)
    width = math.exp(rng.uniform(math.log(4), math.log(64)))
    if app == "layered":
        return layered(rng, max(3, round(tasks / width)), width, rng.choice((1, 2, 4)) << 18)
    return forkjoin(rng, max(2, round(tasks / width)), round(width), rng.choice((1, 2, 4)) << 18)


def bound_ns(graph, machine, times):
    """No schedule takes less: the longest way at the best times, or the area bound by dual prices."""
    bottom, _ = graph.levels([min(t.values()) for t in times])
    count = [0] * len(times)
    for t in graph.tasks:
        count[t.kernel] += 1
    units = machine.classes()
    price, best, step = {c: 1 / sum(units.values()) for c in units}, 0, .5
    for _ in range(400):
        norm = sum(price[c] * n for c, n in units.items())
        value, load = 0, dict.fromkeys(units, 0)
        for n, t in zip(count, times):
            c = min(t, key=lambda c: t[c] * price[c])
            value += n * t[c] * price[c] / norm
            load[c] += n * t[c] / units[c]
        best = max(best, value)
        for c in units:
            price[c] = max(price[c] / norm * ((1 + step) if load[c] > value else 1 / (1 + step)), 1e-12)
        step *= .98
    return max(best, max(bottom))
