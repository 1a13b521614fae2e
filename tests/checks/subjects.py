#!/usr/bin/env python3
"""The first line of a commit's message: `area: imperative`, at most 72 characters, both in lower case.

  subjects.py                  the commits that origin/main lacks, or the last one; and the cases at the end of this file
  subjects.py message FILE     one message; ./run hooks makes git ask this at each commit"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 72
LAST_BEFORE = '65e8e6cd999c613f80f667dd8b35679eeccf3466'  # later commits keep this form
FORM = re.compile(r'[a-z0-9_.+-]+(?:(?:, |/)[a-z0-9_.+-]+)*: [a-z0-9]')
MADE_BY_GIT = re.compile(r'(Merge|Revert|fixup!|squash!|amend!) ?')
# Not the imperative: "adds", "added", "adding". Few imperatives end so, and these are they.
NOT_IMPERATIVE = re.compile(r'[a-z]+(?:ed|ing)$|(?:adds|fixes|makes|removes|changes|uses|keeps|moves|lets|says|tests|builds)$')
IMPERATIVE = {'embed', 'feed', 'need', 'seed', 'speed', 'shed', 'bring', 'string', 'ring', 'sing', 'ping', 'exceed', 'proceed'}


def faults(message):
    """The faults of the subject of `message`, a list of texts; empty if it has none."""
    lines = [line for line in message.splitlines() if not line.startswith('#')]
    while lines and not lines[0].strip():
        lines.pop(0)
    if not lines:
        return []  # git itself refuses a message without text
    subject = lines[0].rstrip()
    if MADE_BY_GIT.match(subject):
        return []
    found = []
    if len(subject) > LONGEST:
        found.append(f'the subject has {len(subject)} characters, {LONGEST} at most')
    if not FORM.match(subject):
        found.append('the subject is not "area: imperative" in lower case, as "memory: keep one free block per size"')
    else:
        verb = re.match(r'[a-z0-9]+', subject.split(': ', 1)[1])[0]
        if NOT_IMPERATIVE.match(verb) and verb not in IMPERATIVE:
            found.append(f'"{verb}" is not the imperative')
    if subject.endswith('.'):
        found.append('the subject ends in a full stop')
    if len(lines) > 1 and lines[1].strip():
        found.append('the line below the subject is not empty')
    return found


def git(*arguments):
    done = subprocess.run(['git', '-C', ROOT, *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def to_be_checked():
    if git('rev-parse', '--verify', '-q', 'HEAD') is None:
        return []  # no repository: an archive of the sources
    older = [f'^{LAST_BEFORE}'] if git('cat-file', '-e', LAST_BEFORE) is not None else []  # a shallow clone lacks it
    beyond = git('rev-list', '--no-merges', 'origin/main..HEAD', *older)
    return (beyond or git('rev-list', '-n', '1', 'HEAD')).split()


EXAMPLES = [
    (True, 'memory: keep one free block per size'), (True, 'docs, tests: say which thing a sentence is about'),
    (True, 'disk/uring: seed the queue\n\nWhy.\n'), (True, '# a comment of git\napi: name the task\n# more'),
    (True, 'Merge branch x'), (True, 'fixup! api: name the task'), (True, 'x: ' + 'a' * 69), (True, ''),
    (False, 'x: ' + 'a' * 70), (False, 'Keep one free block'), (False, 'memory: Keep one'), (False, 'Memory: keep one'),
    (False, 'memory:keep one'), (False, 'memory: keeps one'), (False, 'memory: kept it.'), (False, 'memory: added a block'),
    (False, 'memory: keep one\nand another'), (False, 'memory: '),
]


def main():
    if sys.argv[1:2] == ['message']:
        found = faults(Path(sys.argv[2]).read_text(errors='replace'))
        print(*found, sep='\n', file=sys.stderr, end='\n' if found else '')
        sys.exit(bool(found))
    wrong = [f'{"good" if good else "bad"} subject judged otherwise: {text!r}: {faults(text)}' for good, text in EXAMPLES
             if bool(faults(text)) == good]
    passed = len(EXAMPLES) - len(wrong)
    for commit in to_be_checked():
        found = faults(git('log', '-1', '--format=%B', commit))
        passed += not found
        wrong += [f'{commit[:10]}: {"; ".join(found)}'] if found else []
    print(*wrong, sep='\n', end='\n' if wrong else '')
    print(f'{passed} passed, {len(wrong)} failed')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
