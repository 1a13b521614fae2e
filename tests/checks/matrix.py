#!/usr/bin/env python3
"""The compile matrix: every public header alone, twice over, and one use of every macro that plugins use, under each
compiler and language standard that is here, with all warnings as errors.   matrix.py [--quick]
--quick: the oldest standards that the headers promise, by the system's gcc and clang."""
import concurrent.futures
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / 'sdk/include'
FLAGS = ['-Wall', '-Wextra', '-pedantic', '-Werror', '-fsyntax-only', '-I', str(INCLUDE)]
# compiler for C, for C++, C standards, C++ standards (C++ faces from the last column on)
COMPILERS = [
    ('gcc', 'g++', ['c11', 'c17', 'c2x'], ['c++17', 'c++20', 'c++23']),
    ('clang-14', 'clang++-14', ['c11', 'c17', 'c2x'], ['c++17', 'c++20', 'c++2b']),
    ('clang-19', 'clang++-19', ['c11', 'c17', 'c23'], ['c++17', 'c++20', 'c++23']),
]
MODULE = '''
#include <consort/driver.h>
#include <consort/interface.h>
#include <consort/scheduler.h>
#include <consort/transport.h>
#include <consort/consort.h>
static const consort_plugin plug = {sizeof(consort_plugin), CONSORT_KIND_%(kind)s, CONSORT_%(kind)s_MAJOR, CONSORT_%(kind)s_MINOR,
  CONSORT_PF_VIRTUAL, "m", "1.0", "", "", NULL, 0, 0, NULL, NULL, NULL, NULL, NULL};
CONSORT_MODULE(m, %(kind)s, CONSORT_PF_VIRTUAL, "m", "1.0", plug);
int use(const consort_plugin *p);
int use(const consort_plugin *p) {
  consort_settings settings = CONSORT_SETTINGS_INIT;
  consort_codelet codelet = CONSORT_CODELET_INIT;
  consort_task_desc task = CONSORT_TASK_INIT;
  return CONSORT_HAS(p, consort_plugin, get) && CONSORT_HAS_FN(p, consort_plugin, init) && settings.size && codelet.size &&
         task.size >= CONSORT_TASK_BRIEF && CONSORT_NEVER > CONSORT_NONE;
}
'''


def chosen(quick):
    return [(cc, cxx, c[:1], [s for s in cxx_standards if s == 'c++20']) for cc, cxx, c, cxx_standards in COMPILERS[:2]] if quick else COMPILERS


def jobs(quick):
    headers = sorted(p.relative_to(INCLUDE) for p in INCLUDE.rglob('*.h'))
    faces = sorted(p.relative_to(INCLUDE) for p in INCLUDE.rglob('*.hpp'))
    for cc, cxx, c_standards, cxx_standards in chosen(quick):
        for compiler, language, standards in ((cc, 'c', c_standards), (cxx, 'c++', cxx_standards)):
            if not shutil.which(compiler):
                print(f'left out: {compiler} is not here')
                continue
            for standard in standards:
                mine = headers + (faces if language == 'c++' and standard != 'c++17' else [])
                for header in mine:
                    yield compiler, language, standard, str(header), f'#include <{header}>\n#include <{header}>\nint nothing;\n'
                for kind in ('DRIVER', 'INTERFACE', 'SCHEDULER', 'TRANSPORT'):
                    for variant in ([], ['-DCONSORT_STATIC_PLUGIN']):
                        yield compiler, language, standard, f'a {kind.lower()} {variant}', MODULE % {'kind': kind}, *variant


def compile_one(job):
    compiler, language, standard, what, source, *flags = job
    done = subprocess.run([compiler, f'-std={standard}', *FLAGS, *flags, '-x', language, '-'], input=source, capture_output=True, text=True)
    return done.returncode == 0 or f'FAIL {compiler} -std={standard}: {what}\n{done.stderr}'


def main():
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(compile_one, jobs('--quick' in sys.argv[1:])))
    failures = [r for r in results if r is not True]
    print(*failures, sep='\n', end='\n' if failures else '')
    print(f'{len(results) - len(failures)} passed, {len(failures)} failed')
    sys.exit(bool(failures) or not results)


if __name__ == '__main__':
    main()
