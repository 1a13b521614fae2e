#!/usr/bin/env python3
"""docs/parity/*.md map every requirement to a test: each number occurs once, and each test that is named is in the tree and is run.
Names of the library in docs/**/*.md exist in the headers.   parity.py [--strict]

A row is  | TSK-01 | title | STATE | evidence |  with a state of three:
  shown       `tests/FILE`: Suite.Test, Suite.Test; `tests/FILE`: name (what to know)
  equivalent  the same, and words that name the equivalent; "as XXX-NN" takes the tests of that row
  not yet     the missing part
In a C++ file Suite.Test is a GoogleTest, in any other file the name is a word of it. A file is run if ctest or tests/checks/all.sh
runs it. Prints the counts of each group. --strict: "not yet" fails, too. Ends with "N passed, N failed"."""
import functools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GROUPS = {  # how many requirements each has: its numbers go from 01
    'TSK': (36, 'tasks'), 'COD': (24, 'codelets'), 'DAT': (27, 'data'), 'IFC': (22, 'interfaces'), 'FLT': (19, 'partition'),
    'ACC': (8, 'access modes'), 'DEP': (12, 'order'), 'INS': (8, 'submission in one line'), 'RED': (5, 'reduction'),
    'PAR': (11, 'parallel tasks'), 'SCH': (18, 'policies'), 'SPA': (13, 'interface of policies'), 'PRF': (16, 'models'),
    'CAL': (10, 'calibration'), 'PFL': (13, 'profiling'), 'POW': (7, 'energy'), 'PFT': (5, 'prefetch'), 'MEM': (9, 'memory'),
    'OOC': (2, 'disks'), 'LIB': (2, 'libraries on workers'), 'BUN': (5, 'bundles'), 'TLS': (6, 'lists'), 'EXP': (2, 'expert mode'),
    'BND': (9, 'bound'), 'TRC': (9, 'traces'), 'TOP': (6, 'live view'), 'MPI': (23, 'distribution'), 'COL': (4, 'collectives'),
    'FFT': (10, 'transforms'), 'OCL': (12, 'OpenCL'), 'CUD': (11, 'CUDA and HIP'), 'RND': (3, 'rendering'), 'WRK': (11, 'workers'),
    'INI': (18, 'start and settings'), 'ENV': (30, 'environment'), 'CFG': (34, 'options of the build'), 'BLD': (10, 'installation'),
    'DBG': (3, 'debugging'), 'TLX': (11, 'tools'), 'CEX': (14, 'extensions of C'), 'SOC': (1, 'OpenCL on top'), 'KST': (4, 'OpenMP'),
    'SIM': (1, 'simulation'), 'FOR': (14, 'Fortran'), 'JAV': (6, 'Java'), 'PYT': (44, 'Python'), 'RSY': (6, 'Rust'),
    'RCU': (15, 'kernels in Rust'), 'EXA': (22, 'examples'),
}
STATES = ('shown', 'equivalent', 'not yet')
ROW = re.compile(r'\| ([A-Z]{3}-\d\d) \| ([^|]+?) \| ([^|]+?) \| (.+) \|')
TESTS = re.compile(r'`((?:tests|sdk|bindings)/[^`]+)`: ([A-Za-z0-9_.]+(?:, [A-Za-z0-9_.]+)*)')
AS = re.compile(r'\bas ([A-Z]{3}-\d\d)')


@functools.cache
def lists():
    """Every CMakeLists.txt that registers tests, the stages of all.sh, and what ./run starts."""
    files = [ROOT / 'CMakeLists.txt', *(f for folder in ('tests', 'examples', 'bench') for f in (ROOT / folder).rglob('CMakeLists.txt'))]
    return '\n'.join(f.read_text() for f in [*files, ROOT / 'tests/checks/all.sh', ROOT / 'run'])


@functools.cache
def text_of(path):
    return path.read_text()


def complaint_about(file, name):
    path = ROOT / file
    if not path.is_file():
        return f'there is no file {file}'
    text = text_of(path)
    if file.endswith('.cpp'):
        suite, _, test = name.partition('.')
        there = re.search(rf'\bTEST(_F|_P)?\(\s*{re.escape(suite)},\s*{re.escape(test)}\s*\)', text)
    else:
        there = re.search(rf'\b{re.escape(name)}\b', text)
    run = re.fullmatch(r'tests/(?!checks/|plugins/).*_test\.cp?p?', file)  # the glob of tests/CMakeLists.txt
    run = run or re.search(rf'\b{re.escape(path.name)}\b', lists())
    run = run or (file.startswith('bindings/python/tests/test_') and 'python.sh' in lists())  # pytest finds it
    if not there:
        return f'{file} has no test {name}'
    return None if run else f'{file} is run by neither ctest nor tests/checks/all.sh'


