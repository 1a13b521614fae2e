#!/usr/bin/env python3
"""kernel/ names no device, vendor, policy, layout, disk or network. Two rules:
  1. no word of tests/words.txt, as a whole word or as a part of an identifier, in code or comment;
  2. no string literal that is the name of a plugin of plugins/: the kernel asks for a plugin by its properties.

Sources name things, not persons. Two rules, the first for kernel/, sdk/, plugins/ and tools/:
  3. no word of PERSONS in a comment or an identifier: a comment's subject is a thing of the program (the worker, the copy);
  4. in texts (string literals there, pages, rules of plugins) none of PERSONS but who and whom: a text may speak of the user.
     The log of decisions (docs/decisions) stays as it was written."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PERSONS = {'who', 'whom', 'whoever', 'somebody', 'someone', 'anybody', 'anyone', 'nobody', 'everybody', 'everyone'}
THOSE = re.compile(r'\bthose (?:that|who)\b', re.IGNORECASE)
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
IN_TEXTS = re.compile(r'\b(' + '|'.join(sorted(PERSONS - {'who', 'whom'})) + r')\b', re.IGNORECASE)


def read_words():
    words, allowed = set(), []
    for line in (ROOT / 'tests/words.txt').read_text().splitlines():
        line = line.split('#')[0].split()
        if line[:1] == ['allow']:
            allowed.extend(line[1:])
        else:
            words.update(w.lower() for w in line)
    return words, re.compile('|'.join(a.replace('*', r'\w*') for a in allowed) or '$^')


def parts(identifier):
    """The identifier, its parts between underscores, each part's camel humps; and joins of two parts."""
    pieces = [p for p in identifier.split('_') if p]
    yield identifier.lower()
    for piece in pieces:
        yield piece.lower()
        for hump in re.findall(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*|\d+', piece):
            yield hump.lower()
    for a, b in zip(pieces, pieces[1:]):
        yield f'{a}_{b}'.lower()


def persons():
    """(count of files, faults) of rule 3."""
    files = sorted(f for folder in ('kernel', 'sdk', 'plugins', 'tools') for f in (ROOT / folder).rglob('*')
                   if f.suffix in ('.c', '.cpp', '.h', '.hpp', '.cl', '.cu'))
    faults = {}
    for file in files:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            told = [hit for text in LITERAL.findall(line) for hit in IN_TEXTS.findall(text)]
            line = LITERAL.sub('""', line)
            hits = told + [w for w in re.findall(r'[A-Za-z_]\w*', line) if not PERSONS.isdisjoint(parts(w))] + THOSE.findall(line)
            for hit in hits:
                faults.setdefault(file, []).append(f'{file.relative_to(ROOT)}:{number}: "{hit}" is a person')
    pages = [p for p in [*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md'), *(ROOT / 'sdk/rules').glob('*.toml')]
             if 'decisions' not in p.parts]
    for file in sorted(pages):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for hit in IN_TEXTS.findall(line):
                faults.setdefault(file, []).append(f'{file.relative_to(ROOT)}:{number}: "{hit}" is a person')
    return len(files) + len(pages), faults


def main():
    words, allowed = read_words()
    plugins = {p.name for p in (ROOT / 'plugins').glob('*/*') if p.is_dir()} - {'auto'}  # settings have that value, too
    files = sorted(f for pattern in ('*.cpp', '*.hpp', '*.h', '*.txt', '*.map') for f in (ROOT / 'kernel').rglob(pattern))
    bad_files = 0
    for file in files:
        found = []
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for identifier in re.findall(r'[A-Za-z_]\w*', line):
                hit = None if allowed.fullmatch(identifier) else next((p for p in parts(identifier) if p in words), None)
                if hit:
                    found.append(f'{file.relative_to(ROOT)}:{number}: "{identifier}" says "{hit}"')
            if not line.lstrip().startswith('#include'):
                for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', line.split('//')[0]):
                    if literal in plugins:
                        found.append(f'{file.relative_to(ROOT)}:{number}: "{literal}" is the name of a plugin')
        bad_files += bool(found)
        print(*found, sep='\n', end='\n' if found else '')
    if bad_files:
        print('the kernel names a thing of a plugin: rename it, move it into its plugin, or ask for a property instead')
    n, faults = persons()
    for found in faults.values():
        print(*found, sep='\n')
    if faults:
        print('a comment or a name speaks of a person: name the thing of the program (CONTRIBUTING.md, house rules)')
    bad_files += len(faults)
    print(f'{len(files) + n - bad_files} passed, {bad_files} failed')
    sys.exit(bad_files > 0)


if __name__ == '__main__':
    main()
