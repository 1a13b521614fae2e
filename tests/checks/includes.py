#!/usr/bin/env python3
"""Arrows run inwards, through the SDK only. Each folder and the headers that it may include:

  sdk/include ABI and C API (.h)   <stddef.h>, <stdint.h>, headers of consort/
  sdk/include C++ faces (.hpp)     the C++ library, headers of consort/
  sdk/include/consort/shared       the same and the system: code shared by kernel, plugins and tools
  kernel/                          <consort/...>, its own files, the C and C++ libraries, the system, hwloc;
                                   Boost.DLL in exactly one .cpp, toml++ in exactly one .cpp; no application face (.hpp)
  plugins/FAMILY/NAME              <consort/...> without the application's faces, its own files, the headers right in
                                   plugins/FAMILY or in a folder there that is no plugin, the system, its vendor
                                   plugins/FAMILY/NAME/include/consort has its headers for applications
  tools/, examples/                <consort/...>, their own files, anything foreign; nothing of kernel/ or plugins/
  tests/doubles                    their own files, the libraries, the system; a vendor's header only in files that begin
                                   with its name, or in a folder of the same name; nothing of Consort, for a double replaces a library of another origin"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / 'sdk/include'
KERNEL = ROOT / 'kernel'
CODE = ('.c', '.h', '.cpp', '.hpp', '.cc', '.inc')
APPLICATION = ('consort.hpp',)  # for programs that embed the runtime, not for plugins
CXX = set('''algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib
cstring ctime cwchar deque exception execution expected filesystem format forward_list fstream functional future
initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex new
numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex
source_location span sstream stack stdexcept stop_token streambuf string string_view syncstream system_error thread tuple
type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version'''.split())
SYSTEM = re.compile(r'(sys|linux|asm|arpa|netinet|bits)/\w+\.h|(assert|ctype|cxxabi|dirent|dlfcn|elf|errno|execinfo|fcntl|float|glob'
                    r'|arm_acle|grp|immintrin|inttypes|limits|link|locale|malloc|math|poll|pthread|pwd|sched|semaphore|setjmp|signal'
                    r'|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|syscall|time'
                    r'|uchar|unistd|wchar|x86intrin)\.h|sanitizer/\w+\.h|valgrind/\w+\.h')
failures = {}


def fail(file, line, why):
    failures.setdefault(file, []).append(f'{file.relative_to(ROOT)}:{line}: {why}')


def includes(file):
    text = re.sub(r'/\*.*?\*/', lambda m: '\n' * m[0].count('\n'), file.read_text(errors='replace'), flags=re.S)
    for number, line in enumerate(text.splitlines(), 1):
        m = re.match(r'\s*#\s*include\s*(?:_next)?\s*([<"])([^>"]+)[>"]', line)
        if m:
            yield number, m[1] == '<', m[2]


def sources(folder):
    return sorted(f for f in folder.rglob('*') if f.suffix in CODE and f.is_file())


def own(file, name, folder):
    """The quoted include `name` of `file`, if it is a file inside `folder`."""
    for base in (file.parent, folder):
        target = (base / name).resolve()
        if target.is_file() and target.is_relative_to(folder):
            return True
    return False


def family(file, name, folder):
    """The quoted include `name` of `file`, if it is a header that plugins of this family share."""
    target = (file.parent / name).resolve()
    shared = target.parent == folder.parent or (target.parent.parent == folder.parent
                                                and not (target.parent / 'CMakeLists.txt').is_file())
    return target.is_file() and shared and target.suffix in ('.h', '.hpp')


def sdk(name, angle, file):
    return (name.startswith('consort/') and (SDK / name).is_file()) or (not angle and own(file, name, SDK))


def check_sdk(file):
    for line, angle, name in includes(file):
        if sdk(name, angle, file):
            if file.suffix == '.h' and name.endswith('.hpp'):
                fail(file, line, f'a C header includes "{name}"')
        elif file.suffix == '.h' and name not in ('stddef.h', 'stdint.h'):
            fail(file, line, f'includes "{name}"; an ABI header has <stddef.h>, <stdint.h> and its siblings, no more')
        elif file.suffix == '.hpp' and name not in CXX and not (file.parent.name == 'shared' and SYSTEM.fullmatch(name)):
            fail(file, line, f'includes "{name}", which is neither of the C++ library nor of consort/')


def check_kernel(file, counted):
    for line, angle, name in includes(file):
        lead = next((k for k in counted if name.startswith(k)), None)
        if sdk(name, angle, file):
            if Path(name).name in APPLICATION:
                fail(file, line, f'includes "{name}", which stands outside the kernel')
        elif lead:
            counted[lead].add(file)
            if file.suffix != '.cpp':
                fail(file, line, f'includes "{name}" in a header; it costs a second wherever that is included')
        elif angle and (name in CXX or name == 'hwloc.h' or name.startswith('hwloc/') or SYSTEM.fullmatch(name)):
            pass
        elif angle or not own(file, name, KERNEL):
            fail(file, line, f'includes "{name}", which is no file of kernel/, sdk/, the libraries, the system or hwloc')


def check_plugin(file, folder):
    others = {p for p in (ROOT / 'plugins').glob('*/*') if p.is_dir() and p != folder}
    for line, angle, name in includes(file):
        if name.startswith('consort/') or sdk(name, angle, file):
            if not sdk(name, angle, file) or Path(name).name in (*APPLICATION, 'consort.h'):
                fail(file, line, f'includes "{name}", which is no header for plugins')
        elif not angle and not own(file, name, folder) and not family(file, name, folder):
            fail(file, line, f'includes "{name}", which is no file of {folder.relative_to(ROOT)}')
        elif angle and ((KERNEL / name).is_file() or name.startswith('kernel/') or name.startswith('plugins/')
                        or any((o / name).is_file() for o in others)):
            fail(file, line, f'includes <{name}> of the kernel or of another plugin')


def shipped(name):
    """A header for applications that a plugin brings with it."""
    return any((p / name).is_file() for p in (ROOT / 'plugins').glob('*/*/include'))


def check_outside(file, folder):
    for line, angle, name in includes(file):
        if shipped(name):
            continue
        if not sdk(name, angle, file) and not (not angle and own(file, name, folder)):
            if not angle or name.startswith(('kernel/', 'plugins/', 'consort/')) or (KERNEL / name).is_file():
                fail(file, line, f'includes "{name}"; a program or plugin includes <consort/...> and its own files')


VENDORS = {'cuda.h': 'cuda', 'nvrtc.h': ('nvrtc', 'cuda'), 'cublas_v2.h': 'cuda', 'cusolverDn.h': 'cuda',
           'hip/hip_runtime_api.h': 'hip', 'hip/hiprtc.h': 'hip'}


def check_double(file, folder):
    for line, angle, name in includes(file):
        if angle and (name in CXX or SYSTEM.fullmatch(name) or name in ('spawn.h', 'ucontext.h')
                      or file.name.startswith(VENDORS.get(name, '/')) or Path(name).parent.name == file.parent.name):
            pass
        elif angle and name == 'gtest/gtest.h' and ('test' in file.stem or 'library' in file.stem):
            pass
        elif angle or not (own(file, name, folder) or name == 'nvrtc_prelude.inc'):
            fail(file, line, f'includes "{name}"; a double has its own files, its vendor\'s header, the libraries, the system')


def main():
    count = 0
    counted = {'boost/': set(), 'toml++/': set()}
    for file in sources(SDK):
        count += 1
        check_sdk(file)
    for file in sources(KERNEL):
        if not file.name.endswith('_test.cpp'):
            count += 1
            check_kernel(file, counted)
    for folder in sorted(p for p in (ROOT / 'plugins').glob('*/*') if p.is_dir()):
        for file in sources(folder):
            count += 1
            check_plugin(file, folder)
    for file in sorted(f for f in (ROOT / 'plugins').glob('*/*') if f.suffix in CODE):  # a family's own headers
        count += 1
        check_plugin(file, file.parent)
    for top in ('tools', 'examples'):
        for file in sources(ROOT / top):
            count += 1
            check_outside(file, ROOT / top)
    for file in sources(ROOT / 'tests/doubles'):
        count += 1
        check_double(file, ROOT / 'tests/doubles')
    for name, files in counted.items():
        if len(files) > 1:
            for file in sorted(files):
                fail(file, 0, f'{name} is included by {len(files)} files; keep it in one')
    for lines in failures.values():
        print(*lines, sep='\n')
    print(f'{count - len(failures)} passed, {len(failures)} failed')
    sys.exit(bool(failures))


if __name__ == '__main__':
    main()
