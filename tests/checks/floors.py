#!/usr/bin/env python3
"""The rooms (folders) of kernel/ stand on floors. A file includes files of its own room and of rooms on lower floors.

floors.txt holds the order of the floors, the includes that still point upwards, and two numbers that only fall: the count
of these includes, and the size of the largest include cycle in units (a unit is NAME.hpp with NAME.cpp). The check fails
  * on an include upwards that is not listed, and on a listed one that is gone: take its line out and lower the number;
  * on a larger cycle, and on a smaller one: lower the number;
  * on a file outside the rooms, and on an include that does not name its room;
  * on a source that kernel/CMakeLists.txt does not list in its room, and on rooms listed there in another order: the tests
    links_ROOM link each room with those listed before it;
  * on a room below the top floor with less than three tests that need it and lower rooms alone: those of the files that
    tests/CMakeLists.txt lists in alone_ROOM; and on such a file that includes a header of a higher room;
  * on a type that two files define outside an unnamed namespace: the linker takes the functions of one for both."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / 'tests/checks/floors.txt'
TESTS = ROOT / 'tests'
FEWEST_TESTS = 3
SOURCES = ROOT / 'kernel/CMakeLists.txt'
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


TYPE = re.compile(r'^(?:template <.*> )?(?:struct|class|union|enum class|enum) (?:alignas\([^)]*\) )?(\w+)(?!::)\b[^;()]*\{', re.M)
UNNAMED = re.compile(r'^namespace \{$.*?^\}  // namespace$', re.M | re.S)


def read_list(text):
    """(rooms from the top floor down, {(file, header)} that may point upwards, count of these, size of the cycle)."""
    rooms, upwards, numbers = [], set(), {}
    for line in text.splitlines():
        words = line.split('#')[0].split()
        if words[:1] == ['floors']:
            rooms = words[1:]
        elif len(words) == 2:
            numbers[words[0]] = int(words[1])
        elif len(words) == 3 and words[1] == '->':
            upwards.add((words[0], words[2]))
        elif words:
            sys.exit(f'floors.txt: "{line}" is no line of it')
    return rooms, upwards, numbers['upwards'], numbers['cycle']


def read_sources(text):
    """[(room, room or part, [file])] as kernel/CMakeLists.txt lists them, from the bottom floor up."""
    return [(room or name, name, files.split())
            for name, room, files in re.findall(r'^consort_room\((\w+)(?: IN (\w+))?[^)]*?SOURCES([^)]*)\)', text, re.M)]


def judge_sources(files, rooms, listed):
    """Faults of the lists of sources."""
    wrong = []
    present = [room for room in reversed(rooms) if any(path.startswith(room + '/') for path in files)]
    if [name for _, name, _ in listed if name in rooms] != present:
        wrong.append(f'kernel/CMakeLists.txt: its rooms are not "{" ".join(present)}", from the bottom up')
    named = [f'{room}/{file}' for room, _, sources in listed for file in sources]
    there = {path for path in files if path.endswith('.cpp')}
    wrong += [f'kernel/{path}: not listed in kernel/CMakeLists.txt' for path in sorted(there - set(named))]
    wrong += [f'kernel/CMakeLists.txt: lists {path}, which is no file' for path in sorted(set(named) - there)]
    wrong += [f'kernel/CMakeLists.txt: lists {path} twice' for path in sorted({p for p in named if named.count(p) > 1})]
    return wrong


def read_alone(text):
    """{room or part: [file]} of the lists alone_ROOM in tests/CMakeLists.txt."""
    return {name: [f'{folder}/{stem}_test.cpp' for stem in stems.split('|')]
            for name, folder, stems in re.findall(r'^set\(alone_(\w+) "(\w+)/\(([^)]*)\)"\)', text, re.M)}


def headers_of(path, tests, kernel, seen):
    """The headers of the kernel that a file of the tests includes, also by headers of the tests."""
    found = set()
    for header in INCLUDE.findall(tests[path]):
        beside = f'{path.rsplit("/", 1)[0]}/{header}'
        if header in kernel:
            found.add(header)
        for inner in (beside, header):
            if inner in tests and inner not in seen:
                seen.add(inner)
                found |= headers_of(inner, tests, kernel, seen)
    return found


def judge_tests(kernel, rooms, listed, tests):
    """kernel, tests: {path: text}; listed: as of read_alone(). Returns (faults, {room: number of tests})."""
    floor = {room: i for i, room in enumerate(rooms)}
    wrong, count = [], {room: 0 for room in rooms if any(path.startswith(room + '/') for path in kernel)}
    for name, files in sorted(listed.items()):
        for file in files:
            if file not in tests:
                wrong.append(f'tests/CMakeLists.txt: alone_{name} lists {file}, which is no file')
                continue
            room = name if name in floor else file.split('/')[0]
            headers = headers_of(file, tests, kernel, {file})
            wrong += [f'tests/{file}: includes "{h}" of a room above {room}' for h in sorted(headers)
                      if floor[h.split('/')[0]] < floor[room]]
            if any(h.startswith(room + '/') for h in headers):
                count[room] += len(re.findall(r'^TEST(?:_F)?\(', tests[file], re.M))
    wrong += [f'tests/{room}: {n} tests need {room} and lower rooms alone, {FEWEST_TESTS} are the fewest'
              for room, n in count.items() if n < FEWEST_TESTS and room != rooms[0]]
    return wrong, count


def cycles(graph):
    """The strongly connected parts of {unit: units}, by Tarjan's algorithm without recursion."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in graph:
        work = [(root, iter(()))] if root not in index else []
        while work:
            unit, rest = work.pop()
            if unit not in index:
                index[unit] = low[unit] = len(index)
                stack.append(unit)
                on_stack.add(unit)
                rest = iter(sorted(graph.get(unit, ())))
            for other in rest:
                if other not in index:
                    work += [(unit, rest), (other, iter(()))]
                    break
                if other in on_stack:
                    low[unit] = min(low[unit], index[other])
            else:
                if low[unit] == index[unit]:
                    at = stack.index(unit)
                    found.append(stack[at:])
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[unit])
    return found


