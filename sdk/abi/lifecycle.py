#!/usr/bin/env python3
"""Holds what is promised of each public name: sdk/abi/lifecycle.toml against the headers and their layout.

  lifecycle.py check  [ROOT] [LIBRARY]   each name of layout.golden and each header is listed where it is defined, none that is
                                         gone; what is stable is as stable.golden has it, or has grown as it may; with LIBRARY,
                                         what it exports is what is listed, and what debian/libconsort0.symbols has
  lifecycle.py update [ROOT]             lists what is new, as unstable; forgets what is gone and was unstable
  lifecycle.py record [ROOT]             keeps the layout of what is stable, as it is now, in stable.golden
  lifecycle.py table  [ROOT]             the states, family by family

A header of lifecycle.toml has a family, whose version counts for it, and lists of the names that it defines. All are "unstable"
but those with an entry of their own: [name.consort_x] with state = "stable" or "deprecated", since = "1.0", and for a deprecated
one instead = "what to use" and until = "2.0", the first version that may be without it. docs/abi.md says what that means."""
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from layout import Layout, compare

FAMILIES = ('host', 'driver', 'interface', 'scheduler', 'transport', 'report', 'layer', 'api')
LISTS = ('structs', 'functions', 'types', 'constants')
WIDTH = 118


class Lifecycle:
    def __init__(self, root):
        self.root, self.wrong = root, []
        self.file, self.record_file = root / 'sdk/abi/lifecycle.toml', root / 'sdk/abi/stable.golden'
        self.include = root / 'sdk/include/consort'
        self.layout = Layout.parse((root / 'sdk/abi/layout.golden').read_text())
        self.record = Layout.parse(self.record_file.read_text())
        text = self.file.read_text() if self.file.exists() else ''
        self.head = ''.join(line + '\n' for line in text.splitlines() if line.startswith('#'))
        content = tomllib.loads(text)
        self.headers, self.names = content.get('header', {}), content.get('name', {})
        self.private = content.get('exported_but_private', [])

    def defined(self):
        """(name, list, key of the layout's fact or None), by the header that defines it."""
        homes = {}
        wanted = [(name, 'structs', None) for name in self.layout.structs]
        for key in self.layout.facts:
            kind, name = key.split(' ')
            wanted.append((name, {'function': 'functions', 'typedef': 'types'}.get(kind, 'constants'), key))
        plain = {h.name: re.sub(r'/\*.*?\*/', ' ', h.read_text(), flags=re.S) for h in sorted(self.include.glob('*.h'))}
        places = {  # names of each list by header: words that stand where such a thing is defined
            'structs': self.words(plain, lambda text: re.findall(r'(?:struct|union) (\w+) \{', text)),
            'functions': self.words(plain, lambda text: re.findall(r'^CONSORT_API[^\n]*?\b(\w+)\(', text, re.M)),
            'types': self.words(plain, lambda text: re.findall(r'^typedef [^;{]*?\b(consort_\w+)\)?(?:\(|;)', text, re.M)),
            'constants': self.words(plain, lambda text: re.findall(r'#define (\w+) ', text) + [
                name for body in re.findall(r'\benum\s*\{([^}]*)\}', text) for name in re.findall(r'\b(CONSORT_\w+)\s*(?=[=,]|\Z)', body)])}
        for name, what, _ in wanted:
            found = [h for h, words in places[what].items() if name in words]
            if len(found) == 1:
                homes[name] = (found[0], what)
            else:
                self.wrong.append(f'{name}: defined in {" and ".join(found) or "no header"}')
        return homes

    @staticmethod
    def words(texts, find):
        return {header: set(find(text)) for header, text in texts.items()}

    def state(self, name):
        return self.names.get(name, {}).get('state', 'unstable')

    def major(self, family):
        if family == 'api':
            return int(self.layout.facts['macro CONSORT_VERSION'].strip('"').split('.')[0])
        return int(self.layout.facts[f'macro CONSORT_{family.upper()}_MAJOR'])

    def family(self, name):
        return next((h['family'] for h in self.headers.values() if any(name in h.get(what, ()) for what in LISTS)), None)

    def part(self, layout, names):
        some = Layout()
        some.structs = {n: s for n, s in layout.structs.items() if n in names}
        some.facts = {k: v for k, v in layout.facts.items() if k.split(' ')[1] in names}
        return some

    def promised(self):
        return {name for name in self.names if self.state(name) in ('stable', 'deprecated')}

    def check(self, library=None):
        homes = self.defined()
        present = {str(h.relative_to(self.include)) for h in self.include.rglob('*') if h.suffix in ('.h', '.hpp')}
        for header in sorted(present - set(self.headers)):
            self.wrong.append(f'{header}: not in lifecycle.toml; say of which family it is: [header."{header}"]')
        for header in sorted(set(self.headers) - present):
            self.wrong.append(f'{header}: in lifecycle.toml, but there is no such header')
        listed = {}
        for header, entry in self.headers.items():
            if entry.get('family') not in FAMILIES:
                self.wrong.append(f'{header}: of family "{entry.get("family")}"; expected one of {", ".join(FAMILIES)}')
            for what in LISTS:
                for name in entry.get(what, ()):
                    if name in listed:
                        self.wrong.append(f'{name}: listed twice')
                    listed[name] = (header, what)
        for name in sorted(set(homes) | set(listed)):
            if name not in listed:
                self.wrong.append(f'{name}: new in {homes[name][0]}, and not listed: run lifecycle.py update')
            elif name not in homes:
                self.wrong.append(f'{name}: listed, but gone from the layout: run lifecycle.py update')
            elif listed[name] != homes[name]:
                self.wrong.append(f'{name}: listed in {listed[name]}, defined in {homes[name]}')
        self.check_entries(listed)
        self.check_record()
        if library:
            self.check_exports(library)
        return self.wrong

    def check_entries(self, listed):
        version = re.compile(r'[1-9]\d*\.\d+')
        for name, entry in self.names.items():
            state = entry.get('state')
            if name not in listed:
                self.wrong.append(f'{name}: is {state}, but no header lists it')
                continue
            if state not in ('stable', 'deprecated'):
                self.wrong.append(f'{name}: state "{state}"; an entry says "stable" or "deprecated", the rest is unstable')
                continue
            if not version.fullmatch(str(entry.get('since', ''))):
                self.wrong.append(f'{name}: since "{entry.get("since", "")}"; expected a version from 1.0 on')
            family = self.family(name)
            if family in FAMILIES and self.major(family) == 0:
                self.wrong.append(f'{name}: {state}, but its family {family} is at major 0, where nothing is promised')
            if state == 'deprecated':
                if not entry.get('instead'):
                    self.wrong.append(f'{name}: deprecated, and nothing said to use instead')
                until = str(entry.get('until', ''))
                if not version.fullmatch(until) or (family in FAMILIES and int(until.split('.')[0]) <= self.major(family)):
                    self.wrong.append(f'{name}: until "{until}"; expected the next major version: within one nothing goes')
            for other in sorted(self.mentioned(name) - self.promised() - {name}):
                self.wrong.append(f'{name}: {state}, but made of {other}, which is not')

    def mentioned(self, name):
        some = self.part(self.layout, {name})
        text = ' '.join([*(t for s in some.structs.values() for _, t, _ in s[2]), *some.facts.values()])
        known = set(self.layout.structs) | {k.split(' ')[1] for k in self.layout.facts}
        return set(re.findall(r'\bconsort_\w+', text)) & known

    def check_record(self):
        kept = set(self.record.structs) | {k.split(' ')[1] for k in self.record.facts}
        for name in sorted(self.promised() - kept):
            self.wrong.append(f'{name}: {self.state(name)}, but stable.golden does not have it: run lifecycle.py record')
        for name in sorted(kept - self.promised()):
            self.wrong.append(f'{name}: was stable and is so for ever within its major version: restore it and its entry')
        broken, _, _ = compare(self.record, self.part(self.layout, kept))
        self.wrong += [f'stable, and changed: {line}' for line in broken]

    def check_exports(self, library):
        done = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True)
        exported = {line.split()[-1].split('@')[0] for line in done.stdout.splitlines() if line.strip()}
        functions = {n for h in self.headers.values() for n in h.get('functions', ())}
        if done.returncode:
            self.wrong.append(f'{library}: {done.stderr.strip()}')
        for name in sorted(exported - functions - set(self.private)):
            self.wrong.append(f'{name}: exported by {Path(library).name}, but no header lists it as a function')
        for name in sorted((functions | set(self.private)) - exported):
            self.wrong.append(f'{name}: a function by lifecycle.toml, but {Path(library).name} does not export it')
        packaged = self.root / 'debian/libconsort0.symbols'
        if packaged.exists():
            symbols = set(re.findall(r'^ (\w+)@', packaged.read_text(), re.M))
            self.wrong += [f'{name}: exported, but not in {packaged.name}' for name in sorted(exported - symbols)]
            self.wrong += [f'{name}: in {packaged.name}, but not exported' for name in sorted(symbols - exported)]

    def update(self):
        homes = self.defined()
        for header in {h for h, _ in homes.values()} | {str(h.relative_to(self.include)) for h in self.include.rglob('*.h*')}:
            self.headers.setdefault(header, {'family': 'api'})
        for header, entry in self.headers.items():
            for what in LISTS:
                entry[what] = sorted(n for n, home in homes.items() if home == (header, what))
        out = [self.head or '# What is promised of each public name; docs/abi.md says what the states mean.\n']
        out.append(f'exported_but_private = [{", ".join(f"{n!r}" for n in self.private)}]\n'.replace("'", '"'))
        for header in sorted(self.headers, key=lambda h: (FAMILIES.index(self.headers[h]['family']), h)):
            entry = self.headers[header]
            out.append(f'\n[header."{header}"]\nfamily = "{entry["family"]}"\n')
            out += [self.listing(what, entry[what]) for what in LISTS if entry[what]]
        for name, entry in sorted(self.names.items()):
            out.append(f'\n[name.{name}]\n' + ''.join(f'{k} = "{v}"\n' for k, v in entry.items()))
        self.file.write_text(''.join(out))

    @staticmethod
    def listing(what, names):
        lines, line = [], '  '
        for name in names:
            if len(line) + len(name) + 4 > WIDTH:
                lines.append(line.rstrip())
                line = '  '
            line += f'"{name}", '
        return f'{what} = [\n' + '\n'.join([*lines, line.rstrip()]) + '\n]\n'

    def write_record(self):
        names = self.promised()
        some = self.part(self.layout, names)
        broken, _, _ = compare(self.part(self.record, names), some)
        if broken:
            sys.exit('\n'.join([f'stable, and changed: {line}' for line in broken] + ['not recorded: undo it']))
        self.record_file.write_text(some.text() if names else '')

    def table(self):
        for family in FAMILIES:
            headers = [h for h in self.headers.values() if h['family'] == family]
            names = [n for h in headers for what in LISTS for n in h.get(what, ())]
            counts = {s: sum(self.state(n) == s for n in names) for s in ('unstable', 'stable', 'deprecated')}
            print(f'{family:10} {len(headers):3} headers  ' + '  '.join(f'{n:4} {s}' for s, n in counts.items()))


def main():
    words = sys.argv[1:]
    if not words or words[0] not in ('check', 'update', 'record', 'table') or len(words) > 3:
        sys.exit(__doc__)
    me = Lifecycle(Path(words[1]).resolve() if len(words) > 1 else Path(__file__).resolve().parents[2])
    if words[0] == 'check':
        wrong = me.check(words[2] if len(words) > 2 else None)
        for line in wrong:
            print(line)
        sys.exit(bool(wrong))
    {'update': me.update, 'record': me.write_record, 'table': me.table}[words[0]]()
    for line in me.wrong:
        print(line)
    sys.exit(bool(me.wrong))


if __name__ == '__main__':
    main()
