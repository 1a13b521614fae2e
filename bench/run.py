#!/usr/bin/env python3
"""Measures Consort beside its peers: one process per runtime and repetition, in turns, so that a noisy minute hits all of
them alike. Each pattern is first run under an oracle that checks order and count. A run that is stopped keeps the rows
that it has. Python's own library is all it needs."""
import argparse
import signal
import sys

from sim import campaign
from suite import bindings, cases, cliffs, crossing, factor, grids, instructions, measure, metg, micro, network, page, placement, resources, sim, trace
from suite.rows import Rows


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="WHAT")
    for module in (micro, cliffs, grids, metg, cases, resources, factor, instructions, sim, campaign, placement, crossing, network, trace, bindings, page):
        module.add(commands)
    arguments = sys.argv[1:]
    args = parser.parse_args(arguments or ["--help"])
    signal.signal(signal.SIGTERM, interrupt)
    measure.patience = args.patience
    args.bin = measure.find_programs(args.bin)
    busy = measure.percent_busy(0.5) if args.warn and not getattr(args, "smoke", False) else None
    measure.warn_if_busy(busy)
    rows = Rows(args.command, arguments, args.json, busy)
    try:
        status = args.measure(args, rows)
        rows.finish()
    except KeyboardInterrupt:
        measure.say("stopped: the rows measured so far")
        rows.write()
        status = 130
    if status not in (77, 2):
        shown = args.show(args, rows)
        if args.json:
            measure.say(f"wrote {args.json}")
        status = status or shown
    sys.exit(status)


if __name__ == "__main__":
    main()
