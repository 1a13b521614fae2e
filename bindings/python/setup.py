"""Builds the extension `consort._core`. The library is found in LIBCONSORT_BUILD (a build folder of this tree), else by pkg-config."""

import os
import subprocess
from pathlib import Path

from setuptools import Extension, setup

here = Path(__file__).resolve().parent
build = os.environ.get("LIBCONSORT_BUILD")
if build:
    folder = Path(build).resolve() / "lib"
    include, link = [str(here.parents[1] / "sdk/include")], [f"-L{folder}", "-lconsort", f"-Wl,-rpath,{folder}"]
else:
    def ask(what: str) -> list:
        return subprocess.run(["pkg-config", what, "consort"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()

    try:
        include, link = [flag[2:] for flag in ask("--cflags") if flag.startswith("-I")], ask("--libs")
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit("libconsort is not found: install libconsort-dev, or set LIBCONSORT_BUILD to a build folder of the sources")

setup(
    ext_modules=[
        Extension(
            "consort._core",
            sorted(str(p.relative_to(here)) for p in (here / "src/core").glob("*.c")),
            depends=["src/core/core.h"],
            include_dirs=include,
            extra_link_args=link,
            extra_compile_args=["-std=c11", "-Wall", "-Wextra", "-O2", "-fvisibility=hidden"],
        )
    ]
)
