#!/usr/bin/env python3
"""Memory orders are argued in the source; docs/memory-orders.md defines the contents of an argument.

Each atomic object of kernel/, plugins/ and sdk/include is declared with its argument beside it: a comment on its line or
directly above it that names an order, the store or load that it pairs with, the lock it is under, or the place where that
stands ("see publish()").
Each access of kernel/ with acquire, release, acq_rel or seq_cst, and each fence, has an argument: in a comment on its line
or at most three lines of code above, or at the declaration of an object of that name, which names the order.
A comment that names a function for it names one that exists: "pairs with the release in link()", "see publish()"."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A declaration of objects, not a parameter, a cast or a local reference to one that is declared elsewhere.
DECLARED = re.compile(r'^\s*(?:(?:alignas\([^)]*\)|static|inline|constinit|constexpr|mutable|extern|thread_local|const)\s+)*'
                      r'(?:std::(?:unique_ptr|vector|array|deque)<)?std::atomic(?:_flag|<[^=;(){]*>)(?:\[\]>|>|, \w+>)?\s*'
                      r'(?P<names>\w+\s*(?:\[[^\]]*\]\s*)?(?:\{|=|;|,).*)')
ARGUMENT = re.compile(r'//.*(?:relaxed|releas|acquire|acq_rel|seq_cst|pairs|\bsee\b|fence|under|single writer|one writer)', re.IGNORECASE)
ORDER = re.compile(r'memory_order_(acquire|release|acq_rel|seq_cst)|atomic_thread_fence')
BESIDE = re.compile(r'//.*(?:relaxed|releas|acquire|acq_rel|seq_cst|pairs|publish|fence)', re.IGNORECASE)
ACCESSED = re.compile(r'(\w+)(?:\[[^;]*\])?(?:\(\))?\s*(?:\.|->)\s*(?:load|store|exchange|fetch_\w+|compare_exchange_\w+|wait|'
                      r'test|test_and_set|clear)\([^;]*$')
SAID = {'acquire': r'acquir|acq_rel|seq_cst|pairs|see ', 'release': r'releas|acq_rel|seq_cst|pairs|publish|see ',
        'acq_rel': r'acq_rel|releas|acquir|seq_cst|pairs', 'seq_cst': r'seq_cst'}
PAIR = re.compile(r'\b(?:pairs? with|see) (?:the |a |an )?(?:\w+ )*?(?:in |of )?((?:\w+::)?~?\w+)\(\)')


def comments_of(lines, i):
    """Those on a declaration's lines and directly above."""
    places = [lines[i]]
    if not lines[i].rstrip().endswith(';') and i + 1 < len(lines):  # it may go on
        places.append(lines[i + 1])
    above = i - 1
    while above >= 0 and lines[above].strip().startswith('//'):
        places.append(lines[above])
        above -= 1
    return [p for p in places if '//' in p]


def beside(lines, i, most=3):
    """Comments near an access: on its line, or above it in the same paragraph."""
    if BESIDE.search(lines[i]):
        return True
    code = 0
    for above in range(i - 1, -1, -1):
        if not lines[above].strip() or code > most:
            return False
        if BESIDE.search(lines[above]):
            return True
        code += not lines[above].strip().startswith('//')
    return False


def accesses_without(lines, declared):
    for i, line in enumerate(lines):
        code = line.split('//')[0]
        for order in ORDER.finditer(code):
            if beside(lines, i):
                continue
            before = code[:order.end()]
            if not ACCESSED.search(before) and i:  # the call began on the line above
                before = lines[i - 1].split('//')[0].rstrip() + ' ' + before
            name = ACCESSED.search(before)
            said = declared.get(name[1], '') if name else ''
            if not order[1] or not re.search(SAID[order[1]], said, re.IGNORECASE):
                yield i, line
                break


def main():
    wrong, passed, declared, sources = [], 0, {}, {}
    for folder in ('kernel', 'plugins', 'sdk/include'):
        for file in sorted((ROOT / folder).rglob('*')):
            if file.suffix in ('.cpp', '.hpp', '.h'):
                sources[file.relative_to(ROOT)] = file.read_text().split('\n')
    for file, lines in sources.items():
        for i, line in enumerate(lines):
            found = DECLARED.match(line.split('//')[0].rstrip() or ' ')
            if not found:
                continue
            comments = comments_of(lines, i)
            if any(ARGUMENT.search(c) for c in comments):
                passed += 1
            else:
                wrong.append(f'{file}:{i + 1}: {line.strip()}: no memory-order argument on this line or directly above')
            for name in re.findall(r'(\w+)\s*(?:\[[^\]]*\]\s*)?(?:\{|=|;|,)', found['names']):
                declared[name] = declared.get(name, '') + ' '.join(c.split('//', 1)[1] for c in comments) + ' '
    code = '\n'.join(line.split('//')[0] for lines in sources.values() for line in lines)
    names = set(re.findall(r'~?\w+(?=\()', code))
    kernel = {file: lines for file, lines in sources.items() if file.parts[0] == 'kernel'}
    for file, lines in kernel.items():
        without = list(accesses_without(lines, declared))
        passed += sum(bool(ORDER.search(line.split('//')[0])) for line in lines) - len(without)
        wrong += [f'{file}:{i + 1}: {line.strip()}: no argument for this order here, above, or at the declaration' for i, line in without]
        for i, line in enumerate(lines):
            for pair in PAIR.finditer(line.split('//', 1)[1] if '//' in line else ''):
                if pair[1].split('::')[-1] not in names:
                    wrong.append(f'{file}:{i + 1}: names {pair[1]}(), which does not exist')
    for w in wrong:
        print(w)
    print(f'{passed} passed, {len(wrong)} failed')
    return 1 if wrong or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
