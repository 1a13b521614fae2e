"""Traces of the runtimes that are started in a block, and reports on them."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
from pathlib import Path
from typing import Optional, Union

from . import _runtime


class Report:
    """A page of a run. In a notebook it shows itself."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.path.read_text())}" width="100%" height="800"></iframe>'


class trace:
    """Runtimes that are started in this block write a trace when they stop: what ran where and when, with the graph.

    `report()` makes a page of it by the command `consort`.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], graph: bool = True) -> None:
        self.path = Path(path)
        self._settings = {"trace": str(self.path), "trace_graph": graph}

    def __enter__(self) -> trace:
        _runtime._added.append(self._settings)
        return self

    def __exit__(self, *_: object) -> None:
        _runtime._added.remove(self._settings)

    def _command(self, *words: str) -> str:
        command = os.environ.get("CONSORT_COMMAND") or shutil.which("consort")
        if command is None:
            raise FileNotFoundError("the command `consort` is not found: install consort-tools, or put it on the PATH")
        done = subprocess.run([command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"{command} {words[0]} failed")
        return done.stdout

    def summary(self) -> str:
        """Where the time went, as text."""
        return self._command("report", str(self.path))

    def report(self, path: Optional[Union[str, "os.PathLike[str]"]] = None) -> Report:
        """Writes a page in HTML, by default beside the trace."""
        to = Path(path) if path is not None else self.path.with_suffix(".html")
        self._command("report", str(self.path), "-o", str(to))
        return Report(to)
