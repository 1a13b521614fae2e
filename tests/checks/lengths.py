#!/usr/bin/env python3
"""No file of kernel/ has more than 600 lines, no function there more than 80: what is longer is two things.
A function begins at a line without indent that ends in "{" and closes at the next line that begins with "}"."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE, FUNCTION = 600, 80
OTHER = re.compile(r'^(namespace|struct|class|union|enum|extern|template <[^>]*> (struct|class)|#)|=\s*\{$')

passed = failed = 0
for path in sorted((ROOT / 'kernel').rglob('*.[ch]pp')):
    lines = path.read_text().splitlines()
    name = path.relative_to(ROOT)
    long = [f'{name}: {len(lines)} lines'] if len(lines) > FILE else []
    start = None
    for number, line in enumerate(lines, 1):
        if start is None and line.endswith('{') and line[:1].strip() and not OTHER.search(line):
            start = number
        elif start is not None and line.startswith('}'):
            if number - start + 1 > FUNCTION:
                long.append(f'{name}:{start}: a function of {number - start + 1} lines: {lines[start - 1].strip()}')
            start = None
    for what in long:
        print(what)
    failed += len(long)
    passed += not long
print(f'{passed} passed, {failed} failed')
sys.exit(failed > 0)
