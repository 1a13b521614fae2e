// Messages by MPI's own calls: MPI_Isend, MPI_Irecv, MPI_Waitall. MPI is started for calls of several threads, as by the
// transport.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "exchange.hpp"
#include "pair.hpp"
#include <mpi.h>

namespace {

class Line {
public:
  Line() {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    rank_ = static_cast<uint32_t>(rank);
    network::pin_to(rank_);
  }
  uint32_t rank() const { return rank_; }
  void receive(unsigned slot, void *p, uint64_t n) {
    MPI_Irecv(p, static_cast<int>(n), MPI_BYTE, peer(), static_cast<int>(slot), MPI_COMM_WORLD, &all_[under_way_++]);
  }
  void send(unsigned slot, const void *p, uint64_t n) {
    MPI_Isend(p, static_cast<int>(n), MPI_BYTE, peer(), static_cast<int>(slot), MPI_COMM_WORLD, &all_[under_way_++]);
  }
  void wait() {
    MPI_Waitall(under_way_, all_, MPI_STATUSES_IGNORE);
    under_way_ = 0;
  }

private:
  int peer() const { return 1 - static_cast<int>(rank_); }
  uint32_t rank_ = 0;
  MPI_Request all_[2 * network::max_window];
  int under_way_ = 0;
};

} // namespace

int main(int argc, char **argv) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  network::Options o = network::options(argc, argv);
  o.transport = "mpi";
  int status = 0;
  {
    Line line;
    status = network::exchange(line, "mpi", o);
  }
  MPI_Finalize();
  return status;
}
