#!/usr/bin/env python3
"""Compiles or runs the snippets of README.md, CONTRIBUTING.md, docs/*.md and docs/plugins, or those of the
pages that are named.   snippets.py BUILD [PAGE...]

A fenced block of c or cpp must, and one of sh, cmake or toml may, have in the line before it a comment
  <!-- check: build -->      c, cpp: compiles without a warning; with a main it is linked too
  <!-- check: run -->        c, cpp: is built, run, and answers 0; sh: bash -e runs it in an empty folder with the
                             consort command and the examples on its PATH
  <!-- check: fragment -->   c, cpp: compiles as the body of a function that is given a running runtime `rt`
  <!-- check: body -->       cpp: as a fragment, but run too: main() starts a runtime on two workers and calls it. It has assert(),
                             and need(status), which throws the failure of a C call
  <!-- check: plugin NAME -->  c, cpp: becomes NAME.so by consort_add_plugin, with all that this inspects, and is listed
                             by `consort plugins`. `plugin NAME runs`: a scheduler; a program runs its tasks by it, watched
  <!-- check: config -->     toml: `consort config` takes it as $CONSORT_CONFIG
  <!-- check: no, REASON --> is only to be read
`build, needs HEADER`, of a vendor's: left out where the compiler does not find it.
An indented fence counts like any other. `continue` after build or run prepends the blocks before it that said
`part`: <!-- check: part -->. `when SYMBOL run` and `when SYMBOL body` run only where libconsort has that function, and
compile everywhere."""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WARN = ['-Wall', '-Wextra', '-Werror', '-Wno-unused-variable', '-Wno-unused-but-set-variable', '-Wno-unused-parameter',
        '-Wno-unused-function']
INCLUDE = [word for folder in sorted((ROOT / 'plugins').glob('*/*/include')) for word in ('-I', folder)]  # headers of plugins
INCLUDE += ['-isystem', '/usr/local/cuda/include']
PRELUDE = {
    'cpp': '#include <consort/consort.hpp>\n#include <cstdio>\n#include <span>\n#include <string>\n#include <vector>\n'
           'void snippet([[maybe_unused]] consort::Runtime &rt);\nvoid snippet([[maybe_unused]] consort::Runtime &rt) {\n',
    'c': '#include <consort/consort.h>\n#include <consort/libraries.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
         'int snippet(consort_runtime *rt);\nint snippet(consort_runtime *rt) {\n(void)rt;\n',
}
BODY = ('#include <consort/consort.hpp>\n#include <atomic>\n#include <cassert>\n#include <chrono>\n#include <cstdio>\n'
        '#include <functional>\n#include <numeric>\n#include <span>\n#include <stdexcept>\n#include <string>\n#include <thread>\n#include <vector>\n'
        '[[maybe_unused]] static void need(consort_status s) { if (s < 0) throw consort::Error(s, consort_error()); }\n'
        'static void snippet([[maybe_unused]] consort::Runtime &rt) {\n',
        '}\nint main() try {\n  consort::Runtime rt{{"workers", "2"}};\n  snippet(rt);\n  rt.stop();\n} catch (const std::exception &e) {\n'
        '  return std::puts(e.what()), 1;\n}\n')
POSTLUDE = {'cpp': '}\n', 'c': 'return 0;\n}\n'}
PLUGIN = '''cmake_minimum_required(VERSION 3.25)
project(snippet C CXX)
list(APPEND CMAKE_MODULE_PATH {root}/sdk/cmake)
add_library(Consort::plugin INTERFACE IMPORTED)
target_include_directories(Consort::plugin INTERFACE {root}/sdk/include)
include(ConsortPlugin)
add_compile_options(-Wall -Wextra -Werror)
consort_add_plugin({name} OUTPUT_DIR ${{CMAKE_BINARY_DIR}})
'''


class Block:
    def __init__(self, file, line, language, check, text):
        self.where = f'{file.relative_to(ROOT)}:{line}'
        self.language, self.check, self.text = language, check, text


def blocks(file):
    lines = file.read_text().splitlines()
    at = 0
    while at < len(lines):
        fence = re.match(r'(\s*)(```+)\s*([\w+-]*)', lines[at])
        if not fence:
            at += 1
            continue
        indent, ticks, language = fence.groups()
        end = next((i for i in range(at + 1, len(lines)) if lines[i].strip() == ticks), len(lines))
        above = lines[at - 1] if at and lines[at - 1].strip() else lines[at - 2] if at > 1 else ''
        check = re.search(r'<!-- check:\s*(.*?)\s*-->', above)
        language = {'c++': 'cpp', 'C': 'c', 'bash': 'sh', 'sh-run': 'sh'}.get(language, language)
        text = '\n'.join(line.removeprefix(indent) for line in lines[at + 1:end]) + '\n'
        yield Block(file, at + 1, language, check[1] if check else None, text)
        at = end + 1


