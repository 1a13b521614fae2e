#!/usr/bin/env python3
"""A program that runs can load the library: an interpreter does. Its thread-locals are initial-exec, for which the dynamic
linker keeps 512 bytes for all such libraries (glibc.rtld.optional_static_tls), so its block has at most 256.

static_tls.py LIBRARY [READELF]"""
import ctypes
import re
import subprocess
import sys

MOST = 256


def main():
    library, readelf = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else 'readelf'
    text = subprocess.run([readelf, '-lW', library], capture_output=True, text=True, check=True).stdout
    found = re.search(r'^ +TLS +0x[0-9a-f]+ +0x[0-9a-f]+ +0x[0-9a-f]+ +0x[0-9a-f]+ +(0x[0-9a-f]+)', text, re.M)
    size = int(found[1], 16) if found else 0
    failed = 0
    if size > MOST:
        failed += 1
        print(f'{library}: {size} bytes of thread-locals; {MOST} at most, or a program that runs cannot load it')
    try:
        ctypes.CDLL(library)
    except OSError as error:
        failed += 1
        print(error)
    print(f'{2 - failed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
