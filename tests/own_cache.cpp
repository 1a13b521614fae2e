// own_cache.cpp — part of every test program: what is kept from run to run lies with the build, never in the home of whoever
// runs the test, by ctest or by hand. Before main(); programs that a test starts inherit it.
#include <cstdlib>

namespace {
[[maybe_unused]] const int kept_here = setenv("XDG_CACHE_HOME", CONSORT_TEST_CACHE_DIR, 1);
}
