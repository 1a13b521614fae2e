#!/usr/bin/env python3
"""The conformance kit, itself under test.

  judge.py CONSORT correct FILE.so...      each conforms: at level 1, with CONSORT_FULL in the environment at level 10
  judge.py CONSORT faults SOURCES BUILT    each NAME.so of the folder BUILT is wrong on purpose; the first line of SOURCES/NAME.c
                                           says how: "// CONSORT-S-6: the fault". A case of that rule fails, and no case
                                           crashes the command. The one called `correct` passes all. A fault that no case
                                           finds yet says so: "// CONSORT-S-6, not found yet: the fault"."""
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def conform(consort, *arguments):  # one case at a time: ctest runs several tests
    environment = {k: v for k, v in os.environ.items() if not k.startswith('CONSORT_')}
    return subprocess.run([consort, 'conform', '--jobs=1', *map(str, arguments)], capture_output=True, text=True, env=environment)


def correct(consort, files):
    level = '10' if os.environ.get('CONSORT_FULL') else '1'
    done = conform(consort, '--level', level, *files)
    print(done.stdout, done.stderr, sep='')
    return done.returncode


def fault(consort, source, file):
    """What is wrong with the kit's verdict on one plugin; '' if it is right."""
    said = re.match(r'// (CONSORT-[PSDIT]-\d+)(, not found yet)?: (.+)', source.read_text())
    if not said:
        return f'{source.name}: the first line is not "// CONSORT-S-6: the fault"'
    rule = said[1]
    if said[2]:
        print(f'{source.name:24} {rule:14} is not found yet: {said[3]}')
        return ''
    for seed in range(1, 25):  # what is a matter of chance among threads, or of a core's time, need not show at once
        done = conform(consort, '--json', '--only', f'^{rule}/', '--seed', seed, file)
        try:
            cases = json.loads(done.stdout)['plugins'][0]['cases']
        except (ValueError, IndexError):
            return f'{source.name}: consort answered {done.returncode}: {done.stderr.strip()}'
        failed = [c for c in cases if c['result'] == 'failed']
        if failed or not any(c['group'] in ('threads', 'perf') for c in cases):
            break
    if not failed or done.returncode != 1:
        return f'{source.name}: {said[3]}, but no case of {rule} fails: ' + ', '.join(f'{c["case"]} {c["result"]}' for c in cases)
    print(f'{source.name:24} {rule:14} {failed[0]["seen"].splitlines()[0]}')
    return ''


def faults(consort, sources, built):
    names = sorted(p for p in Path(sources).iterdir() if p.suffix in ('.c', '.cpp') and p.stem != 'correct')
    with ThreadPoolExecutor(2) as pool:
        wrong = [w for w in pool.map(lambda p: fault(consort, p, Path(built) / (p.stem + '.so')), names) if w]
    whole = conform(consort, Path(built) / 'correct.so')
    print(whole.stdout, whole.stderr, sep='')
    print(*wrong, sep='\n')
    print(f'{len(names)} plugins that are wrong on purpose, {len(wrong)} of them not found out')
    return 1 if wrong or whole.returncode else 0


def main():
    match sys.argv[1:]:
        case [consort, 'correct', *files] if files:
            sys.exit(correct(consort, files))
        case [consort, 'faults', sources, built]:
            sys.exit(faults(consort, sources, built))
    sys.exit(__doc__)


if __name__ == '__main__':
    main()
