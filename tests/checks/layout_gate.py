#!/usr/bin/env python3
"""Shows that the layout gate finds incompatible changes: each case edits a copy of the headers and names the verdict."""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL, INCLUDE = ROOT / 'sdk/abi/layout.py', ROOT / 'sdk/include'
SAME, BROKEN, GROWN = 0, 1, 2

# change, header, text, replacement, verdict
CASES = [
    ('nothing changed', 'plugin.h', '', '', SAME),
    ('a comment changed', 'plugin.h', 'no event, no deadline', 'never', SAME),
    ('a field appended to a struct with size', 'plugin.h', '  const void *(*get)(void *self, const char *id);',
     '  const void *(*get)(void *self, const char *id); void *more;', GROWN),
    ('a field inserted', 'plugin.h', '  const consort_param *params;', '  void *more; const consort_param *params;', BROKEN),
    ('an argument widened', 'plugin.h', 'void (*log)(const consort_host *, int32_t level,',
     'void (*log)(const consort_host *, int64_t level,', BROKEN),
    ('a frozen struct grown, its assertion with it', 'plugin.h',
     'typedef struct consort_addr { uint64_t base, off; } consort_addr;\nCONSORT_FROZEN(consort_addr, 16);',
     'typedef struct consort_addr { uint64_t base, off, more; } consort_addr;\nCONSORT_FROZEN(consort_addr, 24);', BROKEN),
    ('a frozen struct grown, its assertion not', 'plugin.h', 'typedef struct consort_addr { uint64_t base, off; }',
     'typedef struct consort_addr { uint64_t base, off, more; }', BROKEN),
    ('a struct neither frozen nor with a size', 'plugin.h', 'typedef struct consort_addr {',
     'typedef struct consort_loose { int32_t a; } consort_loose;\ntypedef struct consort_addr {', BROKEN),
    ('a constant changed', 'plugin.h', 'CONSORT_E_IO = -5', 'CONSORT_E_IO = -50', BROKEN),
    ('a constant added', 'plugin.h', 'CONSORT_E_STOPPED = -15', 'CONSORT_E_STOPPED = -15, CONSORT_E_MORE = -99', GROWN),
    ('an id changed', 'scheduler.h', '"consort.sched/1"', '"consort.sched/2"', BROKEN),
    ('a minor raised', 'plugin.h', '#define CONSORT_HOST_MINOR 2', '#define CONSORT_HOST_MINOR 9', GROWN),
    ('a function removed', 'consort.h', 'CONSORT_API consort_status consort_stop(consort_runtime *rt);', '', BROKEN),
    ('an argument of a function changed', 'consort.h', 'consort_stop(consort_runtime *rt);',
     'consort_stop(consort_runtime *rt, int now);', BROKEN),
    ('a function added', 'consort.h', 'CONSORT_API consort_status consort_stop(consort_runtime *rt);',
     'CONSORT_API consort_status consort_stop(consort_runtime *rt);\nCONSORT_API consort_status consort_more(void);', GROWN),
]


def main():
    failed = 0
    scratch = tempfile.TemporaryDirectory()
    golden = Path(scratch.name) / 'golden'  # of the headers as they are, not the recorded one
    subprocess.run([sys.executable, TOOL, 'update', INCLUDE, golden], check=True)
    for change, header, old, new, verdict in CASES:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(INCLUDE / 'consort', Path(folder) / 'consort')
            file = Path(folder) / 'consort' / header
            text = file.read_text()
            if old not in text:
                failed += 1
                print(f'FAIL {change}: {header} no longer says {old!r}; mend this case')
                continue
            file.write_text(text.replace(old, new, 1))
            done = subprocess.run([sys.executable, TOOL, 'check', folder, golden], capture_output=True, text=True)
            if done.returncode != verdict:
                failed += 1
                print(f'FAIL {change}: verdict {done.returncode}, should be {verdict}\n{done.stdout}{done.stderr}')
    print(f'{len(CASES) - failed} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
