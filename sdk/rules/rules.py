#!/usr/bin/env python3
"""The rules that a plugin keeps, out of sdk/rules/*.toml, their one source.

  rules.py check         the pages are fresh; each rule has a case and each case a rule; each id in a header is one
  rules.py pages         writes docs/rules/KIND.md
  rules.py table FILE    writes the source of the table that is linked into the consort command

An entry of a file is [NUMBER] with rule, why, fix (plain words, whole sentences), group and level (1 quick … 10 all), and where
need be seconds (that one case may take), case = "none: why", or dead = "why". Numbers are never used again."""
import re
import sys
import textwrap
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = {'plugin': 'P', 'scheduler': 'S', 'driver': 'D', 'interface': 'I', 'transport': 'T'}
GROUPS = ('abi', 'load', 'skew', 'life', 'threads', 'fault', 'behaviour', 'virtual', 'perf')
ABOUT = {
    'plugin': 'every plugin keeps, of whatever kind',
    'scheduler': 'a scheduler keeps, beside [those of every plugin](plugin.md)',
    'driver': 'a driver keeps, beside [those of every plugin](plugin.md)',
    'interface': 'an interface keeps, beside [those of every plugin](plugin.md)',
    'transport': 'a transport keeps, beside [those of every plugin](plugin.md)',
}
wrong = []


def read(kind):
    """The rules of one kind as a list of dictionaries with their ids."""
    file = ROOT / f'sdk/rules/{kind}.toml'
    if not file.exists():
        return []
    found = []
    for number, entry in tomllib.loads(file.read_text()).items():
        rule = {'id': f'CONSORT-{KINDS[kind]}-{number}', 'level': 1, 'seconds': 0, **entry}
        for key in ('rule', 'why', 'fix'):
            if not isinstance(rule.get(key), str) or not rule[key].strip():
                wrong.append(f'{file.name}: [{number}] lacks `{key}`')
                rule[key] = ''
        if rule.get('group') not in GROUPS:
            wrong.append(f'{file.name}: [{number}] is of group "{rule.get("group")}"; expected one of {", ".join(GROUPS)}')
            rule['group'] = 'abi'
        if not number.isdigit() or number.startswith('0'):
            wrong.append(f'{file.name}: [{number}] is no number')
        unknown = set(entry) - {'rule', 'why', 'fix', 'group', 'level', 'seconds', 'case', 'dead'}
        if unknown:
            wrong.append(f'{file.name}: [{number}] has {", ".join(sorted(unknown))}, which means nothing')
        found.append(rule)
    return sorted(found, key=lambda r: int(r['id'].split('-')[2]) if r['id'].split('-')[2].isdigit() else 0)


def literal(text):
    return '"' + ' '.join(text.split()).replace('\\', '\\\\').replace('"', '\\"') + '"'


def table(target):
    lines = ['// made by sdk/rules/rules.py', '#include "conform/rules.hpp"', 'namespace conform {', 'const Rule rules_table[] = {']
    for kind in KINDS:
        for r in read(kind):
            if 'dead' not in r:
                words = ', '.join(literal(r[k]) for k in ('id', 'rule', 'why', 'fix', 'group'))
                lines.append(f'{{{words}, {r["level"]}, {r["seconds"]}}},')
    lines += ['};', 'const unsigned rules_count = sizeof rules_table / sizeof *rules_table;', '}  // namespace conform']
    Path(target).write_text('\n'.join(lines) + '\n')


def filled(text):
    return textwrap.fill(' '.join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def page(kind):
    out = [f'# The rules that {ABOUT[kind]}', '',
           filled(f'Made from `sdk/rules/{kind}.toml` by `sdk/rules/rules.py pages`. `consort conform FILE.so` asks a plugin '
                  'for them and names in a failure the one that it breaks ([conform.md](../conform.md)). An id never changes '
                  'its meaning.'), '']
    for r in read(kind):
        if 'dead' in r:
            out += [f'## {r["id"]} (no more)', '', filled(r['dead']), '']
            continue
        notes = [r['group'], f'from level {r["level"]} on']
        if 'case' in r:
            notes.append('not asked by a case, ' + r['case'].removeprefix('none: '))
        out += [f'## {r["id"]}', '', filled(f'**{r["rule"].strip()}** ({"; ".join(notes)})'), '',
                filled(f'Why: {r["why"]}'), '', filled(f'How to fix it: {r["fix"]}'), '']
    return '\n'.join(out)


def cases():
    """(id, group, name, place) of each CONFORM_CASE."""
    for file in sorted((ROOT / 'tools/conform').rglob('*.cpp')):
        for m in re.finditer(r'^CONFORM_CASE\((\w), (\d+), (\w+), (\w+)\)', file.read_text(), re.M):
            yield f'CONSORT-{m[1]}-{m[2]}', m[3], m[4], file.relative_to(ROOT)


def check():
    every = {r['id']: r for kind in KINDS for r in read(kind)}
    asked = set()
    for rule, group, name, place in cases():
        asked.add(rule)
        if rule not in every or 'dead' in every[rule]:
            wrong.append(f'{place}: case {name} names {rule}, which is no rule: add it to sdk/rules')
        elif every[rule]['group'] != group:
            wrong.append(f'{place}: case {name} is of group {group}, its rule {rule} of {every[rule]["group"]}')
    for rule, r in every.items():
        if rule not in asked and 'dead' not in r and not str(r.get('case', '')).startswith('none: '):
            wrong.append(f'{rule} has no case: write CONFORM_CASE for it, or say case = "none: why"')
        if rule in asked and 'case' in r:
            wrong.append(f'{rule} says that it has no case, but it has one')
    named = set()
    for header in sorted((ROOT / 'sdk/include/consort').glob('*.h')):
        for number, line in enumerate(header.read_text().splitlines(), 1):
            for m in re.finditer(r'\[([PSDIT]-\d+(?:, [PSDIT]-\d+)*)\]', line):
                for short in m[1].split(', '):
                    named.add(f'CONSORT-{short}')
                    if f'CONSORT-{short}' not in every:
                        wrong.append(f'{header.name}:{number}: names {short}, which is no rule')
    for kind in KINDS:
        if not read(kind):
            continue
        file = ROOT / f'docs/rules/{kind}.md'
        if not file.exists() or file.read_text() != page(kind):
            wrong.append(f'docs/rules/{kind}.md is not made from the rules as they are: sdk/rules/rules.py pages')
    print(*sorted(set(wrong)), sep='\n', end='\n' if wrong else '')
    print(f'{len(every)} rules, {len(asked)} of them asked by cases, {len(named)} named in headers')
    print(f'{1 - bool(wrong)} passed, {int(bool(wrong))} failed')
    return bool(wrong)


def main():
    match sys.argv[1:]:
        case ['check']:
            sys.exit(check())
        case ['pages']:
            (ROOT / 'docs/rules').mkdir(exist_ok=True)
            for kind in KINDS:
                if read(kind):
                    (ROOT / f'docs/rules/{kind}.md').write_text(page(kind))
        case ['table', target]:
            table(target)
        case _:
            sys.exit(__doc__)
    if wrong:
        sys.exit('\n'.join(sorted(set(wrong))))


if __name__ == '__main__':
    main()
