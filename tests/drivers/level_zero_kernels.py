#!/usr/bin/env python3
"""level_zero_kernels.py FILE.spv: the words of a SPIR-V module as a C++ header, so that tests need no compiler of it."""
import struct
import sys

data = open(sys.argv[1], 'rb').read()
words = struct.unpack(f'<{len(data) // 4}I', data)
print('// level_zero_kernels.hpp — what level_zero_kernels.cl is in SPIR-V; made by level_zero_kernels.py, as is said there.')
print('#pragma once\n#include <cstdint>\n\nnamespace consort_test {\n\ninline constexpr uint32_t kKernels[] = {')
for at in range(0, len(words), 10):
    print('    ' + ', '.join(f'0x{w:08x}' for w in words[at:at + 10]) + ',')
print('};\n\n}  // namespace consort_test')
