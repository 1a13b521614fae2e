#!/usr/bin/env python3
"""Breaks the kernel in known ways, one at a time, and counts the seeds that the storm needs to see it.

./run storm --mutations [NAME ...]   from the repository root; build/release is built already
Options: --most N  seeds per mutation (100000)   --from N  the first seed (0)   --markdown  the table of docs/storm.md

The library of build/release is linked anew with what the mutation changes. A seed counts where the storm fails with the
mutated library and passes with the real one. A mutation that does not apply, does not build or is not found is an error.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / 'build/storm-mutations'
TREE, RUN = WORK / 'tree', WORK / 'run'
RELEASE = ROOT / 'build/release'
STORM = RELEASE / 'tests/storm'

# name: (what is broken, file, text, its replacement); the text occurs once in the file.
MUTATIONS = {
    'war_edge': (
        'dependence: a writer does not wait for the last of several readers', 'kernel/graph/link_steps.hpp',
        'for (uint32_t r = 0; r < d.nreaders; ++r) linker.after(d.reader_at(r));',
        'for (uint32_t r = 0; r + 1 < d.nreaders || r == 0; ++r) linker.after(d.reader_at(r));'),
    'poison': (
        'poison: the last datum of a failed task is not poisoned', 'kernel/graph/failed_task.cpp',
        '    for (uint32_t i = 0; i < poisoned; ++i) {',
        '    for (uint32_t i = 0; i + (poisoned > 1) < poisoned; ++i) {'),
    'dirty_mark': (
        'coherence: an update is marked as a read, so other replicas stay valid', 'kernel/memory/task_staging.cpp',
        'item.mode & CONSORT_M_R ? coherence::Event::kUpdate', 'item.mode & CONSORT_M_R ? coherence::Event::kRead'),
    'cancelled_runs': (
        'cancel: the mark of a cancelled task is not looked at before its body', 'kernel/graph/failed_task.cpp',
        'if (t->epoch != t->group->epoch.load(std::memory_order_relaxed) || (w & word::kCancelled)) {',
        'if (t->epoch != t->group->epoch.load(std::memory_order_relaxed) && (w & word::kCancelled)) {'),
    'commute_lock': (
        'commute: a task of several locks keeps the first one', 'kernel/graph/commute.cpp',
        'for (; list->held; --list->held) pass_on(', 'for (; list->held > 1; --list->held) pass_on('),
    'commute_handover': (
        'wake-up: a lock that is passed on to a task of several wakes no worker', 'kernel/graph/commute.cpp',
        '    if (keeps) ++list->held;\n    push_again(rt, thread, next);', '    if (keeps) ++list->held;\n    else push_again(rt, thread, next);'),
    'reservation': (
        'memory: bytes of a freed block stay reserved', 'kernel/memory/block_cache.cpp',
        '  stores_[b.space].used -= b.bytes;', '  stores_[b.space].used -= b.bytes / 2;'),
    'pin_count': (
        'reference count: two tasks that pin one replica count once', 'kernel/memory/eviction_order.cpp',
        '  if (r.pins++) return;', '  if (r.pins) return;\n  ++r.pins;'),
    'mover_wake': (
        'wake-up: a copy that is queued does not wake the thread that moves bytes', 'kernel/memory/mover.cpp',
        '  if (settings_.virtual_time) return owner_.stir();', '  if (settings_.virtual_time) return;'),
    'window_count': (
        'window: a task with locks is not counted out when it ends', 'kernel/graph/complete.cpp',
        'if (bits & kUncounted) [[unlikely]] return;', 'if (bits & (kUncounted | kTokens)) [[unlikely]] return;'),
    'tag_gate': (
        'order: a tag that is reached lets its successors go only if its task failed', 'kernel/graph/tags.cpp',
        'Task *const gate = std::exchange(t.gate, nullptr);', 'Task *const gate = failed ? std::exchange(t.gate, nullptr) : nullptr;'),
    'reduction_copy': (
        'reduction: a contribution that was added once keeps its contents', 'kernel/graph/reduction.cpp',
        '  set_contents(from, 0);\n  return CONSORT_OK;', '  return CONSORT_OK;'),
    'token_retry': (
        'release order: a task that is refused a lock parks before it gives back the others', 'kernel/graph/commute.cpp',
        '    else\n      while (i > list.held) pass_on(rt, thread, token_of(list.datum()[--i]), false);\n    if (refused.park(t)) return false;',
        '    if (refused.park(t)) return false;\n    if (elder != t->pub.id)\n      while (i > list.held) pass_on(rt, thread, token_of(list.datum()[--i]), false);'),
}


def die(text):
    sys.exit('storm mutations: ' + text)


def output(*command, cwd=ROOT):
    r = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if r.returncode:
        die(f'{" ".join(map(str, command))[:300]}:\n{r.stdout[-2000:]}{r.stderr[-3000:]}')
    return r.stdout


def commands():
    """({object: its compile command}, the link command) of the library in build/release."""
    compiles, link = {}, None
    for line in output('ninja', '-C', str(RELEASE), '-t', 'commands', 'consort').splitlines():
        if found := re.search(r' -o (kernel/\S+\.o) -c ', line):
            compiles[found[1]] = line
        elif '-soname,libconsort.so.0' in line:
            link = re.sub(r'^: && | && :.*$', '', line)
    return compiles, link


def users_of(file, objects):
    """The objects that are made of the file."""
    deps = output('ninja', '-C', str(RELEASE), '-t', 'deps').split('\n\n')
    return [d.split(':')[0] for d in deps if d.split(':')[0] in objects and re.search(rf'/{file}$', d, re.M)]


def build(file, text):
    """The library with another text of one file: what includes it is compiled from a copy of kernel/, the rest is linked."""
    compiles, link = commands()
    shutil.rmtree(TREE, ignore_errors=True)
    shutil.copytree(ROOT / 'kernel', TREE / 'kernel')
    (TREE / file).write_text(text)
    objects = users_of(file, compiles)
    if not objects:
        die(f'nothing of the library is made of {file}: ./run storm --seeds 0..1 builds it')
    for o in objects:
        target = TREE / o.replace('/', '_')  # rooms have files of one name
        command = compiles[o].replace(f'-I{ROOT}/kernel', f'-I{TREE}/kernel').replace(f'-c {ROOT}/kernel', f'-c {TREE}/kernel')
        command = re.sub(r' -MD -MT \S+ -MF \S+ -o \S+', f' -o {target}', command)
        output('sh', '-c', command, cwd=RELEASE)
        link = link.replace(f' {o} ', f' {target} ')
    output('sh', '-c', re.sub(r' -o lib/\S+', f' -o {RUN}/libconsort.so.0', link), cwd=RELEASE)


def storm(folder, seeds, *more):
    command = [folder / 'storm', '--seeds', f'{seeds[0]}..{seeds[1]}', '--failures', '1', '--shrink-for', '0', '--limit', '5',
               '--plugins', ROOT / 'build/release/lib/consort/plugins', '--out', WORK / 'failures', *more]
    return subprocess.run(command, capture_output=True, text=True).stdout


def first_failure(start, most):
    """(seed, message) of the first seed that fails with the mutated library alone; None."""
    at = start
    while at < start + most:
        out = storm(RUN, (at, start + most))
        found = re.search(r'^seed (\d+) FAILS: (.*)$', out, re.M)
        if not found:
            return None
        seed = int(found[1])
        if 'FAILS' not in storm(STORM, (seed, seed + 1)):
            return seed, found[2]
        print(f'  seed {seed} fails with the real library as well: passed over', flush=True)
        at = seed + 1
    return None


def main():
    words, most, start, markdown = [], 100000, 0, False
    args = iter(sys.argv[1:])
    for a in args:
        if a == '--most':
            most = int(next(args))
        elif a == '--from':
            start = int(next(args))
        elif a == '--markdown':
            markdown = True
        elif a in MUTATIONS:
            words.append(a)
        else:
            die(f'"{a}" is no option and no mutation; mutations: ' + ' '.join(MUTATIONS))
    if not (STORM / 'storm').exists():
        die('build/release has no storm: ./run storm --seeds 0..1')
    for name, (_, file, old, new) in MUTATIONS.items():
        n = (ROOT / file).read_text().count(old)
        if n != 1 or old == new:
            die(f'{name}: its text occurs {n} times in {file}, should once: write the mutation anew')
    RUN.mkdir(parents=True, exist_ok=True)
    shutil.copy2(STORM / 'storm', RUN / 'storm')
    rows, lost = [], []
    for name in words or MUTATIONS:
        what, file, old, new = MUTATIONS[name]
        build(file, (ROOT / file).read_text().replace(old, new))
        found = first_failure(start, most)
        if not found:
            lost.append(name)
            print(f'{name}: NOT found within {most} seeds: {what}', flush=True)
            continue
        seed, message = found
        message = re.sub(r'; because .*', '', message)[:100]
        rows.append((what, seed, seed - start + 1, message))
        print(f'{name}: seed {seed}, {seed - start + 1} needed: {message}', flush=True)
    if markdown:
        print('| mutation | first seed | seeds needed | message |\n|---|---|---|---|')
        for what, seed, needed, message in rows:
            print(f'| {what} | {seed} | {needed} | {message.replace("|", "/")} |')
    print(f'{len(rows)} of {len(rows) + len(lost)} mutations found')
    return 1 if lost else 0


if __name__ == '__main__':
    sys.exit(main())
