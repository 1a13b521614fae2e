// The micro benchmark on libgomp: g++ -fopenmp.
#define BENCH_OPENMP_NAME "libgomp"
#include "openmp.hpp"

int main(int argc, char **argv) { return bench::bench_main<bench::OpenMp>(argc, argv); }
