#!/usr/bin/env python3
"""Each atomic object of kernel/, plugins/ and sdk/include is declared with its memory-order argument beside it: a comment on
its line or directly above it that names an order, the store or load that it pairs with, the lock it is under, or the place
where that stands ("see publish()"). docs/memory-orders.md defines the contents of an argument."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A declaration of an object, not a parameter, a cast or a local reference to one that is declared elsewhere.
DECLARED = re.compile(r'^\s*(?:(?:alignas\([^)]*\)|static|inline|constinit|constexpr|mutable|extern|thread_local|const)\s+)*'
                      r'(?:std::(?:unique_ptr|vector|array|deque)<)?std::atomic(?:_flag|<[^=;(){]*>)(?:\[\]>|>|, \w+>)?\s*\w+\s*'
                      r'(?:\[[^\]]*\]\s*)?(?:\{|=|;|,)')
ARGUMENT = re.compile(r'//.*(?:relaxed|releas|acquire|acq_rel|seq_cst|pairs|\bsee\b|fence|under|single writer|one writer)', re.IGNORECASE)


def has_argument(lines, i):
    places = [lines[i]]
    if not lines[i].rstrip().endswith(';'):  # it may go on
        places.append(lines[i + 1])
    above = i - 1
    while above >= 0 and lines[above].strip().startswith('//'):
        places.append(lines[above])
        above -= 1
    return any(ARGUMENT.search(p) for p in places)


def main():
    wrong, all_of_them = [], 0
    for folder in ('kernel', 'plugins', 'sdk/include'):
        for file in sorted((ROOT / folder).rglob('*')):
            if file.suffix not in ('.cpp', '.hpp', '.h'):
                continue
            lines = file.read_text().split('\n')
            for i, line in enumerate(lines):
                if not DECLARED.match(line.split('//')[0].rstrip() or ' '):
                    continue
                all_of_them += 1
                if not has_argument(lines, i):
                    wrong.append(f'{file.relative_to(ROOT)}:{i + 1}: {line.strip()}')
    for w in wrong:
        print(f'{w}: no memory-order argument on this line or directly above (docs/memory-orders.md)')
    print(f'{all_of_them - len(wrong)} passed, {len(wrong)} failed')
    return 1 if wrong or not all_of_them else 0


if __name__ == '__main__':
    sys.exit(main())
