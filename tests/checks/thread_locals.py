#!/usr/bin/env python3
"""Each library of a build with the thread sanitizer that is loaded at run time aligns its thread-local block to 32 bytes
or more. At 16 bytes into a page, g++ 12's sanitizer takes the 16 bytes before a block that the allocator gave for a
header of an old glibc; it then clears as many bytes as stand there, and ends the process with "failed to allocate".

thread_locals.py BUILD [READELF]"""
import re
import subprocess
import sys
from pathlib import Path

LEAST = 32


def alignment(library, readelf):
    text = subprocess.run([readelf, '-lW', library], capture_output=True, text=True, check=True).stdout
    found = re.search(r'^ +TLS .* (0x[0-9a-f]+)$', text, re.M)
    return int(found[1], 16) if found else None


def main():
    build, readelf = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else 'readelf'
    loaded = [p for folder in ('lib/consort', 'tests') for p in sorted((build / folder).rglob('*.so')) if p.is_file()]
    passed = failed = 0
    for library in loaded:
        aligned = alignment(library, readelf)
        if aligned is not None and aligned < LEAST:
            failed += 1
            print(f'{library}: its thread-local block is aligned to {aligned} bytes: put alignas(64) before a '
                  f'thread_local of it')
        else:
            passed += 1
    if not loaded:
        failed += 1
        print(f'{build}: no library there')
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
