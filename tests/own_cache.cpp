// own_cache.cpp — part of every test program. Files kept between runs are below the build folder, never in the user's
// home, also without ctest. It runs before main(); programs that a test starts inherit it.
#include <cstdlib>

namespace {
[[maybe_unused]] const int kept_here = setenv("XDG_CACHE_HOME", CONSORT_TEST_CACHE_DIR, 1);
}
