"""Runs a program under callgrind and reads what it counted. Needs valgrind; everything else does not."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .measure import say


def there():
    if not shutil.which("valgrind"):
        say("no valgrind: apt-get install valgrind")
        return False
    return True


def run(command, folder):
    """The sum of instructions, of the whole program."""
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", *map(str, command)]
    done = subprocess.run(valgrind, capture_output=True, text=True, timeout=1200)
    match = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode == 3:
        sys.exit(done.stderr.strip().splitlines()[-1])
    if done.returncode != 0 or not match:
        sys.exit(f"valgrind failed on {' '.join(map(str, command))}:\n{done.stderr[-2000:]}")
    return int(match.group(1))


def by_function(command):
    """Instructions by function, and under None their sum."""
    with tempfile.TemporaryDirectory() as folder:
        counts = {None: run(command, folder)}
        listing = subprocess.run(["callgrind_annotate", "--threshold=100", f"{folder}/out"], capture_output=True, text=True).stdout
    for line in listing.splitlines():
        if m := re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+(?:[^:\s]*:)?(.*?)(?: \[.*\])?$", line):
            if m.group(2) != "PROGRAM TOTALS":
                counts[m.group(2)] = counts.get(m.group(2), 0) + int(m.group(1).replace(",", ""))
    return counts


def by_dump(command):
    """Instructions by the name of each dump that the program asked for, in their order."""
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        run(command, folder)
        for dump in sorted(Path(folder).glob("out.*"), key=lambda p: int(p.suffix[1:])):
            text = dump.read_text(errors="replace")
            name, total = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M), re.search(r"^summary: (\d+)", text, re.M)
            if name and total:
                counts[name.group(1)] = int(total.group(1))
    return counts
