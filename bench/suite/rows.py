"""The rows of one benchmark: added as they are measured, written at once, so that a run that is stopped keeps them."""
import json
import os
import re
import shlex
import time
from pathlib import Path


def processor():
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found.group(1) if found else "unknown"


class Rows(list):
    def __init__(self, bench, arguments, file, busy):
        super().__init__()
        self.file = Path(file) if file else None
        self.about = {"bench": bench, "command": shlex.join(["./run", "bench", *arguments]), "date": time.strftime("%Y-%m-%d"),
                      "processor": processor(), "cores": len(os.sched_getaffinity(0)),
                      "busy_percent": None if busy is None else round(busy), "complete": False, "missing": {}}

    def add(self, rows):
        """A row, or several."""
        self.extend([rows] if isinstance(rows, dict) else rows)
        self.write()

    def missing(self, name, why):
        """What is not in the rows, and why."""
        self.about["missing"][name] = why

    def finish(self):
        self.about["complete"] = True
        self.write()

    def write(self):
        if not self.file:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_name(self.file.name + ".new")
        new.write_text(json.dumps({**self.about, "rows": self}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        new.replace(self.file)
