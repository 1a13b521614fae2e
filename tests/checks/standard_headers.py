#!/usr/bin/env python3
"""Each file of the kernel, the plugins, the SDK and the command reaches the standard header of each name of std:: that it
uses: by an include of its own or of one of this repository's headers. Compilers do not tell where another standard
header happens to bring the name, or where headers are precompiled; with another C++ library the file then does not compile."""
import re
import sys
from functools import cache
from pathlib import Path

from includes import CODE, ROOT, SDK, includes

# Of each header the names that are looked for. A name under several headers may come from any of them.
HEADERS = {
    'algorithm': 'min max sort find find_if find_if_not any_of all_of none_of fill fill_n copy copy_n copy_if copy_backward count count_if clamp '
                 'max_element min_element minmax_element unique stable_sort equal lower_bound upper_bound reverse replace replace_if '
                 'nth_element adjacent_find search rotate partition transform set_intersection set_difference remove_if '
                 'partition_point partial_sort next_permutation is_sorted includes binary_search shuffle',
    'array': 'array to_array',
    'atomic': 'atomic atomic_ref atomic_thread_fence atomic_signal_fence memory_order_relaxed memory_order_acquire '
              'memory_order_release memory_order_acq_rel memory_order_seq_cst',
    'bit': 'countr_zero countl_zero bit_cast popcount has_single_bit bit_width bit_ceil endian',
    'bitset': 'bitset',
    'charconv': 'to_chars from_chars to_chars_result chars_format',
    'chrono': 'chrono chrono_literals milli',
    'cmath': 'isnan isfinite isinf fabs pow sqrt llround lround floor ceil log log2 log10 ldexp fma fmax fmin trunc exp exp2 '
             'hypot fmod nearbyint round rint cbrt copysign erf tanh sinh cosh tan sin cos atan atan2 asin acos',
    'condition_variable': 'condition_variable',
    'cctype': 'isalnum isdigit isspace isupper islower isalpha tolower toupper',
    'coroutine': 'coroutine_handle suspend_never suspend_always',
    'csignal': 'signal raise',
    'cstddef': 'byte max_align_t nullptr_t ptrdiff_t',
    'cstdio': 'snprintf printf fprintf fputs puts fflush fclose fopen fgets fread fwrite fputc freopen sscanf fscanf vsnprintf perror',
    'cstdlib': 'getenv free malloc calloc realloc aligned_alloc abort exit quick_exit atexit system strtoull strtoul strtol '
               'strtoll strtod strtold strtof atoi atof',
    'cstring': 'memcpy memset memcmp memmove memchr strcmp strncmp strlen strerror strstr strchr strrchr strcpy strncpy strcat',
    'deque': 'deque',
    'exception': 'exception exception_ptr current_exception rethrow_exception make_exception_ptr terminate',
    'filesystem': 'filesystem',
    'fstream': 'ofstream ifstream',
    'functional': 'function plus less greater hash ref not_fn multiplies',
    'future': 'promise future future_status',
    'initializer_list': 'initializer_list',
    'iterator': 'back_inserter istreambuf_iterator prev next distance',
    'limits': 'numeric_limits',
    'list': 'list',
    'map': 'map multimap',
    'memory': 'unique_ptr shared_ptr weak_ptr make_unique make_shared addressof make_unique_for_overwrite static_pointer_cast '
              'enable_shared_from_this',
    'mutex': 'mutex lock_guard unique_lock adopt_lock try_to_lock',
    'new': 'bad_alloc nothrow nothrow_t launder',
    'numeric': 'iota accumulate',
    'optional': 'optional nullopt',
    'queue': 'priority_queue queue',
    'random': 'mt19937 mt19937_64 uniform_real_distribution',
    'regex': 'regex sregex_iterator',
    'semaphore': 'binary_semaphore counting_semaphore',
    'set': 'set multiset',
    'source_location': 'source_location',
    'span': 'span as_bytes dynamic_extent',
    'sstream': 'istringstream ostringstream stringstream',
    'stdexcept': 'runtime_error domain_error out_of_range logic_error',
    'stop_token': 'stop_token stop_source stop_callback',
    'string': 'string to_string getline stoi stoul stoull stod',
    'string_view': 'string_view',
    'system_error': 'errc error_code system_error generic_category error_category error_condition make_error_code',
    'thread': 'thread this_thread jthread',
    'tuple': 'tuple tie apply',
    'type_traits': 'conditional_t remove_const_t remove_cvref_t remove_reference_t remove_cv_t type_identity_t type_identity '
                   'invoke_result_t decay_t enable_if_t underlying_type_t',
    'unordered_map': 'unordered_map',
    'unordered_set': 'unordered_set',
    'utility': 'move exchange pair swap forward index_sequence make_index_sequence index_sequence_for in_range as_const declval',
    'variant': 'variant holds_alternative get_if visit',
    'vector': 'vector',
}
# Headers that bring others' names by the standard, or whose class is of no use without.
ALSO = {
    'erase_if': {'vector', 'deque', 'map', 'set', 'unordered_map', 'unordered_set', 'string', 'list'},
    'exception': {'stdexcept', 'new'}, 'error_code': {'filesystem'}, 'errc': {'charconv'}, 'initializer_list': {'vector', 'string', 'map', 'set'},
    'string_view': {'string'}, 'thread': {'stop_token'},
    'unique': {'memory'}, 'future_status': {'condition_variable'}, 'lock_guard': {'shared_mutex'},
    'unique_lock': {'condition_variable', 'shared_mutex'}, 'milli': {'ratio'},
    'stop_token': {'thread'}, 'byte': {'span'}, 'array': {'span'},
}
# The names of <utility> are in each header of containers and of <memory>: no C++ library can do without them.
UTILITY = {'move', 'exchange', 'swap', 'forward', 'declval', 'pair', 'index_sequence', 'make_index_sequence'}
C_NAMES = {'assert.h': 'cassert', 'ctype.h': 'cctype', 'math.h': 'cmath', 'signal.h': 'csignal', 'stddef.h': 'cstddef', 'stdint.h': 'cstdint',
           'stdio.h': 'cstdio', 'stdlib.h': 'cstdlib', 'string.h': 'cstring'}
