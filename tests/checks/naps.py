#!/usr/bin/env python3
"""No verdict of a test depends on how busy the machine is: a test waits for an event and not for a time.

Each sleep in tests/ carries a comment "nap: why" behind it or above its statement: what the time is for, where a longer
or shorter one leaves the result. An event instead: eventually() (api/harness.hpp), settled() (api/settled.hpp: all other
threads sleep), a Gate, virtual time (time = "virtual"). Left out: the headers that look for an event again and again, and
tests/conform/faults, whose plugins sleep on purpose."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SLEEP = re.compile(r'this_thread::sleep_(for|until)\(|\b(usleep|nanosleep)\(')
LEFT_OUT = ('tests/conform/faults/', 'tests/api/harness.hpp', 'tests/support/plugin_host.hpp')
NAP = re.compile(r'// nap: \S+')


def main():
    passed, wrong = 0, []
    for file in sorted((ROOT / 'tests').rglob('*')):
        name = str(file.relative_to(ROOT))
        if file.suffix not in ('.c', '.h', '.cpp', '.hpp') or name.startswith(LEFT_OUT):
            continue
        lines = file.read_text().splitlines()
        for i, line in enumerate(lines):
            if not SLEEP.search(line.split('//')[0]):
                continue
            if any(NAP.search(near) for near in lines[max(0, i - 1):i + 1]):
                passed += 1
            else:
                wrong.append(f'{name}:{i + 1}: a sleep without "// nap: why"')
    print('\n'.join(wrong + [f'{passed} passed, {len(wrong)} failed']))
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