def judge(files, rooms, listed, most, budget):
    """files: {path below kernel/: text}. Returns (faults, the largest cycle)."""
    floor = {room: i for i, room in enumerate(rooms)}
    wrong, upwards, graph = [], set(), {}
    for path, text in sorted(files.items()):
        room = path.split('/')[0]
        if path.count('/') != 1 or room not in floor:
            wrong.append(f'kernel/{path}: stands in no room; the rooms are {" ".join(rooms)}')
            continue
        unit = path.rsplit('.', 1)[0]
        graph.setdefault(unit, set())
        for header in INCLUDE.findall(text):
            if header.startswith('consort/'):
                continue
            if header.split('/')[0] not in floor or header not in files:
                wrong.append(f'kernel/{path}: includes "{header}", which names no file by its room')
                continue
            if header.rsplit('.', 1)[0] != unit:
                graph[unit].add(header.rsplit('.', 1)[0])
            if floor[header.split('/')[0]] < floor[room]:
                upwards.add((path, header))
    for path, header in sorted(upwards - listed):
        wrong.append(f'kernel/{path}: includes "{header}" of a room above: {path.split("/")[0]} stands below {header.split("/")[0]}')
    for path, header in sorted(listed - upwards):
        wrong.append(f'floors.txt: "{path} -> {header}" is needed no longer: take it out')
    if len(listed) != most:
        wrong.append(f'floors.txt: lists {len(listed)} includes upwards, says {most}: ' +
                     ('their number only falls' if len(listed) > most else 'lower the number'))
    largest = max(cycles(graph), key=len, default=[])
    if len(largest) != budget:
        wrong.append(f'the largest include cycle has {len(largest)} units, floors.txt says {budget}: ' +
                     ('it may only shrink' if len(largest) > budget else 'lower the number') + '; ' + ' '.join(sorted(largest)))
    return wrong, largest


def judge_types(files):
    """Faults of types with one name."""
    homes = {}
    for path, text in sorted(files.items()):
        space = re.search(r'^namespace ([\w:]+) \{', text, re.M)
        for name in set(TYPE.findall(UNNAMED.sub('', text))):
            homes.setdefault(f'{space[1]}::{name}' if space else name, []).append('kernel/' + path)
    return [f'{" and ".join(paths)}: each defines a type {name}; give one another name' for name, paths in homes.items() if len(paths) > 1]


