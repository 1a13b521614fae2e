#!/usr/bin/env python3
"""Compiles the kernel and the plugins by clang-19 as far as warnings and errors go, with the flags of a build by g++.

clang_syntax.py BUILD [FOLDER...]     BUILD: a configured folder; FOLDER: kernel and plugins unless given

g++ reads standard headers that others include, and precompiled ones, so a missing include shows here. Programs are linked
and run by ./run test --full alone."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = {'.c': 'clang-19', '.cpp': 'clang++-19'}
TAKES_NEXT = {'-o', '-MT', '-MF', '-include'}
DROPPED = re.compile(r'-M[DP]|-c|-fpch-preprocess|-Winvalid-pch|-O\d|-Wno-restrict|-Wno-array-bounds')


def flags_of(command):
    words = iter(shlex.split(command))
    for word in words:
        if word.startswith('-'):
            break
    kept = [word]
    for word in words:
        if word in TAKES_NEXT:
            next(words)
        elif word.startswith('-') and not DROPPED.fullmatch(word):
            kept.append(word)
        elif kept[-1] in ('-isystem', '-I', '-D'):
            kept.append(word)
    return kept


def main():
    build = Path(sys.argv[1])
    folders = [ROOT / f for f in sys.argv[2:] or ('kernel', 'plugins')]
    if not shutil.which('clang++-19'):
        print('left out: no clang++-19 here')
        return 0
    listed = subprocess.run(['ninja', '-C', str(build), '-t', 'compdb'], capture_output=True, text=True, check=True).stdout
    calls = {}
    for entry in json.loads(listed):
        file = (Path(entry['directory']) / entry['file']).resolve()
        if file.suffix in COMPILERS and any(f in file.parents for f in folders):
            calls.setdefault(file, [COMPILERS[file.suffix], '-fsyntax-only', *flags_of(entry['command']), str(file)])

    def run(file):
        done = subprocess.run(calls[file], cwd=build, capture_output=True, text=True)
        return file, done.returncode, done.stderr

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, status, said in pool.map(run, sorted(calls)):
            if status or ' warning: ' in said:
                failed += 1
                print(f'{file.relative_to(ROOT)}:\n{said}')
    print(f'{len(calls) - failed} passed, {failed} failed')
    return failed != 0 or not calls


if __name__ == '__main__':
    sys.exit(main())
