// rank_main.cpp — consort_rank_main(): a program that gives its rank as a function.
#include <consort/distributed.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "remote/thread_ranks.hpp"

using namespace consort;

int consort_rank_main(consort_rank_fn *rank, int argc, char **argv) {
  constexpr unsigned long kMost = 4096;
  const char *const text = secure_getenv("CONSORT_RANKS_HERE");
  const unsigned long n = text ? std::strtoul(text, nullptr, 10) : 0;
  if (n <= 1 || ThreadRank::of_this_thread()) return rank(argc, argv);
  if (n > kMost) {
    std::fprintf(stderr, "consort: CONSORT_RANKS_HERE is %lu: at most %lu ranks run in one process\n", n, kMost);
    return 1;
  }
  try {
    ThreadRanks ranks(static_cast<uint32_t>(n));
    return ranks.run(rank, argc, argv);
  } catch (const std::exception &e) {
    std::fprintf(stderr, "consort: the ranks do not start: %s\n", e.what());
    return 1;
  }
}
