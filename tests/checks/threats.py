#!/usr/bin/env python3
"""Each row of docs/threats.md names files that exist, functions that stand in them, and tests that exist; each fuzz target of
tests/fuzz has a corpus and stands in some row."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / 'tests/fuzz'


def rows(text):
    for number, line in enumerate(text.splitlines(), 1):
        cells = [c.strip() for c in line.strip().strip('|').split('|')] if line.startswith('| ') else []
        if len(cells) == 4 and cells[0] != 'input':
            yield number, cells


def main():
    page = (ROOT / 'docs/threats.md').read_text()
    tests = set()
    for source in sorted((ROOT / 'tests').rglob('*_test.cpp')):
        tests |= {f'{a}.{b}' for a, b in re.findall(r'^ *TEST(?:_[FP])?\((\w+), *(\w+)\)', source.read_text(), re.M)}
    targets = set(re.findall(r'^ *fuzz_target\((\w+)', (FUZZ / 'CMakeLists.txt').read_text(), re.M))
    wrong, fuzzed, found = [], set(), 0
    for number, (threat, _, checks, tested) in rows(page):
        found += 1
        bad = lambda why: wrong.append(f'docs/threats.md:{number}: {threat}: {why}')
        for part in checks.split(';'):
            path, *functions = re.findall(r'`([^`]+)`', part)
            if not (ROOT / path).is_file():
                bad(f'there is no file {path}')
                continue
            text = (ROOT / path).read_text()
            if not functions:
                bad(f'no function of {path} is named')
            for f in functions:
                if not re.search(rf'\b{re.escape(f)}\b', text):
                    bad(f'{path} has no {f}')
        names = re.findall(r'(fuzz )?`([^`]+)`', tested)
        if not names:
            bad('no test is named')
        for fuzz, name in names:
            if fuzz:
                fuzzed.add(name)
            if name not in (targets if fuzz else tests):
                bad(f'there is no {"fuzz target" if fuzz else "test"} {name}')
    for target in sorted(targets):
        if target not in fuzzed:
            wrong.append(f'docs/threats.md has no row for the fuzz target {target}')
        if not (FUZZ / f'{target}.cpp').is_file() or not any((FUZZ / 'corpus' / target).glob('*')):
            wrong.append(f'fuzz target {target} lacks its source or its corpus')
    corpus = sum(f.stat().st_size for f in (FUZZ / 'corpus').rglob('*') if f.is_file())
    if corpus > 1 << 20:
        wrong.append(f'the corpora of tests/fuzz have {corpus} bytes: 1 MiB at most')
    if found < 10:
        wrong.append('docs/threats.md: its table was not found')
    print('\n'.join(wrong) if wrong else f'{found} inputs, {len(targets)} fuzz targets, {corpus} bytes of corpora')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
