#!/usr/bin/env python3
"""Makes a manual page of its source: roff.py VERSION OUT SOURCE.md...   writes OUT/NAME.1 for each

A source is a little Markdown: "# consort-topo: what it does" first, "## Section", paragraphs, blocks between ``` lines, and lists of
terms, where a line "term" is followed by a line ": what it is". `bold`, *italic*. Options stand in terms: "`--level` *N*"."""
import re
import sys
from pathlib import Path


def escape(text):
    text = text.replace('\\', '\\e').replace('-', '\\-').replace("'", '\\(aq').replace('~', '\\(ti').replace('^', '\\(ha')
    return re.sub(r'^\.', r'\\&.', text)


def inline(text):
    out = []
    for part in re.split(r'(`[^`]+`|\*[^*\s][^*]*\*)', text):
        if part.startswith('`') and len(part) > 1:
            out.append('\\fB' + escape(part[1:-1]) + '\\fR')
        elif part.startswith('*') and len(part) > 1:
            out.append('\\fI' + escape(part[1:-1]) + '\\fR')
        else:
            out.append(escape(part))
    line = ''.join(out)
    return '\\&' + line if line.startswith(('.', "'")) else line


def page(source, version):
    lines = source.read_text().splitlines()
    name, about = re.fullmatch(r'# (\S+): (.+)', lines[0]).groups()
    out = [f'.\\" Made of docs/man/{source.name} by roff.py.', f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "Consort {version}" "Consort"', '.SH NAME',
           f'{escape(name)} \\- {inline(about)}']
    at, fresh = 1, True  # fresh: right behind a heading, where no .PP belongs
    while at < len(lines):
        line = lines[at]
        following = lines[at + 1] if at + 1 < len(lines) else ''
        at += 1
        if not line.strip():
            continue
        if line.startswith('## '):
            out.append('.SH ' + escape(line[3:]).upper())
            fresh = True
            continue
        if line.startswith('```'):
            end = lines.index('```', at)
            out += ['.PP'] * (not fresh) + ['.RS 4', '.EX', *(escape(text) for text in lines[at:end]), '.EE', '.RE']
            at = end + 1
        elif following.startswith(': '):
            out += ['.TP', inline(line)]
            body, at = [following[2:]], at + 1
            while at < len(lines) and lines[at].startswith('  '):
                body.append(lines[at].strip())
                at += 1
            out.append(inline(' '.join(body)))
        else:
            body = [line]
            while at < len(lines) and lines[at].strip() and not lines[at].startswith(('#', '```')):
                body.append(lines[at])
                at += 1
            out += ['.PP'] * (not fresh) + [inline(' '.join(body))]
        fresh = False
    return '\n'.join(out) + '\n'


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    for source in map(Path, sys.argv[3:]):
        (Path(sys.argv[2]) / f'{source.stem}.1').write_text(page(source, sys.argv[1]))


if __name__ == '__main__':
    main()
