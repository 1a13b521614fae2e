"""Machines of the campaign, by a seeded generator: unlike each other, and unlike mirage and sirocco.

A machine has cores and one to eight fast units of one to three kinds, with links that are private, shared or switched, and
sometimes direct links between the devices. A kernel's time follows from the unit's rate, the tile and the kernel's efficiency."""
import math

# Efficiency of a kernel, as a share of the product's: on cores, and on fast units.
EFFICIENCY = {
    "gemm": (1, 1), "syrk": (.95, .9), "trsm": (.85, .5), "potrf": (.8, .08), "getrf": (.8, .07), "trsm_ll": (.85, .45),
    "trsm_ru": (.85, .5), "geqrt": (.7, .05), "tsqrt": (.7, .06), "ormqr": (.8, .55), "tsmqr": (.85, .6),
}
LINKS = ("private", "shared", "switched", "peers")
CLASSES = ("cuda", "hip", "opencl")


def logarithmic(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


class Machine:
    def __init__(self, rng, links=None):
        self.cores = round(logarithmic(rng, 2, 128))
        self.core_gflops = logarithmic(rng, 12, 60)
        self.core_bytes = logarithmic(rng, 3e9, 12e9)
        self.links = links or rng.choice(LINKS)
        fast = 4 if self.links == "peers" else rng.randint(1, 8)
        kinds = 1 if self.links == "peers" else rng.randint(1, min(3, fast))
        self.kinds = [{
            "class": CLASSES[k],
            "units": max(1, fast // kinds + (k < fast % kinds)),
            "gflops": self.core_gflops * logarithmic(rng, 6, 150),
            "half": rng.choice((96, 192, 384)),          # tile at which half of that is reached
            "bytes": logarithmic(rng, 80e9, 900e9),
            "floor": rng.uniform(4e3, 12e3),             # ns of the shortest kernel
            "memory": None,
        } for k in range(kinds)]
        self.bandwidth = logarithmic(rng, 2.5e9, 40e9)
        self.peer = logarithmic(rng, 20e9, 150e9)
        self.latency = round(rng.uniform(4, 20))
        self.overheads = {"submit": rng.uniform(.5, 2), "launch": rng.uniform(4, 12), "copy": rng.uniform(4, 12)}
        self.wobble = {}                                 # a kernel's own deviation on each class
        self.rng = rng

    def classes(self):
        return {"cpu": self.cores} | {k["class"]: k["units"] for k in self.kinds}

    def ns(self, kernel):
        """A kernel's time on each class of units that can run it."""
        times = {}
        for klass in self.classes():
            own = self.wobble.setdefault((kernel.name, klass), self.rng.uniform(.85, 1.15))
            if kernel.only and klass not in kernel.only:
                continue
            if klass == "cpu":
                shares, rate, width, half, floor = 0, self.core_gflops, self.core_bytes, 16, 500
            else:
                kind = next(k for k in self.kinds if k["class"] == klass)
                shares, rate, width, half, floor = 1, kind["gflops"], kind["bytes"], kind["half"], kind["floor"]
            if kernel.flops:
                reached = EFFICIENCY[kernel.shape][shares] * kernel.tile / (kernel.tile + half)
                work = kernel.flops / (rate * reached)
            elif kernel.speedup:                         # given outright
                work = kernel.cpu_ns / (kernel.speedup if shares else 1)
            else:
                work = kernel.bytes / width * 1e9
            times[klass] = round(own * max(work, floor))
        return times

    def memory_of(self, kind, data_bytes, largest):
        """Bytes of a device, where its memory is short: the largest task fits four times."""
        return max(round(kind["memory"] * data_bytes), 4 * largest)

    def describe(self, kernels, data_bytes, largest):
        """(text of the file, settings for short memory)."""
        o, devices, limits = self.overheads, [], []
        out = ["[overheads]"] + [f'{k} = "{v:.2f}us"' for k, v in o.items()]
        out += ["[[device]]", 'name = "cpu"', "host = true", 'class = "cpu"', f"units = {self.cores}", "depth = 1", 'memory = "512G"']
        for kind in self.kinds:
            for _ in range(kind["units"]):
                name = f"d{len(devices)}"
                devices.append(name)
                out += ["[[device]]", f'name = "{name}"', f'class = "{kind["class"]}"', 'memory = "64G"']
                if kind["memory"]:
                    limits.append(f"{name}:ram={self.memory_of(kind, data_bytes, largest)}")
        wire = lambda name, rate: ["[[wire]]", f'name = "{name}"', f'bandwidth = "{rate / 1e9:.3f}G"', f'latency = "{self.latency}us"']
        route = lambda a, b, *wires: ["[[route]]", f'from = "{a}"', f'to = "{b}"', f'wires = "{",".join(wires)}"',
                                      f'latency = "{self.latency}us"']
        ways = {}
        if self.links == "shared":
            out += wire("bus", self.bandwidth)
        if self.links == "switched":
            out += wire("up", 2 * self.bandwidth) + wire("down", 2 * self.bandwidth)
            for s in range((len(devices) + 1) // 2):
                out += wire(f"up{s}", self.bandwidth) + wire(f"down{s}", self.bandwidth)
        for i, d in enumerate(devices):
            if self.links == "shared":
                ways[d] = ("bus",), ("bus",)
            elif self.links == "switched":
                ways[d] = ("down", f"down{i // 2}"), (f"up{i // 2}", "up")
            else:
                out += wire(f"{d}in", self.bandwidth) + wire(f"{d}out", self.bandwidth)
                ways[d] = (f"{d}in",), (f"{d}out",)
            out += route("host", d, *ways[d][0]) + route(d, "host", *ways[d][1])
        if self.links == "peers":
            for d in devices:
                out += wire(f"{d}peer", self.peer)
            for a in devices:
                for b in devices:
                    if a != b:
                        out += route(a, b, f"{a}peer", f"{b}peer")
        for k in kernels:
            for klass, ns in self.ns(k).items():
                out += ["[[kernel]]", f'codelet = "{k.name}"', f'class = "{klass}"']
                out += [f'{size} = "{ns / 1e3:.3f}us"' for size in sorted(k.sizes)]
        return "\n".join(out) + "\n", limits