class Checker:
    def __init__(self, build):
        self.build, self.parts, self.exported = build, '', None
        self.env = {**os.environ, 'PATH': f'{build}/bin:{os.environ["PATH"]}', 'LD_LIBRARY_PATH': f'{build}/lib'}
        for name in ('CONSORT_PLUGIN_PATH', 'CONSORT_PLUGINS', 'CONSORT_CONFIG'):
            self.env.pop(name, None)

    def run(self, *command, folder, **env):
        limit = 120 * max(1, os.getloadavg()[0] / os.cpu_count())  # a hang is one on a busy machine, too
        try:
            done = subprocess.run(command, cwd=folder, env={**self.env, 'XDG_CACHE_HOME': f'{folder}/cache', **env}, stdin=subprocess.DEVNULL, timeout=limit,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
        except subprocess.TimeoutExpired:
            return f'ran for more than {limit:.0f} s'
        return None if done.returncode == 0 else f'{" ".join(map(str, command))}: answered {done.returncode}\n{done.stdout[-4000:]}'

    def symbols(self):
        if self.exported is None:
            out = subprocess.run(['nm', '-D', '--defined-only', self.build / 'lib/libconsort.so'], capture_output=True, text=True)
            self.exported = {line.split()[-1].split('@')[0] for line in out.stdout.splitlines() if line}
        return self.exported

    def compile(self, block, text, folder, link=True):
        """Answers the complaint or None."""
        source = folder / ('snippet.c' if block.language == 'c' else 'snippet.cpp')
        source.write_text(text)
        compiler = ['gcc', '-std=c11'] if block.language == 'c' else ['g++', '-std=c++20']
        command = [*compiler, '-O1', *WARN, '-I', ROOT / 'sdk/include', *INCLUDE, source]
        if link and re.search(r'\bmain\s*\(', text):
            return self.run(*map(str, command), '-o', 'snippet', '-L', str(self.build / 'lib'), '-lconsort', '-pthread', folder=folder)
        return self.run(*map(str, command), '-c', '-o', 'snippet.o', folder=folder)

    def run_by_scheduler(self, name, folder):
        program = ROOT / 'tests/checks/embed/main.c'
        return (self.run('gcc', '-std=c11', '-I', str(ROOT / 'sdk/include'), str(program), '-o', 'embed', '-L',
                         str(self.build / 'lib'), '-lconsort', folder=folder)
                or self.run('bash', '-c', f'./embed scheduler {name} workers 2 layers checks 2>&1 | tee log; '
                            '! grep -v "^embedded: fine" log', folder=folder, CONSORT_PLUGIN_PATH=str(folder / 'b')))

    def check(self, block):
        """Answers the complaint, None if all is well, or False if there was nothing to do."""
        words = (block.check or '').replace(',', ' ').split()
        code = block.language in ('c', 'cpp')
        if not words:
            return 'has no <!-- check: ... --> before it' if code else False
        what = words[0]
        if what == 'no':
            return None if len(words) > 1 else 'says "no" without a reason'
        if 'needs' in words:
            header = words.pop()
            words.pop()
            if self.run('sh', '-c', f'echo "#include <{header}>" | gcc -E {" ".join(map(str, INCLUDE))} -o /dev/null -', folder='/'):
                return False
        text = block.text
        if what == 'part':
            self.parts += text
            return False
        if what == 'when' and len(words) > 2:
            there = words[1] in self.symbols()
            words = words[2:] if there else ['build' if words[2] == 'run' else 'body']
            what, run = words[0], there
        else:
            run = True
        if words[-1] == 'continue':
            text, self.parts = self.parts + text, ''
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if block.language == 'cpp' and what == 'body':
                complaint = self.compile(block, BODY[0] + text + BODY[1], folder, link=run)
                return complaint or (self.run('./snippet', folder=folder) if run else None)
            if code and what in ('build', 'run', 'fragment'):
                if what == 'fragment':
                    text = PRELUDE[block.language] + text + POSTLUDE[block.language]
                return self.compile(block, text, folder, link=run) or (self.run('./snippet', folder=folder) if what == 'run' else None)
            if code and what == 'plugin' and len(words) > 1:
                (folder / f'plugin.{block.language}').write_text(text)
                (folder / 'CMakeLists.txt').write_text(PLUGIN.format(root=ROOT, name=words[1]))
                return (self.run('cmake', '-G', 'Ninja', '-S', '.', '-B', 'b', folder=folder)
                        or self.run('ninja', '-C', 'b', folder=folder)
                        or self.run('bash', '-c', f'consort plugins | grep -w {words[1]}', folder=folder,
                                    CONSORT_PLUGIN_PATH=str(folder / 'b'))
                        or (self.run_by_scheduler(words[1], folder) if words[-1] == 'runs' else None))
            if block.language == 'sh' and what == 'run':
                return self.run('bash', '-euo', 'pipefail', '-c', text, folder=folder)
            if block.language == 'toml' and what == 'config':
                (folder / 'consort.toml').write_text(text)
                return self.run('consort', 'config', folder=folder, CONSORT_CONFIG=str(folder / 'consort.toml'))
        return f'cannot "{block.check}" a block of {block.language or "no language"}'


def check_file(build, file):
    """The result of each block that is checked: a complaint or None. In order, for parts go on from block to block."""
    checker = Checker(build)
    found = [(block.where, checker.check(block)) for block in blocks(file)]
    return [f'{where}: {complaint}' if complaint else None for where, complaint in found if complaint is not False]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, named = Path(sys.argv[1]).resolve(), [Path(name).resolve() for name in sys.argv[2:]]
    files = named or [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').glob('*.md')), *sorted((ROOT / 'docs/plugins').rglob('*.md'))]
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for complaints in pool.map(lambda file: check_file(build, file), filter(Path.exists, files)):
            passed += complaints.count(None)
            for complaint in filter(None, complaints):
                failed += 1
                print(f'FAIL {complaint}')
    print(f'{passed} passed, {failed} failed')
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
