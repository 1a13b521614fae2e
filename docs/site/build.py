#!/usr/bin/env python3
"""Builds the documentation as a site that works from the file system: build.py [--out FOLDER]   (build/docs)

Pages: docs/**/*.md, README.md, CHANGELOG.md, CONTRIBUTING.md, SECURITY.md and the README.md of each plugin and example, whose links
are turned into those of the site; the reference of the headers (reference.py, by doxygen). Sphinx makes them HTML. The
navigation is docs/README.md: a heading is a group, a link of its lists a page. Fails on a warning of doxygen or Sphinx,
and on a public function or type of a header without a comment (--lenient: prints it)."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # docs/site holds sources alone
import reference
from comments import documented

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
WORK = ROOT / 'build/docs-work'
SOURCE = WORK / 'source'
INCLUDE = ROOT / 'sdk/include'
ORPHAN = '---\norphan: true\n---\n\n'  # a page outside the navigation
LANGUAGES = {'.cpp': 'cpp', '.hpp': 'cpp', '.h': 'c', '.c': 'c', '.py': 'python', '.sh': 'sh', '.toml': 'toml'}
ABI = ('plugin', 'driver', 'interface', 'scheduler', 'transport', 'report', 'layer', 'times', 'nearby',
       'handles', 'samples', 'clock')


def pages():
    """{file of the repository: its page in the site}"""
    found = {}
    for file in [ROOT / name for name in ('README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md')]:
        found[file] = file.stem.lower()
    for file in sorted((ROOT / 'docs').rglob('*.md')):
        name = str(file.relative_to(ROOT / 'docs').with_suffix(''))
        found[file] = {'README': 'index'}.get(name, name.replace('/README', ''))
    for folder in ('plugins', 'examples', 'tests'):
        for file in sorted((ROOT / folder).rglob('README.md')):
            found[file] = str(file.parent.relative_to(ROOT))
    found[ROOT / 'docs/plugins/README.md'] = 'write-plugins'
    for file in sorted(INCLUDE.rglob('*.h*')):
        if 'shared' not in file.parts:
            found[file] = reference.page_of(str(file.relative_to(INCLUDE)))
    found[INCLUDE / 'consort'] = 'reference/index'
    found[ROOT / 'docs/man'] = 'man/index'
    found[ROOT / 'plugins'] = 'plugins/index'
    found[ROOT / 'docs/rules'] = 'rules/index'
    return found


class Pages:
    """Writes pages into Sphinx's source folder, and follows their links."""

    def __init__(self):
        self.of = pages()
        self.sources = {}  # files that pages lead to and that are no pages: shown as they are

    def target(self, file):
        if file.is_dir() and file / 'README.md' in self.of:
            file = file / 'README.md'
        if file in self.of:
            return self.of[file]
        if file.exists():
            self.sources[file] = 'source/' + str(file.relative_to(ROOT))
            return self.sources[file]
        sys.exit(f'a page leads to {file}, which has no place in the site')

    def relinked(self, text, file):
        """The text with its links to files of the repository as links between pages."""
        page = self.of[file]

        def link(found):
            path, _, anchor = found.group(1).partition('#')
            if re.match(r'[a-z]+:', path) or not path:
                return found.group()
            if path.endswith('.svg'):  # all of docs/**/*.svg lie beside the first page
                return f']({os.path.relpath(os.path.basename(path), os.path.dirname(page) or ".")})'
            to = self.target((file.parent / path).resolve())
            way = os.path.relpath(to + '.md', os.path.dirname(page) or '.')
            return f']({way}#{anchor})' if anchor else f']({way})'

        if page.startswith('man/'):  # a source of roff, without links
            text = re.sub(r'docs/([\w/-]+\.md)', r'[docs/\1](../\1)', text)
            text = re.sub(r'\b(consort[\w-]*)\(1\)', r'[\1(1)](\1.md)', text)
        parts = re.split(r'(^```.*?^```$|`[^`\n]*`)', text, flags=re.M | re.S)
        for at in range(0, len(parts), 2):
            parts[at] = re.sub(r'\]\(([^)\s]+)\)', link, ''.join(parts[at]))
        return ''.join(parts)

    def put(self, page, text):
        target = SOURCE / f'{page}.md'
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def toctree(entries, caption='', hidden=True, depth=1):
    out = ['', '```{toctree}']
    out += [':hidden:'] if hidden else []
    out += [f':caption: {caption}'] if caption else []
    return '\n'.join([*out, f':maxdepth: {depth}', '', *entries, '```', ''])


