#!/usr/bin/env python3
"""functions.py write|check [LIBRARY]: the table of StarPU's functions in docs/starpu.md.

Declared functions are those of include/. One that a program of tests/compat calls works; one that none calls is called
untested; functions of no_effect.txt are accepted and do nothing; those of missing.txt are not there. check: whether the page
says so, whether each list is right, and whether LIBRARY exports what is declared and nothing else.
"""
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / 'docs/starpu.md'
BEGIN, END = '<!-- functions -->', '<!-- /functions -->'
PROTOTYPE = re.compile(r'^[\w][\w \*]*?\**\b(_?starpu_\w+)\(', re.M)


def declared():
    """{header: [functions]}"""
    out = {}
    for header in sorted((HERE / 'include').glob('*.h')):
        text = re.sub(r'static __starpu_inline.*?\n}', '', header.read_text(), flags=re.S)
        text = '\n'.join(l for l in text.splitlines() if not l.startswith(('#', ' ', '\t', 'typedef', 'extern')))
        names = sorted(set(PROTOTYPE.findall(text)))
        if names:
            out[header.name] = names
    return out


def listed(name):
    return [w for l in (HERE / name).read_text().splitlines() for w in l.split('#')[0].split()]


def called():
    text = '\n'.join(p.read_text() for p in sorted((ROOT / 'tests/compat').rglob('*.c')))
    return set(re.findall(r'\b(_?starpu_\w+)\b', text)) | ({'_starpu_worker_get_id_check'} if 'starpu_worker_get_id_check' in text else set())


def wrapped(words, width=118):
    lines, line = [], ''
    for w in words:
        if len(line) + len(w) + 2 > width:
            lines.append(line)
            line = ''
        line += (' ' if line else '') + w
    return '\n'.join(lines + [line])


def table():
    tested, none = called(), set(listed('no_effect.txt'))
    counts = [0, 0, 0]
    parts = []
    for header, names in declared().items():
        states = {'works': [], 'untested': [], 'no effect': []}
        for n in names:
            states['no effect' if n in none else 'works' if n in tested else 'untested'].append(f'`{n}`')
        for k, s in enumerate(states):
            counts[k] += len(states[s])
        parts.append(f'**{header}**\n' + ''.join(f'\n{wrapped([s.capitalize() + ":"] + v)}\n' for s, v in states.items() if v))
    missing = listed('missing.txt')
    head = (f'{counts[0]} functions work and are called by a program that runs over StarPU too, {counts[1]} are there and are '
            f'called by none,\n{counts[2]} are accepted and do nothing, {len(missing)} are missing. Made by `compat/starpu/functions.py write`.\n')
    return head + '\n' + '\n'.join(parts) + '\n**Missing**\n\n' + wrapped([f'`{m}`' for m in missing]) + '\n'


def main():
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    new = before + BEGIN + '\n\n' + table() + '\n' + END + rest.split(END)[1]
    if sys.argv[1] == 'write':
        PAGE.write_text(new)
        return 0
    faults = []
    if new != text:
        faults.append('docs/starpu.md is not what functions.py writes: compat/starpu/functions.py write')
    names = {n for v in declared().values() for n in v}
    for n in sorted(names & set(listed('missing.txt'))):
        faults.append(f'{n} is declared and listed in missing.txt')
    for n in sorted(set(listed('no_effect.txt')) - names):
        faults.append(f'{n} of no_effect.txt is not declared')
    if len(sys.argv) > 2:
        out = subprocess.run(['nm', '-D', '--defined-only', sys.argv[2]], stdout=subprocess.PIPE, text=True, check=True).stdout
        there = {l.split()[-1] for l in out.splitlines() if l.split()[1] == 'T'}
        faults += [f'{n} is declared and not exported' for n in sorted(names - there)]
        faults += [f'{n} is exported and not declared' for n in sorted(there - names)]
    for f in faults:
        print(f)
    print(f'{len(names)} functions, {len(faults)} faults')
    return bool(faults)


sys.exit(main())