OF = {}
for header, names in HEADERS.items():
    for name in names.split():
        OF.setdefault(name, set()).add(header)
for name, more in ALSO.items():
    OF.setdefault(name, set()).update(more)
FOLDERS = ('kernel', 'plugins', 'sdk', 'tools')
USED = re.compile(r'\bstd::(?:ranges::)?([a-z_0-9]+)')
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)


@cache
def found(file, name):
    for base in (file.parent, ROOT / 'kernel', SDK, ROOT / 'tools', *list(file.parents)[:3]):
        target = (base / name).resolve()
        if target.is_file() and target.is_relative_to(ROOT):
            return target
    return None


@cache
def reached(file):
    """The standard headers that `file` includes, and those that this repository's headers there include."""
    standard, seen, rest = set(), {file}, [file]
    while rest:
        at = rest.pop()
        for _, _, name in includes(at):
            own = found(at, name)
            if own and own not in seen:
                seen.add(own)
                rest.append(own)
            elif not own:
                standard.add(C_NAMES.get(name, name))
    return frozenset(standard)


def missing(file):
    has = reached(file)
    for name in sorted(set(USED.findall(NO_CODE.sub('', file.read_text())))):
        headers = OF.get(name, set())
        if name.startswith('is_') and name.endswith('_v'):
            headers = {'type_traits'}
        if name in UTILITY and has:
            continue
        if headers and not headers & has:
            yield name, headers


def main():
    count = failed = 0
    for folder in FOLDERS:
        for file in sorted(f for f in (ROOT / folder).rglob('*') if f.suffix in CODE and f.suffix not in ('.c', '.h', '.inc') and f.is_file()):
            count += 1
            lacking = list(missing(file))
            failed += bool(lacking)
            for name, headers in lacking:
                print(f'{file.relative_to(ROOT)}: std::{name} without <{"> or <".join(sorted(headers))}>')
    print(f'{count - failed} passed, {failed} failed')
    sys.exit(bool(failed))


if __name__ == '__main__':
    main()
