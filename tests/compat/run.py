#!/usr/bin/env python3
"""run.py OURS THEIRS [NAME...]: runs each program of tests/compat over Consort and over StarPU and compares the output.

OURS and THEIRS are the two builds of the programs. THEIRS "-": StarPU is not here, so that Consort's run is judged by its
own assertions alone. A program passes if both runs end well, print the same, and made at least ten assertions.
"""
import concurrent.futures
import difflib
import os
import re
import subprocess
import sys

LEAST = 10
SECONDS = 60


def run(binary, name):
    env = dict(os.environ, STARPU_SILENT="1", STARPU_WORKERS_NOBIND="1", STARPU_HOME=os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "home"))
    try:
        done = subprocess.run([binary, name], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, text=True, errors="replace")
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as e:
        return -1, (e.stdout or b"").decode(errors="replace"), "no end within %d seconds" % SECONDS


def judge(name):
    ours = run(sys.argv[1], name)
    complaints = []
    count = re.search(r"(\d+) checks, (\d+) failed", ours[1])
    if ours[0] or not count:
        complaints.append("over Consort it ends with %d: %s\n%s" % (ours[0], ours[2][-1500:], "\n".join(l for l in ours[1].splitlines() if l.startswith("NOT"))))
    elif int(count.group(1)) < LEAST:
        complaints.append("%s assertions, at least %d are wanted" % (count.group(1), LEAST))
    if sys.argv[2] != "-":
        theirs = run(sys.argv[2], name)
        if theirs[0]:
            complaints.append("over StarPU it ends with %d: %s" % (theirs[0], theirs[2][-1500:]))
        if theirs[1] != ours[1]:
            complaints.append("\n".join(list(difflib.unified_diff(theirs[1].splitlines(), ours[1].splitlines(), "StarPU", "Consort", lineterm="", n=1))[:40]))
    return name, int(count.group(1)) if count else 0, complaints


def main():
    listed = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    wanted = sys.argv[3:]
    names = sorted(n for n in listed if not wanted or any(n == w or n.startswith(w + "_") for w in wanted))
    if not names:
        sys.exit("no such program")
    if sys.argv[2] == "-":
        print("StarPU (libstarpu-dev) is not here: Consort's runs are not compared with its own")
    bad = total = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, checks, complaints in pool.map(judge, names):
            total += checks
            if complaints:
                bad += 1
                print("FAILED %s\n%s" % (name, "\n".join(complaints)))
    print("%d programs, %d assertions, %d failed" % (len(names), total, bad))
    sys.exit(bad != 0)


main()
