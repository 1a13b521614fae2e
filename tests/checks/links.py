#!/usr/bin/env python3
"""Each relative link of a page leads to a file, and to a heading where it names one; each page of docs is reached from README.md;
each rule that a page of docs/plugins names by its id is a rule of sdk/rules."""
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LETTERS = {'P': 'plugin', 'S': 'scheduler', 'D': 'driver', 'I': 'interface', 'T': 'transport'}
LONGEST = 120  # lines of a page of docs/plugins


def links(text):
    text = re.sub(r'^```.*?^```', '', text, flags=re.M | re.S)
    return re.findall(r'\]\(([^)\s]+)\)', re.sub(r'`[^`\n]*`', '', text))


def anchors(text):
    heads = re.findall(r'^#+ (.+)$', text, re.M)
    return {re.sub(r'[^\w\- ]', '', h.lower()).replace(' ', '-') for h in heads}


def main():
    pages = [ROOT / 'README.md', ROOT / 'CHANGELOG.md', ROOT / 'CONTRIBUTING.md', ROOT / 'SECURITY.md', *sorted((ROOT / 'docs').rglob('*.md'))]
    pages = [p for p in pages if ROOT / 'docs/man' not in p.parents]
    wrong, reached = [], {ROOT / 'README.md'}
    leads = {}
    for page in pages:
        text = page.read_text()
        leads[page] = set()
        for link in links(text):
            if re.match(r'[a-z]+:', link):
                continue
            path, _, anchor = link.partition('#')
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                wrong.append(f'{page.relative_to(ROOT)}: [{link}] leads nowhere')
            elif anchor and target.suffix == '.md' and anchor not in anchors(target.read_text()):
                wrong.append(f'{page.relative_to(ROOT)}: [{link}]: no such heading')
            leads[page].add(target)
    todo = list(reached)
    while todo:
        for target in leads.get(todo.pop(), ()):
            found = sorted(target.glob('*.md')) if target.is_dir() else [target]
            todo += [t for t in found if t not in reached]
            reached.update(found)
    wrong += [f'{p.relative_to(ROOT)}: no page leads there' for p in pages if p not in reached]
    rules = {letter: set(tomllib.loads(file.read_text())) for letter, kind in LETTERS.items()
             if (file := ROOT / f'sdk/rules/{kind}.toml').exists()}
    for page in sorted((ROOT / 'docs/plugins').rglob('*.md')):
        text = page.read_text()
        if text.count('\n') > LONGEST:
            wrong.append(f'{page.relative_to(ROOT)}: {text.count(chr(10))} lines; two screens, {LONGEST} lines, are the most')
        for letter, number in re.findall(r'\b([PSDIT])-(\d+)\b', text):
            if number not in rules.get(letter, {number}):
                wrong.append(f'{page.relative_to(ROOT)}: {letter}-{number} is no rule')
    print(*wrong, sep='\n', end='\n' if wrong else '')
    bad = len({w.split(':')[0] for w in wrong})
    print(f'{len(pages) - bad} passed, {bad} failed')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
