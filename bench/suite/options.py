"""Options that several benchmarks have, spelt alike."""
import argparse
from pathlib import Path


def numbers(text):
    return [int(x) for x in text.split(",")]


def names(text):
    return text.split(",")


def command(commands, module, name, text, **defaults):
    """A benchmark: module.measure(args, rows) runs it, module.show(args, rows) prints the rows and gives the exit status."""
    p = commands.add_parser(name, help=text, description=text, formatter_class=argparse.HelpFormatter)
    p.set_defaults(**{"measure": module.measure, "show": module.show, "patience": 0, "warn": True, **defaults})
    p.add_argument("--bin", type=Path, help="folder of the benchmark programs")
    p.add_argument("--json", help="write the figures there, row by row; where there is a plot, it is beside it")
    return p


def turns(p, rounds):
    p.add_argument("--rounds", type=int, default=rounds, help="processes per runtime, in turns (%(default)s)")
    p.add_argument("--patience", type=float, default=0, metavar="SECONDS",
                   help="before each process, the longest wait until no other process uses the cores")


def runtimes(p, known, workers=(2,), n=1e6):
    p.add_argument("--runtimes", type=names, default=list(known), help="comma-separated: " + ",".join(known))
    p.add_argument("--workers", type=numbers, default=list(workers), help="comma-separated")
    p.add_argument("--n", type=float, default=n, help="tasks; slow runtimes get a share")