def title_of(file):
    return re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', file.read_text().split('\n', 1)[0].lstrip('# '))


def navigation(index):
    """The groups of docs/README.md as toctrees."""
    out = []
    for group in re.split(r'^## ', index, flags=re.M)[1:]:
        caption, _, body = group.partition('\n')
        entries = [f'{words} </{page}>' for words, page in re.findall(r'^\* \[([^\]]*)\]\(([^)#]+)\.md\)', body, re.M)]
        if entries:
            out.append(toctree(entries, caption))
    return ''.join(out)


def cards(index):
    """The lists of docs/README.md as cards; the first two pages as buttons."""
    body, *groups = re.split(r'(?=^## )', index, flags=re.M)
    title, _, rest = body.partition('\n')
    first = re.findall(r'^\* (\[[^\]]*\]\([^)]*\))', index, re.M)
    lead, code = rest.split('```', 1)
    out = [title, '', ':::{container} lead', lead.strip(), ':::', '']
    out += [':::{container} buttons', first[0], '[API](reference/index.md)', ':::', '', '```' + code]
    for group in groups:
        heading, _, entries = group.partition('\n')
        entries = re.sub(r'^(\* \[[^\]]*\]\([^)]*\)): (.)',
                         lambda m: f'{m.group(1)}\n\n  {m.group(2).upper()}', entries.strip(), flags=re.M)
        out += [heading, '', ':::{container} cards', entries, ':::', '']
    return '\n'.join(out)


def generated(site, headers):
    """Pages that list others: of the headers, the commands, the rules, the plugins."""
    order = sorted(headers, key=lambda n: (n.count('/'), n))
    plain = [n for n in order if n.count('/') == 1 and n.endswith('.h')]
    faces = {'For applications, in C': [n for n in plain if Path(n).stem not in ABI],
             'For applications, in C++': [n for n in order if '/cpp/' in n or n.count('/') == 1 and n.endswith('.hpp')
                                          and n != 'consort/plugin.hpp'],
             'For plugins, in C': [n for n in plain if Path(n).stem in ABI],
             'For plugins, in C++': [n for n in order if n == 'consort/plugin.hpp' or '/plugin/' in n]}
    out = ['# Headers', '', 'What applications and plugins call, header by header, in the order of the header.', '']
    trees = ''
    for face, names in faces.items():
        out += [f'## {face}', '']
        for name in names:
            about = reference.inline(' '.join(headers[name].split()))
            out.append(f'* [{name}]({os.path.basename(reference.page_of(name))}.md): {about}')
        out += ['']
        trees += toctree(['/' + reference.page_of(n) for n in names], face)
    site.put('reference/index', '\n'.join(out) + trees)

    lists = {'man/index': ('Commands', 'The command `consort` and its subcommands.', 'docs/man', '*.md'),
             'rules/index': ('Rules of plugins', 'What `consort conform` holds a plugin to.', 'docs/rules', '*.md')}
    for page, (title, about, folder, pattern) in lists.items():
        files = sorted((ROOT / folder).glob(pattern))
        titles = {f.stem: title_of(f).partition(': ') for f in files}
        rows = [f'* [{words[0]}]({stem}.md)' + (f': {words[2]}' if words[2] else '') for stem, words in titles.items()]
        site.put(page, '\n'.join([f'# {title}', '', about, '', *rows]) + toctree([f'{f.stem}' for f in files]))

    out, all_ = ['# Plugins that come with Consort', ''], []
    for family in sorted(p for p in (ROOT / 'plugins').iterdir() if p.is_dir()):
        files = sorted(family.rglob('README.md'))
        if files:
            out += [f'## {family.name.capitalize()}', '']
        for file in files:
            page = site.of[file]
            all_.append('/' + page)
            out.append(f'* [{title_of(file)}]({os.path.relpath(page, "plugins")}.md)')
        out.append('')
    site.put('plugins/index', '\n'.join(out) + toctree(all_))


