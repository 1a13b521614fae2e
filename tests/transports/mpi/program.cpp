// An MPI program that adds Consort: MPI_Init is its own, and the job is over a communicator that it has made, with the ranks
// in reverse. It goes on calling MPI while the job runs. Prints "ok" on rank 0.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <consort/distributed.hpp>

#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

int fail(const char *what) {
  std::fprintf(stderr, "program: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

}  // namespace

int main(int argc, char **argv) {
  int granted = 0, rank = 0, ranks = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  try {
    for (int round = 0; round < 3; ++round) {  // a runtime and a job after another
      consort::Settings settings;
      const std::string text = "transport = \"mpi\"\nmpi.communicator = \"" + std::to_string(MPI_Comm_c2f(reversed)) + "\"\n";
      settings.text(text);
      consort::Runtime rt(settings);
      consort::Job job(rt);
      if (static_cast<int>(job.ranks()) != ranks || static_cast<int>(job.rank()) != ranks - 1 - rank)
        return fail("the job has other ranks than the communicator");
      const consort::Codelet add{"add", consort::cpu([](std::span<const double> x, std::span<double> sum) {
        for (std::size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
      })};
      std::vector<double> mine(100'000, 1.0 + job.rank()), all(100'000, 0.0);
      const auto sum = job.rank() == 0 ? rt.vector(all, "sum") : rt.vector<double>(all.size(), "sum");
      job.distribute(sum, 0, 0);
      for (uint32_t r = 0; r < job.ranks(); ++r) {
        const auto part = r == job.rank() ? rt.vector(mine, "part") : rt.vector<double>(mine.size(), "part");
        job.distribute(part, 1 + r, r);
        job.submit(add, consort::r(part), consort::rw(sum));
      }
      int one = 1, count = 0;
      MPI_Allreduce(&one, &count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      rt.wait_all();
      const double expected = ranks * (ranks + 1) / 2.0;
      if (count != ranks) return fail("MPI_Allreduce beside the job has another result");
      if (job.rank() == 0 && (sum.read()[0] != expected || sum.read()[99'999] != expected)) return fail("another sum");
      job.barrier();
    }
  } catch (const std::exception &e) {
    return fail(e.what());
  }
  MPI_Comm_free(&reversed);
  MPI_Finalize();
  if (rank == 0) std::puts("ok");
  return 0;
}
