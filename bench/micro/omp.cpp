// The micro benchmark on libomp: clang++ -fopenmp.
#define BENCH_OPENMP_NAME "libomp"
#include "openmp.hpp"

int main(int argc, char **argv) { return bench::bench_main<bench::OpenMp>(argc, argv); }
