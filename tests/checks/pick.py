#!/usr/bin/env python3
"""Builds and runs the tests that NAME names, and no others: a room, a plugin, a kind (LABELS of ctest), else a part of a
test's name.   pick.py BUILD JOBS NAME...   A NAME that names none: an error with the names that there are."""
import difflib
import json
import os
import re
import subprocess
import sys

STARTS_TOOL = {'tools', 'sdk', 'conform', 'example', 'bench', 'skew', 'man'}  # labels of tests that start other programs


def entries(build):
    done = subprocess.run(['ctest', '--test-dir', build, '--show-only=json-v1'], capture_output=True, text=True, check=True)
    for test in json.loads(done.stdout)['tests']:
        labels = next((p['value'] for p in test.get('properties', []) if p['name'] == 'LABELS'), [])
        yield test['name'], labels, test.get('command', [])


def pick(tests, name):
    by_label = [t for t in tests if name in t[1]]
    return by_label or [t for t in tests if name in t[0]]


def unknown(tests, name):
    labels = sorted({label for _, labels, _ in tests for label in labels})
    near = difflib.get_close_matches(name, labels + [t[0] for t in tests], 3, 0.6)
    print(f'no test is called "{name}"' + (f'; near: {", ".join(near)}' if near else '') +
          f'\nrooms, plugins, kinds: {" ".join(labels)}', file=sys.stderr)
    sys.exit(2)


def targets(build, tests):
    """The targets for ninja: the programs of the commands, the plugins that tests load by name, programs that they start."""
    known = subprocess.run(['ninja', '-C', build, '-t', 'targets', 'all'], capture_output=True, text=True, check=True).stdout
    known = {line.rsplit(':', 1)[0] for line in known.splitlines()}
    wanted = {'consort_plugins', 'consort_test_plugins'}
    for name, labels, command in tests:
        if name in known:  # a target of that name; ctest knows no command of a program that is not built yet
            wanted.add(name)
        for word in command:
            path = os.path.relpath(word.split('=')[-1], build)
            if path in known:
                wanted.add(path)
        if STARTS_TOOL & set(labels):
            wanted |= {'consort_tool'}
        if {'conform', 'example'} & set(labels):
            wanted |= {'cuda_double', 'nvrtc_double', 'hip_double', 'ze_double', 'consort_faults'}
        if 'bench' in labels:
            wanted.add('bench/all')
        if 'skew' in labels:
            wanted.add('skew')
    return sorted(wanted & known)


def main():
    build, jobs, *names = sys.argv[1:]
    build = os.path.realpath(build)
    tests = list(entries(build))
    chosen = {}
    for name in names:
        found = pick(tests, name) or unknown(tests, name)
        chosen.update((t[0], t) for t in found)
    ninja = subprocess.run(['ninja', '-C', build, '-j', jobs, *targets(build, chosen.values())],
                           stdout=None if sys.stdout.isatty() else subprocess.PIPE, text=True)
    if ninja.returncode:
        print(ninja.stdout or '', end='')
        sys.exit(1)
    if len(chosen) == len(tests):
        chosen = ['.']
    regex = '^(' + '|'.join(re.escape(name).replace('\\-', '-') for name in sorted(chosen)) + ')$'
    sys.exit(subprocess.run(['ctest', '--test-dir', build, '--output-on-failure', '--no-tests=error', '--progress' if sys.stdout.isatty()
                             else '--no-label-summary', '-j', str(int(jobs) + 1), '-R', regex]).returncode)


if __name__ == '__main__':
    main()