def stage(lenient):
    """Writes all pages of Sphinx's source folder."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    site = Pages()
    symbols, bare, headers = reference.write(WORK / 'xml', INCLUDE, SOURCE)
    if bare:
        told = '\n'.join([*bare, f'{len(bare)} public functions or types of the headers have no comment'])
        print(told) if lenient else sys.exit(told)
    generated(site, headers)
    for file, page in site.of.items():
        if file.is_dir() or file.suffix != '.md':
            continue
        text = site.relinked(file.read_text(), file)
        if page == 'index':
            text = cards(text) + navigation(text)
        elif page == 'write-plugins':
            kinds = sorted({f.parent.name for f in (ROOT / 'docs/plugins').glob('*/*.md')})
            steps = [f'/plugins/{kind}/{step}' for kind in kinds for step in ('begin', 'contract', 'test', 'ship')]
            text += toctree([*steps, '/plugins/test', '/plugins/ship', '/rules/index'])
        elif page.startswith('tests/'):
            text = ORPHAN + text
        elif not page.startswith('plugins/'):
            inner = sorted(p for p in site.of.values() if os.path.dirname(p) == page)
            text += toctree([f'/{p}' for p in inner]) if inner else ''
        site.put(page, text)
    for file, page in site.sources.items():
        fence = '`' * 8
        name, kind = file.relative_to(ROOT), LANGUAGES.get(file.suffix, 'none')
        body = file.read_text() if file.is_file() else '\n'.join(sorted(f.name for f in file.iterdir()))
        site.put(page, f'{ORPHAN}# {name}\n\n{fence}{kind}\n{body}\n{fence}\n')
    for picture in (ROOT / 'docs').rglob('*.svg'):
        shutil.copy(picture, SOURCE)
    (WORK / 'symbols.json').write_text(json.dumps(symbols))


def headers():
    """Doxygen's XML of the headers; a warning of doxygen is an error."""
    shutil.rmtree(WORK, ignore_errors=True)
    for file in sorted(INCLUDE.rglob('*.h*')):
        name = file.relative_to(INCLUDE)
        if 'shared' not in name.parts:
            target = WORK / 'headers' / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(documented(file.read_text(), str(name)))
    done = subprocess.run(['doxygen', SITE / 'Doxyfile'], cwd=ROOT, capture_output=True, text=True)
    if done.returncode or done.stderr.strip():
        sys.exit(f'{done.stdout}{done.stderr}doxygen warns')


def version():
    return re.search(r'CONSORT_VERSION "([^"]+)"', (INCLUDE / 'consort/consort.h').read_text()).group(1)


def main():
    parser = argparse.ArgumentParser(usage='./run docs [--out FOLDER] [--lenient]')
    parser.add_argument('--out', type=Path, default=ROOT / 'build/docs')
    parser.add_argument('--lenient', action='store_true', help='a missing comment is printed and fails nothing')
    args = parser.parse_args()
    headers()
    stage(args.lenient)
    env = dict(os.environ, CONSORT_DOCS_SITE=str(SITE), CONSORT_DOCS_SYMBOLS=str(WORK / 'symbols.json'),
               CONSORT_DOCS_VERSION=version(), PYTHONDONTWRITEBYTECODE='1')
    shutil.rmtree(args.out, ignore_errors=True)
    done = subprocess.run(['sphinx-build', '-b', 'html', '-q', '-W', '--keep-going', '-d', WORK / 'doctrees',
                           '-c', SITE, SOURCE, args.out.resolve()], cwd=SOURCE, env=env)
    if done.returncode:
        sys.exit(done.returncode)
    print(f'{args.out}/index.html')


if __name__ == '__main__':
    main()
