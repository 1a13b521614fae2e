#!/usr/bin/env python3
"""No line of a page is longer than 120 columns: README.md, CHANGELOG.md, SECURITY.md, CONTRIBUTING.md, docs/**/*.md.

Tables are excepted, and a line of one word that cannot be divided. columns.py [--fix [PAGE...]]   --fix: fills the
paragraphs that are too wide anew; blocks of code stay as they are, and are divided by hand."""
import re
import sys
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 120
MARKER = re.compile(r'( *)([*+-]|\d+[.)]|:) +')  # of a list; ": " begins what a term of docs/man is
TOKEN = re.compile(r'(?:`+[^`]*`+|[^\s`])+')     # a word; a piece of code is one, with its spaces
BEGINS = re.compile(r'([*+:-]|\d+[.)]|#+)$|[|>]')  # at the start of a line these would mean something else
CODE_AS_IT_IS = {'CONTRIBUTING.md'}              # its plugins are laid out as the code is, .clang-format


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in line)


def pages():
    named = [ROOT / name for name in ('README.md', 'CHANGELOG.md', 'SECURITY.md', 'CONTRIBUTING.md')]
    return [p for p in [*named, *sorted((ROOT / 'docs').rglob('*.md'))] if p.exists()]


def blocks(lines):
    """(kind, first, last) of 'code', 'table', 'text' and 'other', by lines."""
    at = 0
    while at < len(lines):
        first, line = at, lines[at]
        at += 1
        if line.lstrip().startswith('```'):
            while at < len(lines) and not lines[at].lstrip().startswith('```'):
                at += 1
            at += 1
            yield 'code', first, min(at, len(lines))
        elif line.lstrip().startswith('|'):
            yield 'table', first, at
        elif not line.strip() or line.startswith(('#', '<', '    ', '---', ':::')) or line.lstrip().startswith('!['):
            yield 'other', first, at
        else:
            begins = MARKER.match
            while at < len(lines) and lines[at].strip() and not begins(lines[at]) and not lines[at].lstrip().startswith(
                    ('```', '|', '#', '<', '![')) and not (at + 1 < len(lines) and lines[at + 1].startswith(': ')):
                at += 1
            yield 'text', first, at


def filled(lines):
    """The paragraph, or the item of a list, with as many words in each line as there is room for."""
    marker = MARKER.match(lines[0])
    head = marker.group() if marker else re.match(' *', lines[0]).group()
    inner = ' ' * len(head)
    words = TOKEN.findall(' '.join([lines[0][len(head):], *(line.strip() for line in lines[1:])]))
    out = [[words[0]]]
    for word in words[1:]:
        if columns(inner + ' '.join([*out[-1], word])) <= WIDTH:
            out[-1].append(word)
        elif BEGINS.match(word) and len(out[-1]) > 1:
            out.append([out[-1].pop(), word])
        else:
            out.append([word])
    return [(inner if at else head) + ' '.join(line) for at, line in enumerate(out)]


def too_wide(line):
    return columns(line) > WIDTH and len(TOKEN.findall(MARKER.sub('', line, count=1))) > 1


def main():
    fix, wrong = '--fix' in sys.argv[1:], []
    named = [Path(name).resolve() for name in sys.argv[1:] if name != '--fix']
    of_pages = [p for p in pages() if not named or p in named]
    for page in of_pages:
        name = str(page.relative_to(ROOT))
        lines, out = page.read_text().splitlines(), []
        for kind, first, last in blocks(lines):
            block = lines[first:last]
            if kind == 'text' and fix and any(columns(line) > WIDTH for line in block):
                block = filled(block)
            out += block
            if kind == 'table' or kind == 'code' and name in CODE_AS_IT_IS:
                continue
            wrong += [f'{name}: {columns(line)} columns: {line[:60].strip()} ...' for line in block if too_wide(line)]
        if fix and out != lines:
            page.write_text('\n'.join(out) + '\n')
    print(*wrong, sep='\n', end='\n' if wrong else '')
    bad = len({w.split(':')[0] for w in wrong})
    print(f'{len(of_pages) - bad} passed, {bad} failed')
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main())
