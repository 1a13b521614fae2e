// Whether the report "bound" was built with a solver: tests of its figures are skipped without.
#pragma once
namespace consort_test {

#ifdef CONSORT_HAS_GLPK
constexpr bool kHasGlpk = true;
#else
constexpr bool kHasGlpk = false;
#endif

}  // namespace consort_test