def check_the_check():
    """Plants faults in a small kernel: each has to be found, and the sound one passes."""
    sound = {'api/call.cpp': '#include "task/task.hpp"\n#include <memory>\n', 'task/task.hpp': '#include "base/lock.hpp"\n',
             'task/task.cpp': '#include "task/task.hpp"\n', 'base/lock.hpp': '#include <consort/plugin.h>\n'}
    rooms = ['api', 'task', 'base']

    def faults(changes=(), listed=(), most=0, cycle=1):
        wrong, _ = judge({**sound, **dict(changes)}, rooms, set(listed), most, cycle)
        return '\n'.join(wrong)
    up = {'task/task.hpp': '', 'base/lock.hpp': '#include "task/task.hpp"\n'}
    arrow = ('base/lock.hpp', 'task/task.hpp')
    assert not faults()
    assert 'base stands below task' in faults(up)
    assert not faults(up, [arrow], 1)
    assert 'needed no longer' in faults((), [arrow], 1)
    assert 'their number only falls' in faults(up, [arrow], 0) and 'lower the number' in faults(up, [arrow], 2)
    ring = {'base/lock.hpp': '#include "base/spin.hpp"\n', 'base/spin.hpp': '#include "base/park.hpp"\n',
            'base/park.cpp': '#include "base/lock.hpp"\n', 'base/park.hpp': ''}
    assert 'cycle has 3 units' in faults(ring) and 'only shrink' in faults(ring) and not faults(ring, cycle=3)
    assert 'lower the number' in faults(cycle=3)
    assert 'stands in no room' in faults({'lock.hpp': ''}) and 'stands in no room' in faults({'lobby/lock.hpp': ''})
    assert 'names no file by its room' in faults({'task/task.cpp': '#include "task.hpp"\n'})

    twice = {'base/lock.hpp': 'struct Lock {\n};\n', 'task/task.hpp': 'template <class T> class Lock : Base {\n};\n'}
    assert 'each defines a type Lock' in '\n'.join(judge_types(twice))
    assert not judge_types({**twice, 'task/task.hpp': 'namespace {\nstruct Lock {\n};\n}  // namespace\nclass Lock;\n'})

    def list_faults(text):
        return '\n'.join(judge_sources({**sound, 'base/lock.cpp': ''}, rooms, read_sources(text)))
    base, task = 'consort_room(base LINKS dl SOURCES\n  lock.cpp)\n', 'consort_room(task SOURCES task.cpp)\n'
    api = 'consort_room(api SOURCES\n call.cpp)\n'
    assert not list_faults(base + task + api)
    assert 'from the bottom up' in list_faults(task + base + api) and 'from the bottom up' in list_faults(base + task)
    part = 'consort_room(spin IN base SOURCES lock.cpp)\n'
    assert not list_faults(part + base.replace('lock.cpp', '') + task + api) and 'twice' in list_faults(part + base + task + api)
    assert 'base/lock.cpp: not listed' in list_faults(base.replace('lock', '') + task + api)
    assert 'no file' in list_faults(base + task.replace('task.cpp', 'task.cpp core.cpp') + api)
    assert 'twice' in list_faults(base + task.replace('task.cpp', 'task.cpp task.cpp') + api)

    def test_faults(text, **changes):
        tests = {'task/word_test.cpp': '#include "task_room.hpp"\nTEST(A, B) {}\nTEST_F(A, C) {}\nTEST(A, D) {}\n',
                 'task/task_room.hpp': '#include "task/task.hpp"\n',
                 'base/lock_test.cpp': '#include "base/lock.hpp"\n' + 'TEST(A, B) {}\n' * 3}
        tests.update({key.replace('__', '/') + '.cpp': value for key, value in changes.items()})
        return '\n'.join(judge_tests(sound, rooms, read_alone(text), tests)[0])
    of_base, of_task = 'set(alone_base "base/(lock)")\n', 'set(alone_task "task/(word)")\n'
    assert not test_faults(of_base + of_task)
    assert '0 tests need base' in test_faults(of_task)
    assert '1 tests need task' in test_faults(of_base + of_task, task__word_test='#include "task/task.hpp"\nTEST(A, B) {}\n')
    assert '0 tests need task' in test_faults(of_base + of_task, task__word_test='TEST(A, B) {}\n' * 3)
    assert 'above base' in test_faults(of_base + of_task, base__lock_test='#include "task/task_room.hpp"\n')
    assert 'no file' in test_faults(of_base.replace('lock', 'lock|spin') + of_task)


def main():
    check_the_check()
    rooms, listed, most, budget = read_list(LIST.read_text())
    files = {f.relative_to(ROOT / 'kernel').as_posix(): f.read_text() for f in (ROOT / 'kernel').rglob('*')
             if f.suffix in ('.h', '.hpp', '.inl', '.cpp')}
    wrong, largest = judge(files, rooms, listed, most, budget)
    wrong += judge_sources(files, rooms, read_sources(SOURCES.read_text())) + judge_types(files)
    tests = {f.relative_to(TESTS).as_posix(): f.read_text() for f in TESTS.rglob('*') if f.suffix in ('.hpp', '.cpp')}
    faults, count = judge_tests(files, rooms, read_alone((TESTS / 'CMakeLists.txt').read_text()), tests)
    wrong += faults
    print(*wrong, sep='\n', end='\n' if wrong else '')
    print('tests that need one room and those below alone:', ', '.join(f'{room} {n}' for room, n in count.items() if room != rooms[0]))
    print(f'{len(listed)} includes upwards are left; the largest include cycle has {len(largest)} units')
    print(f'{len(files) - min(len(wrong), len(files))} passed, {len(wrong)} failed')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
