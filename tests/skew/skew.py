#!/usr/bin/env python3
"""The pairs of plugins and hosts, and the expected results: skew.py BUILD PLUGINS [CONSORT]

BUILD: the build folder of CMakeLists.txt here. README.md describes the pairs."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = ('driver', 'interface', 'scheduler', 'transport')
REMEDY = "rebuild it with this host's SDK, install its build for this host, or leave it out of CONSORT_PLUGINS"
passed = failed = 0


def run(*command, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith('CONSORT_')}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env={**environment, **settings}, timeout=100)
    return done.returncode, done.stdout + done.stderr


def expect(case, answer, *parts, status=0, none=()):
    """Each of parts is a regular expression that a line of the answer must match; none of `none` may."""
    global passed, failed
    code, text = answer
    wrong = [f'nothing like {p!r}' for p in parts if not re.search(p, text, re.M)]
    wrong += [f'says {p!r}' for p in none if re.search(p, text, re.M)]
    if code != status:
        wrong.append(f'answered {code}, should be {status}')
    passed, failed = passed + (not wrong), failed + bool(wrong)
    if wrong:
        print(f'FAIL {case}: {"; ".join(wrong)}\n{text}')


def versions(headers):
    text = ''.join(h.read_text() for h in (headers / 'consort').glob('*.h'))
    return dict(re.findall(r'define CONSORT_([A-Z]+)_MINOR (\d+)', text))


def old_plugins_on_this_host(build, tool, program):
    here = Path(__file__).resolve().parent
    now = versions(here.parents[1] / 'sdk/include')
    for world in ('host-0.1', 'host-0.2'):
        old = versions(here / world)
        folder = build / world
        listed = run(tool, 'plugins', '-v', CONSORT_PLUGIN_PATH=str(folder)) if tool else None
        for kind in KINDS:
            family = 'host' if old['HOST'] != now['HOST'] else kind
            was, has = old[family.upper()], now[family.upper()]
            if was == has:
                if tool:
                    expect(f'{world}: {kind} is taken', listed, rf'^{kind} skew_{kind} 1\.0\.0\n  file +{re.escape(str(folder))}/{kind}\.so\n')
                continue
            line = (rf'plugin "skew_{kind}" \({re.escape(str(folder))}/{kind}\.so\) was built for {family} ABI 0\.{was}, this host has 0\.{has}: '
                    + re.escape(REMEDY) + '$')
            if tool:
                expect(f'{world}: {kind} is refused in one line', listed, line)
                expect(f'{world}: why not {kind}', run(tool, 'why-not', f'skew_{kind}', CONSORT_PLUGIN_PATH=str(folder)),
                       rf'{family} ABI 0\.{was}, this host has 0\.{has}', status=1)
            if kind == 'scheduler':
                expect(f'{world}: asked for by name', run(program, 'scheduler', 'skew_scheduler', CONSORT_PLUGIN_PATH=str(folder)), line, status=1)
        expect(f'{world}: the host works beside them', run(program, 'workers', '2', CONSORT_PLUGIN_PATH=str(folder)), '^embedded: fine$')
        lines = run(program, 'workers', '2', CONSORT_PLUGIN_PATH=str(folder))[1].splitlines()
        expect(f'{world}: each refusal is told once', (len(lines) - len(set(lines)), '\n'.join(lines)))
    expect('an older driver that is linked in', run(build / 'program_linked'), r'plugin "skew_linked" \(modules\[0\]\) was built for driver ABI 0\.2, this host has 0\.'
           + now['DRIVER'] + ': ' + re.escape(REMEDY), status=1)
    if versions(here / 'host-0.2')['SCHEDULER'] == now['SCHEDULER'] and versions(here / 'host-0.2')['HOST'] == now['HOST']:
        folder = build / 'host-0.2'
        for policy in ('skew_scheduler', 'skew_short'):
            expect(f'tasks run by {policy} of a shorter table', run(program, 'scheduler', policy, 'workers', '2', 'check', 'true',
                                                                  CONSORT_PLUGIN_PATH=str(folder)), '^embedded: fine$', none=['skew_s', 'lacks'])
    if tool:
        expect('a hole is a stub', run(tool, '--log', 'plugins', '-v', '--set', 'log=info', CONSORT_PLUGIN_PATH=str(build / 'now')),
               r'plugin "skew_hole".* lacks functions, which answer as unsupported: disconnect$')


def this_plugins_on_old_hosts(build, plugins):
    here = Path(__file__).resolve().parent
    now = versions(here.parents[1] / 'sdk/include')
    for world in ('host-0.1', 'host-0.2'):
        old = versions(here / world)
        shipped = {'driver': plugins / 'cpu.so', 'interface': plugins / 'vector.so', 'scheduler': plugins / 'eager.so'}
        for kind in KINDS:
            for file in filter(None, (build / 'now' / f'{kind}.so', shipped.get(kind))):
                answer = run(build / f'old_host-{world}', file)
                case = f'{world} host meets {file.name}'
                if old['HOST'] != now['HOST']:
                    expect(case, answer, rf"said by the plugin: plugin '\w+' was built for host ABI 0\.{now['HOST']} \(0\.x: exact minor\): rebuild it",
                           '^refused by the plugin$', none=['taken'])
                elif old[kind.upper()] != now[kind.upper()]:
                    expect(case, answer, rf'^refused by the host: {kind} ABI 0\.{now[kind.upper()]}, here 0\.{old[kind.upper()]}$', none=['taken'])
                else:
                    expect(case, answer, '^taken', none=['wrote past'])
                    if kind == 'scheduler' and file.parent != plugins:
                        expect(case + ' and works', answer, '^pushed 3, popped and drained 3$', '^quiet: 0$', '^done$')
    for file in [build / 'now/driver.so', build / 'now/transport.so', *(plugins / f'{d}.so' for d in ('cpu', 'disk_posix', 'sim'))]:
        if file.exists():  # the first structs, which are the shortest, with the numbers of today
            expect(f'{file.name} keeps to the sizes that it is given', run(build / 'old_host-first-as-now', file), '^taken', '^kept to the .* consort_host$|does not start',
                   *(['^kept to the .* consort_link_desc$'] if file.parent == plugins else []), none=['wrote past'])


def worlds_of_major_1(build):
    new, old = build / 'new_host-now-1.1', build / 'new_host-now-1.0'
    for kind in KINDS:
        expect(f'1.0 meets {kind} 1.0', run(old, build / f'now-1.0/{kind}.so'), rf'^taken: skew_{kind}, its table as long as mine(, lacks .*)?$')
        grown = kind in ('driver', 'scheduler')
        longer, shorter = ('longer', 'shorter') if grown else ('as long as mine', 'as long as mine')
        expect(f'1.0 meets {kind} 1.1', run(old, build / f'now-1.1/{kind}.so'), rf'^taken: skew_{kind}, its table {longer}(, lacks .*)?$')
        expect(f'1.1 meets {kind} 1.0', run(new, build / f'now-1.0/{kind}.so'), rf'^taken: skew_{kind}, its table {shorter}(, lacks .*)?$')
        expect(f'1.1 meets {kind} 0.x', run(new, build / f'now/{kind}.so'), rf'^refused: plugin "skew_{kind}" \(.*/now/{kind}\.so\) was built for host ABI 0\.\d+, this host has 1\.1: ')
    expect('1.0 meets one that needs 1.1', run(old, build / 'now-1.1/needs.so'), r'^refused: plugin "skew_needs" \(.*/needs\.so\) was built for host ABI 1\.1, this host has 1\.0: '
           + re.escape(REMEDY) + '$')
    expect('1.1 meets one that needs 1.1', run(new, build / 'now-1.1/needs.so'), '^taken: skew_needs')
    expect('1.1 meets 2.0', run(new, build / 'now-2.0/scheduler.so'), r'^refused: .* was built for host ABI 2\.0, this host has 1\.1: ' + re.escape(REMEDY) + '$')
    host = build / 'old_host-first-1.0'
    for kind in KINDS:
        expect(f'the first host, as 1.0, meets {kind} 1.1', run(host, build / f'now-1.1/{kind}.so'), f'^taken: skew_{kind}$', '^done$', none=['wrote past'])
    expect('and refuses one that needs 1.1', run(host, build / 'now-1.1/needs.so'), '^refused by the host: driver ABI 1.1, here 1.0$')
    expect('and one of 2.0 refuses it', run(host, build / 'now-2.0/scheduler.so'), '^said by the plugin: .*host ABI 2.0', '^refused by the plugin$')
    expect('a write past a size is found', run(host, build / 'now-1.1/past.so'), '^wrote past the .* consort_unit_desc$')


def main():
    build, plugins = Path(sys.argv[1]), Path(sys.argv[2])
    tool = sys.argv[3] if len(sys.argv) > 3 and sys.argv[3] else None
    with tempfile.TemporaryDirectory() as cache:
        os.environ['XDG_CACHE_HOME'] = cache
        old_plugins_on_this_host(build, tool, build / 'program')
        this_plugins_on_old_hosts(build, plugins)
        worlds_of_major_1(build)
    print(f'{passed} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
