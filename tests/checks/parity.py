#!/usr/bin/env python3
"""docs/parity.md is whole: a line for each requirement of the groups below, and each test that it names is in the tree.
Names of the library in docs/*.md exist in the headers.   parity.py [--strict]

A line reads  | TSK-01 | `tests/FILE`: Suite.Test, Suite.Test; `tests/FILE`: name (why) |  or says what stands in its
place, or begins with "open:". In a C++ file Suite.Test is a GoogleTest, in any other file the name is a word of it.
--strict: what is open fails, too. Ends with "N passed, N failed"."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GROUPS = {'TSK': 36, 'COD': 24, 'DAT': 27, 'IFC': 22, 'FLT': 19, 'ACC': 8, 'DEP': 12, 'INS': 8, 'RED': 5, 'BUN': 5, 'TLS': 6,
          'EXP': 2, 'WRK': 11, 'INI': 18, 'DBG': 3, 'EXA': 22,
          'PRF': 16, 'CAL': 10, 'OCL': 12, 'OOC': 2, 'MEM': 9, 'SIM': 1, 'SCH': 18, 'SPA': 13, 'TRC': 9, 'BND': 9,
          'POW': 7, 'PAR': 11, 'CUD': 11, 'RND': 3}


def complaint_about(file, name):
    path = ROOT / file
    if not path.is_file():
        return f'there is no file {file}'
    text = path.read_text()
    if file.endswith('.cpp') and '.' in name:
        suite, test = name.split('.', 1)
        there = re.search(rf'\bTEST(_F|_P)?\(\s*{re.escape(suite)},\s*{re.escape(test)}\s*\)', text)
    else:
        there = re.search(rf'\b{re.escape(name)}\b', text)
    return None if there else f'{file} has no test {name}'


def check_line(number, text):
    """Complaints about one line; a line without a test must say why."""
    found = list(re.finditer(r'`(tests/[^`]+)`: ([A-Za-z0-9_.]+(?:, [A-Za-z0-9_.]+)*)', text))
    if not found:
        return [] if re.match(r'as [A-Z]{3}-\d\d', text) or len(text.split()) > 2 else [f'{number}: neither a test nor a reason']
    return [f'{number}: {c}' for m in found for name in m[2].split(', ') if (c := complaint_about(m[1], name))]


def library_names():
    """Words that the pages give in code and that look like the library's, but stand in no header."""
    folders = [ROOT / 'sdk/include', *(ROOT / 'plugins').glob('*/*/include')]
    headers = '\n'.join(h.read_text() for folder in folders for h in folder.rglob('*.h*'))
    known = set(re.findall(r'\b(?:consort|CONSORT)_\w+', headers))
    cmake = '\n'.join(c.read_text() for c in (ROOT / 'sdk/cmake').iterdir())
    known |= set(re.findall(r'\bconsort_\w+', cmake)) | {'consort_debug', 'consort_plugins', 'consort_plugin_entry_cpu', 'consort_static_cpu'}
    complaints = []
    for page in sorted((ROOT / 'docs').glob('*.md')):
        for line, text in enumerate(page.read_text().splitlines(), 1):
            for code in re.findall(r'`([^`]+)`', text):
                for word in re.findall(r'\bconsort_[a-z_]+\b(?![./*])', code):
                    if word not in known and not word.endswith('_'):
                        complaints.append(f'docs/{page.name}:{line}: no header has {word}')
    return complaints


def main():
    strict = sys.argv[1:] == ['--strict']
    lines = {}
    complaints, still_open = [], []
    for text in (ROOT / 'docs/parity.md').read_text().splitlines():
        row = re.match(r'\| ([A-Z]{3}-\d\d) \| (.*) \|$', text)
        if not row:
            continue
        if row[1] in lines:
            complaints.append(f'{row[1]} has two lines')
        lines[row[1]] = row[2]
    for group, n in GROUPS.items():
        for i in range(1, n + 1):
            number = f'{group}-{i:02d}'
            text = lines.pop(number, None)
            if text is None:
                complaints.append(f'{number} is missing in docs/parity.md')
            elif text.startswith('open:'):
                still_open.append(number)
            else:
                complaints += check_line(number, text)
    complaints += [f'{number} is no number of these groups' for number in lines]
    names = library_names()
    for c in complaints + names:
        print('FAIL', c)
    if still_open:
        print('open:', ' '.join(still_open))
    failed = len(complaints) + len(names) + (len(still_open) if strict else 0)
    print(f'{sum(GROUPS.values()) - len(complaints) - len(still_open)} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
