#!/usr/bin/env python3
"""The manual pages agree with the command: man.py CONSORT SOURCES PAGES

Each command of `consort help` has a page and each page a command. The options and operands of a page are those that --help of the
command, and of its commands, names; those of all commands stand in consort(1). Other pages that are named are there. A page
that groff or mandoc, where there, warn about is wrong."""
import re
import shutil
import subprocess
import sys
from pathlib import Path


def ask(tool, *words):
    done = subprocess.run([tool, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'consort {" ".join(words)}: answered {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


def section(text, title):
    """The lines of a part of --help, less its title: they are indented."""
    part = re.search(rf'^{title}:?[ ]*\n((?:[ ]+.*\n|\s*\n)*)', text, re.M | re.I)
    return part[1].splitlines() if part else []


def commands(text):
    return [m[1] for line in section(text, 'SUBCOMMANDS') if (m := re.match(r'  ([a-z][\w-]*)(?:\s|$)', line))]


def options(text):
    found = set()
    for line in section(text, 'OPTIONS'):
        if m := re.match(r'  ((?:-\w|--[\w-]+)(?:,\s*(?:-\w|--[\w-]+))*)', line):
            found |= set(re.split(r',\s*', m[1]))
    return found | {m[1] for line in section(text, 'POSITIONALS') if (m := re.match(r'  ([A-Z]+)\b', line))}


def documented(source):
    part = source.read_text().split('## Options\n')[1:]
    terms = re.findall(r'^(`.+)\n: ', part[0].split('\n## ')[0], re.M) if part else []
    return {word for term in terms for word in re.findall(r'`([^` ]+)`', term)}


def lint(page):
    if shutil.which('groff'):
        done = subprocess.run(['groff', '-man', '-ww', '-Tutf8', '-z', page], capture_output=True, text=True)
        if done.returncode or done.stderr:
            yield f'groff: {done.stderr.strip()}'
    if shutil.which('mandoc'):
        done = subprocess.run(['mandoc', '-Tlint', '-Wwarning', page], capture_output=True, text=True)
        if done.returncode:
            yield f'mandoc: {done.stdout.strip()}'


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    tool, sources, pages = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    wrong = []
    general = ask(tool, '--help')
    known = commands(general)
    if len(known) < 5:
        sys.exit(f'--help lists {known} as its commands: is it in another form?')
    expected = {'consort': options(general)}
    for command in known:
        if command != 'help':
            text = ask(tool, command, '--help')
            expected[f'consort-{command}'] = set().union(options(text), *(options(ask(tool, command, c, '--help')) for c in commands(text))) - {'-h', '--help'}
    written = {source.stem: source for source in sources.glob('*.md')}
    wrong += [f'{name}: no page docs/man/{name}.md' for name in expected.keys() - written.keys()]
    wrong += [f'{name}: a page about no command' for name in written.keys() - expected.keys()]
    for name in sorted(expected.keys() & written.keys()):
        said = documented(written[name])
        wrong += [f'{name}: does not say {o}' for o in sorted(expected[name] - said - (set() if name != 'consort' else {'COMMAND'}))]
        wrong += [f'{name}: says {o}, which the command does not know' for o in sorted(said - expected[name])]
        text = written[name].read_text()
        wrong += [f'{name}: names {other}(1), which is no page' for other in sorted(set(re.findall(r'(consort[\w-]*)\(1\)', text)) - written.keys())]
        page = pages / f'{name}.1'
        wrong += [f'{name}: {said}' for said in lint(page)] if page.exists() else [f'{page}: was not made']
    for command in known:
        if not re.search(rf'^`{command}`', written['consort'].read_text(), re.M):
            wrong.append(f'consort: does not list {command}')
    print(*wrong, f'{len(expected) - len({w.split(":")[0] for w in wrong})} pages are right', sep='\n')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
