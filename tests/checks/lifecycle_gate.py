#!/usr/bin/env python3
"""Shows that lifecycle.py finds broken promises: each case edits a copy of the SDK, and names the complaint ("": none)."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOML, GOLDEN, RECORD = 'sdk/abi/lifecycle.toml', 'sdk/abi/layout.golden', 'sdk/abi/stable.golden'
DRIVER, PLUGIN = 'sdk/include/consort/driver.h', 'sdk/include/consort/plugin.h'
# The driver family and its types at major 1, with a few stable names.
PROMISE = {'consort_copy': 'state = "stable"\nsince = "1.0"', 'consort_addr': 'state = "stable"\nsince = "1.0"',
           'consort_link_desc': 'state = "stable"\nsince = "1.0"',
           'consort_fill': 'state = "deprecated"\nsince = "1.2"\ninstead = "consort_copy"\nuntil = "2.0"'}

# case, at major 1 with promises, [(file, text, replacement)], complaint
CASES = [
    ('nothing changed', False, [], ''),
    ('a header that is not listed', False, [('sdk/include/consort/more.h', None, '/* more */\n')], 'more.h: not in lifecycle.toml'),
    ('a header that went', False, [('sdk/include/consort/defaults.h', None, None)], 'defaults.h: in lifecycle.toml, but there is no'),
    ('a struct that is not listed', False, [
        (GOLDEN, 'consort_addr 16 frozen', 'consort_acme 8 frozen\n     0 uint64_t a\nconsort_addr 16 frozen'),
        (PLUGIN, 'typedef struct consort_addr {', 'typedef struct consort_acme { uint64_t a; } consort_acme;\ntypedef struct consort_addr {')],
     'consort_acme: new in plugin.h, and not listed'),
    ('a function that went', False, [(GOLDEN, r'= function consort_version [^\n]*\n', '')], 'consort_version: listed, but gone'),
    ('a constant listed with another header', False, [(TOML, '"CONSORT_OK", ', ''), (TOML, '"CONSORT_SP_CPU",', '"CONSORT_SP_CPU", "CONSORT_OK",')],
     "CONSORT_OK: listed in ('driver.h'"),
    ('stable while its family is 0.x', False, [(TOML, r'\Z', '\n[name.consort_addr]\nstate = "stable"\nsince = "1.0"\n')],
     'consort_addr: stable, but its family host is at major 0'),
    ('a name of another kind of state', False, [(TOML, r'\Z', '\n[name.consort_addr]\nstate = "solid"\nsince = "1.0"\n')], 'state "solid"'),
    ('promises that are kept', True, [], ''),
    ('an unstable struct changed', True, [(GOLDEN, 'consort_pick 16 frozen', 'consort_pick 24 frozen')], ''),
    ('a stable struct that grew at its end', True, [
        (GOLDEN, r'consort_link_desc \d+ grows\n((?: [^\n]*\n)*)', r'consort_link_desc 1008 grows\n\g<1>  1000 uint64_t more\n')], ''),
    ('a stable struct with a field less', True, [(GOLDEN, r' +\d+ uint32_t latency_ns\n( +\d+ uint32_t engines)', r'\1')], 'stable, and changed: consort_link_desc'),
    ('a frozen stable struct that grew', True, [(GOLDEN, 'consort_addr 16 frozen', 'consort_addr 24 frozen')], 'stable, and changed: consort_addr: frozen'),
    ('a stable name taken away', True, [(GOLDEN, r'consort_copy 96 frozen\n( [^\n]*\n)*', ''), (TOML, '"consort_copy", ', '')],
     'stable, and changed: consort_copy: removed'),
    ('its entry taken away, too', True, [(TOML, r'\n\[name.consort_copy\]\n[^\n]*\n[^\n]*\n', '\n')], 'consort_copy: was stable and is so for ever'),
    ('a deprecated name taken away within its major', True, [
        (GOLDEN, r'consort_fill 32 frozen\n( [^\n]*\n)*', ''), (TOML, '"consort_fill", ', '')], 'stable, and changed: consort_fill: removed'),
    ('stable, and not recorded', True, [(TOML, r'\Z', '\n[name.consort_ticket]\nstate = "stable"\nsince = "1.3"\n')],
     'consort_ticket: stable, but stable.golden does not have it'),
    ('deprecated without a replacement', True, [(TOML, 'instead = "consort_copy"\n', '')], 'nothing said to use instead'),
    ('deprecated until a version of the same major', True, [(TOML, 'until = "2.0"', 'until = "1.4"')], 'until "1.4"'),
    ('stable, made of unstable types', True, [
        (TOML, r'\Z', '\n[name.consort_launch]\nstate = "stable"\nsince = "1.0"\n')], 'consort_launch: stable, but made of consort_arg'),
]


def edit(root, file, text, replacement):
    file = root / file
    if text is None:
        file.unlink() if replacement is None else file.write_text(replacement)
        return True
    old = file.read_text()
    new = re.sub(text, replacement, old, count=1)
    file.write_text(new)
    return new != old


def tool(root, *words):
    return subprocess.run([sys.executable, ROOT / 'sdk/abi/lifecycle.py', words[0], root, *words[1:]], capture_output=True, text=True)


def copy(root, promised):
    """The SDK as it is, its states forgotten; promised: at major 1, with a few promises."""
    (root / 'sdk').mkdir()
    shutil.copytree(ROOT / 'sdk/abi', root / 'sdk/abi')
    shutil.copytree(ROOT / 'sdk/include', root / 'sdk/include')
    (root / TOML).write_text((root / TOML).read_text().split('\n[name.')[0])
    (root / RECORD).write_text('')
    golden = (root / GOLDEN).read_text()
    for family in ('HOST', 'DRIVER'):
        golden = re.sub(f'CONSORT_{family}_MAJOR \\d+', f'CONSORT_{family}_MAJOR {int(promised)}', golden)
    (root / GOLDEN).write_text(golden)
    if promised:
        entries = ''.join(f'\n[name.{name}]\n{entry}\n' for name, entry in PROMISE.items())
        (root / TOML).write_text((root / TOML).read_text() + entries)
        tool(root, 'record')


def main():
    failed = 0
    for case, promised, edits, complaint in CASES:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            copy(root, promised)
            stale = [text for file, text, new in edits if not edit(root, file, text, new)]
            done = tool(root, 'check')
            said = done.stdout + done.stderr
            if stale or done.returncode != bool(complaint) or complaint not in said or 'Traceback' in said:
                failed += 1
                print(f'FAIL {case}: ' + (f'the SDK no longer says {stale}; mend this case' if stale else f'should say {complaint!r}, says\n{said}'))
    print(f'{len(CASES) - failed} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
