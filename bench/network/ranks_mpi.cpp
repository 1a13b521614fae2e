// The chain and the Cholesky of ranks.hpp by plain MPI: the value goes from rank to rank; a tile goes to the ranks that read
// it when it is done. One step of lookahead: the next panel comes before the rest of the updates, and its receives are
// posted one step early.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "ranks.hpp"
#include <map>
#include <mpi.h>
#include <set>

namespace {

using bench::Cholesky;

class Ranks {
public:
  Ranks() { MPI_Comm_rank(MPI_COMM_WORLD, &rank_), MPI_Comm_size(MPI_COMM_WORLD, &ranks_); }
  uint32_t rank() const { return static_cast<uint32_t>(rank_); }
  uint32_t ranks() const { return static_cast<uint32_t>(ranks_); }
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

protected:
  int rank_ = 0, ranks_ = 1;
};

class Chain : public Ranks {
public:
  void chain(uint64_t from, uint64_t n) {
    const auto ranks = static_cast<uint64_t>(ranks_);
    const uint64_t end = from + n;
    for (uint64_t i = from; i < end; ++i) {
      if (i % ranks != rank()) continue;
      if (i > from) MPI_Recv(&x_, 1, MPI_UINT64_T, static_cast<int>((i - 1) % ranks), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      network::step(&x_, i);
      if (i + 1 < end) MPI_Send(&x_, 1, MPI_UINT64_T, static_cast<int>((i + 1) % ranks), 0, MPI_COMM_WORLD);
    }
    const auto last = static_cast<int>((end - 1) % ranks), first = static_cast<int>(end % ranks); // of the next chain
    for (const int to : {0, first})
      if (to != last) {
        if (rank_ == last) MPI_Send(&x_, 1, MPI_UINT64_T, to, 1, MPI_COMM_WORLD);
        if (rank_ == to) MPI_Recv(&x_, 1, MPI_UINT64_T, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (first == 0) break;
      }
  }
  uint64_t value() const { return x_; }

private:
  uint64_t x_ = 0;
};

class Factorisation : public Ranks {
public:
  Factorisation(const Cholesky &a, const network::Deal &deal, int count, int tile)
      : a_(a), deal_(deal), count_(count), tile_(tile), tiles_(a, deal, rank()) {}
  void fill() {
    for (uint32_t b = 0; b < a_.blocks(); ++b)
      if (is_mine(b)) deal_.fill(b, tiles_[b]);
  }
  void factorise() {
    expect(0);
    panel(0);
    for (int k = 0; k < count_; ++k) {
      if (k + 1 < count_) {
        expect(k + 1);
        for (int i = k + 1; i < count_; ++i) update(i, k + 1, k);
        panel(k + 1);
      }
      for (int j = k + 2; j < count_; ++j)
        for (int i = j; i < count_; ++i) update(i, j, k);
      for (int i = k; i < count_; ++i) forget(block(i, k));
    }
    MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
    sends_.clear();
  }
  const float *tile(uint32_t block) const { return tiles_[block]; }

private:
  struct Copy { // of another rank's tile
    std::unique_ptr<float[]> at;
    MPI_Request receive;
  };
  static uint32_t block(int i, int j) { return static_cast<uint32_t>(i * (i + 1) / 2 + j); }
  bool is_mine(uint32_t b) const { return deal_.owner(b) == rank(); }
  // Of tile (i, k) of the factor.
  std::set<uint32_t> readers(int i, int k) const {
    std::set<uint32_t> all;
    if (i == k)
      for (int r = k + 1; r < count_; ++r) all.insert(deal_.owner(block(r, k)));
    for (int j = k + 1; i > k && j <= i; ++j) all.insert(deal_.owner(block(i, j)));
    for (int r = i; i > k && r < count_; ++r) all.insert(deal_.owner(block(r, i)));
    all.erase(deal_.owner(block(i, k)));
    return all;
  }
  void expect(int k) {
    for (int i = k; i < count_; ++i) {
      const uint32_t b = block(i, k);
      if (is_mine(b) || !readers(i, k).contains(rank())) continue;
      Copy &c = copies_[b];
      c.at.reset(new float[a_.elements(b)]);
      MPI_Irecv(c.at.get(), static_cast<int>(a_.elements(b)), MPI_FLOAT, static_cast<int>(deal_.owner(b)), static_cast<int>(b), MPI_COMM_WORLD, &c.receive);
    }
  }
  float *read(int i, int j) {
    const uint32_t b = block(i, j);
    if (is_mine(b)) return tiles_[b];
    Copy &c = copies_[b];
    if (c.receive != MPI_REQUEST_NULL) MPI_Wait(&c.receive, MPI_STATUS_IGNORE);
    return c.at.get();
  }
  void forget(uint32_t b) { copies_.erase(b); }
  void send(int i, int k) {
    const uint32_t b = block(i, k);
    for (const uint32_t to : readers(i, k)) {
      sends_.emplace_back();
      MPI_Isend(tiles_[b], static_cast<int>(a_.elements(b)), MPI_FLOAT, static_cast<int>(to), static_cast<int>(b), MPI_COMM_WORLD, &sends_.back());
    }
  }
  void run(unsigned kernel, std::initializer_list<float *> operands) {
    if (!Cholesky::kernels[kernel].run(operands.begin(), tile_)) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  void panel(int k) {
    if (is_mine(block(k, k))) run(Cholesky::potrf, {tiles_[block(k, k)]}), send(k, k);
    for (int i = k + 1; i < count_; ++i)
      if (is_mine(block(i, k))) run(Cholesky::trsm, {read(k, k), tiles_[block(i, k)]}), send(i, k);
  }
  void update(int i, int j, int k) {
    if (!is_mine(block(i, j))) return;
    if (i == j) run(Cholesky::syrk, {read(i, k), tiles_[block(i, i)]});
    else run(Cholesky::gemm, {read(i, k), read(j, k), tiles_[block(i, j)]});
  }

  const Cholesky &a_;
  const network::Deal &deal_;
  int count_, tile_;
  network::Tiles tiles_;
  std::map<uint32_t, Copy> copies_;
  std::vector<MPI_Request> sends_;
};

int measure(const network::RankOptions &o) {
  if (o.what == "chain") {
    Chain chain;
    return network::measure_chain(chain, o);
  }
  if (o.what != "cholesky") return 3;
  cholesky::use_one_thread();
  network::tile_size = o.tile;
  const Cholesky a(static_cast<int>(o.n), o.tile);
  const network::Deal deal(static_cast<int>(o.n), o.tile, Ranks().ranks());
  Factorisation factorisation(a, deal, static_cast<int>(o.n) / o.tile, o.tile);
  return network::measure_cholesky(factorisation, o, a, deal);
}

} // namespace

int main(int argc, char **argv) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &granted);
  network::RankOptions o = network::rank_options(argc, argv);
  o.name = "mpi";
  const int status = measure(o);
  std::fflush(stdout);
  MPI_Finalize();
  return status;
}
