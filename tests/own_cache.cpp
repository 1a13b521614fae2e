// own_cache.cpp — part of every test program: files kept between runs are below the build folder, never in the user's
// home, whether ctest or a person starts the test. It runs before main(); programs that a test starts inherit it.
#include <cstdlib>

namespace {
[[maybe_unused]] const int kept_here = setenv("XDG_CACHE_HOME", CONSORT_TEST_CACHE_DIR, 1);
}
