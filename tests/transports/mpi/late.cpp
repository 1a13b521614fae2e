// Ranks 0 and 1 of three join a job over MPI while rank 2 stays away. Prints what they see; the argument says the rest:
//   late       rank 2 joins when the others have given up; all three join again
//   absent     rank 2 joins nothing; all finish MPI
//   exchange   all have joined a job before; ranks 0 and 1 try twice to join the next, and all finish MPI
//   plugin     rank 2 joins nothing; the others leave MPI to Consort, which cannot finish it
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <consort/distributed.hpp>

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

// Joins a job and leaves it. Prints the rank, the text and the seconds.
void join(int rank, const char *seconds) {
  consort::Settings settings;
  const std::string text = std::string("transport = \"mpi\"\njoin_seconds = ") + seconds + "\n";
  settings.text(text);
  const auto begin = std::chrono::steady_clock::now();
  std::string seen = "joined";
  try {
    consort::Runtime rt(settings);
    consort::Job job(rt);
    job.barrier();
  } catch (const consort::Error &e) {
    seen = std::string(consort_status_name(e.status())) + ": " + e.what();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("rank %d: %.1f s: %s\n", rank, took.count(), seen.c_str());
  std::fflush(stdout);
}

void meet() {
  int one = 1, count = 0;
  MPI_Allreduce(&one, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (count != 3) MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace

int main(int argc, char **argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "plugin") {
    const char *text = std::getenv("OMPI_COMM_WORLD_RANK");
    if (!text) text = std::getenv("PMI_RANK");
    const int number = text ? std::atoi(text) : 0;
    if (number != 2) return join(number, "1"), 0;
  }
  int granted = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (how == "plugin") std::this_thread::sleep_for(std::chrono::seconds(3));  // nap: until the others have given up
  if (how == "exchange") join(rank, "30");
  if (how != "plugin") {
    if (rank != 2) join(rank, "1");
    if (rank != 2 && how == "exchange") join(rank, "1");
    meet();
    if (how == "late") join(rank, "30");
    meet();
  }
  MPI_Finalize();
  std::printf("rank %d: finished\n", rank);
}
