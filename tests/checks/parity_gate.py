#!/usr/bin/env python3
"""Shows that parity.py finds false rows: each case changes the pages of docs/parity and names the complaint."""
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import parity  # noqa: E402

ROW = '| TSK-01 | a title | %s | %s |'
TEST = '`tests/api/codelet_test.cpp`: Codelets.BodyReceivesViewsAndArguments'

# case, the new row of TSK-01, a word of the complaint (None: there is none)
CASES = [
    ('a test that is there', ROW % ('shown', TEST), None),
    ('an equivalent with its reason', ROW % ('equivalent', 'a handle in its place'), None),
    ('an equivalent that another row shows', ROW % ('equivalent', 'as TSK-02'), None),
    ('plainly not there', ROW % ('not yet', 'the feature'), None),
    ('no row', '', 'TSK-01 is missing'),
    ('two rows', f'{ROW % ("shown", TEST)}\n{ROW % ("shown", TEST)}', 'TSK-01 has two rows'),
    ('an unknown number', f'{ROW % ("shown", TEST)}\n| TSK-99 | a title | shown | {TEST} |', 'TSK-99 is no number'),
    ('an unknown group', f'{ROW % ("shown", TEST)}\n| XYZ-01 | a title | shown | {TEST} |', 'XYZ-01 is no number'),
    ('an unknown test', ROW % ('shown', '`tests/api/codelet_test.cpp`: Codelets.NoSuchTest'), 'has no test Codelets.NoSuchTest'),
    ('a test of another file', ROW % ('shown', '`tests/api/wait_test.cpp`: Codelets.BodyReceivesViewsAndArguments'), 'has no test'),
    ('an unknown file', ROW % ('shown', '`tests/api/no_such_test.cpp`: Some.Test'), 'there is no file'),
    ('an unknown word of a script', ROW % ('shown', '`tests/examples/run.py`: no_such_example'), 'has no test no_such_example'),
    ('a file that nothing runs', ROW % ('shown', '`tests/api/sums.hpp`: once'), 'is run by neither'),
    ('shown by words alone', ROW % ('shown', 'it is there'), 'names no test'),
    ('an equivalent without a reason', ROW % ('equivalent', TEST), 'needs its reason'),
    ('an equivalent to a missing row', ROW % ('equivalent', 'as MPI-01'), 'as MPI-01, which is not there'),
    ('an unknown state', ROW % ('open', TEST), 'not "| number'),
    ('a row of three cells', f'| TSK-01 | shown | {TEST} |', 'not "| number'),
]


def main():
    pages = {p.name: p.read_text() for p in sorted((parity.ROOT / 'docs/parity').glob('*.md'))}
    there = re.compile(r'^\| TSK-01 \|.*$', re.M)
    whole = '\n'.join(pages.values())
    # MPI-01 is made a row of state "not yet" first, independently of the pages
    whole = re.sub(r'^\| MPI-01 \|.*$', '| MPI-01 | a title | not yet | distribution |', whole, flags=re.M)
    before = set(parity.judge({'pages': whole})[0])
    failed = 0
    for case, row, word in CASES:
        found = [c for c in parity.judge({'pages': there.sub(lambda _, row=row: row, whole, count=1)})[0] if c not in before]
        if bool(found) != bool(word) or word and not any(word in c for c in found):
            failed += 1
            print(f'FAIL {case}: {found or "no complaint"}')
    print(f'{len(CASES) - failed} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