def read(pages):
    """{number: (title, state, evidence)}, and complaints about rows that are none."""
    rows, complaints = {}, []
    for page, text in pages.items():
        for at, line in enumerate(text.splitlines(), 1):
            if not re.match(r'\|\s*[A-Z]{3}-\d+', line):
                continue
            row = ROW.fullmatch(line)
            if not row or row[3] not in STATES:
                complaints.append(f'{page}:{at}: not "| number | title | {" or ".join(STATES)} | evidence |"')
            elif row[1] in rows:
                complaints.append(f'{row[1]} has two rows')
            else:
                rows[row[1]] = row.groups()[1:]
    return rows, complaints


def complaints_of(number, rows):
    _, state, text = rows[number]
    named = [(m[1], name) for m in TESTS.finditer(text) for name in m[2].split(', ')]
    found = [f'{number}: {c}' for file, name in named if (c := complaint_about(file, name))]
    other = AS.search(text)
    if other and (other[1] not in rows or rows[other[1]][1] == 'not yet' != state):
        found.append(f'{number}: as {other[1]}, which is not there')
    if state == 'shown' and not named:
        found.append(f'{number}: shown, but names no test')
    words = TESTS.sub('', text).split()
    if state == 'equivalent' and len(words) < 2:
        found.append(f'{number}: an equivalent needs its reason')
    if state == 'not yet' and not words:
        found.append(f'{number}: not yet, but names no missing part')
    return found


def judge(pages):
    """Complaints about the pages, and the rows that were read."""
    rows, complaints = read(pages)
    numbers = [f'{group}-{i:02d}' for group, (n, _) in GROUPS.items() for i in range(1, n + 1)]
    complaints += [f'{number} is missing' for number in numbers if number not in rows]
    complaints += [f'{number} is no number of these groups' for number in rows if number not in numbers]
    for number in rows:
        complaints += complaints_of(number, rows)
    return complaints, rows


def counts(rows):
    """[group, title, shown, equivalent with a test, by its reason alone, not yet], and their sum at the end."""
    def tested_by(text):
        other = AS.search(text)
        return bool(TESTS.search(text) or other and TESTS.search(rows[other[1]][2]))
    table = []
    for group, (_, title) in GROUPS.items():
        of = [row for number, row in rows.items() if number[:3] == group]
        tested = sum(row[1] == 'equivalent' and tested_by(row[2]) for row in of)
        n = [sum(row[1] == state for row in of) for state in STATES]
        table.append([group, title, n[0], tested, n[1] - tested, n[2]])
    return [*table, ['', 'all', *(sum(line[i] for line in table) for i in range(2, 6))]]


def library_names():
    """Words that the pages give in code and that look like the library's, but stand in no header."""
    folders = [ROOT / 'sdk/include', *(ROOT / 'plugins').glob('*/*/include')]
    headers = '\n'.join(h.read_text() for folder in folders for h in folder.rglob('*.h*'))
    known = set(re.findall(r'\b(?:consort|CONSORT)_\w+', headers))
    cmake = '\n'.join(c.read_text() for c in (ROOT / 'sdk/cmake').iterdir())
    known |= set(re.findall(r'\bconsort_\w+', cmake)) | {'consort_debug', 'consort_plugins', 'consort_plugin_entry_cpu', 'consort_static_cpu'}
    complaints = []
    for page in sorted([*(ROOT / 'docs').glob('*.md'), *(ROOT / 'docs/parity').glob('*.md')]):
        for line, text in enumerate(page.read_text().splitlines(), 1):
            for code in re.findall(r'`([^`]+)`', text):
                for word in re.findall(r'\bconsort_[a-z_]+\b(?![./*])', code):
                    if word not in known and not word.endswith('_'):
                        complaints.append(f'{page.relative_to(ROOT)}:{line}: no header has {word}')
    return complaints


def main():
    strict = sys.argv[1:] == ['--strict']
    complaints, rows = judge({str(p.relative_to(ROOT)): p.read_text() for p in sorted((ROOT / 'docs/parity').glob('*.md'))})
    names = library_names()
    table = counts(rows)
    print(f'{"":26} shown  equivalent  by reason  not yet')
    for group, title, shown, tested, told, missing in table:
        print(f'{group:3} {title:22} {shown:5} {tested:11} {told:10} {missing:8}')
    for c in complaints + names:
        print('FAIL', c)
    failed = len(complaints) + len(names) + (table[-1][5] if strict else 0)
    print(f'{len(rows) - len(complaints) - table[-1][5]} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
