// The chain and the Cholesky of ranks.hpp on StarPU-MPI 1.3: the same tasks in the same order, by starpu_mpi_task_insert().
#define OMPI_SKIP_MPICXX 1
#include "ranks.hpp"
#include <starpu_mpi.h>

namespace {

using bench::Cholesky;

void must(int code, const char *what) {
  if (code == 0) return;
  std::fprintf(stderr, "%s: error %d\n", what, code);
  std::exit(1);
}

class Ranks {
public:
  uint32_t rank() const { return static_cast<uint32_t>(starpu_mpi_world_rank()); }
  uint32_t ranks() const { return static_cast<uint32_t>(starpu_mpi_world_size()); }
  void barrier() { must(starpu_mpi_barrier(MPI_COMM_WORLD), "barrier"); }
  void wait() { must(starpu_mpi_wait_for_all(MPI_COMM_WORLD), "wait"); }

protected:
  // With the next tag. Memory of the owner, none elsewhere.
  starpu_data_handle_t datum(void *home, size_t n, size_t bytes, uint32_t owner) {
    starpu_data_handle_t h;
    const bool is_mine = owner == rank();
    starpu_vector_data_register(&h, is_mine ? STARPU_MAIN_RAM : -1, is_mine ? reinterpret_cast<uintptr_t>(home) : 0, static_cast<uint32_t>(n), bytes);
    starpu_mpi_data_register(h, static_cast<starpu_mpi_tag_t>(data_.size()), static_cast<int>(owner));
    data_.push_back(h);
    return h;
  }
  void unregister() {
    for (starpu_data_handle_t h : data_) starpu_data_unregister(h);
  }

private:
  std::vector<starpu_data_handle_t> data_;
};

class Chain : public Ranks {
public:
  Chain() {
    starpu_codelet_init(&step_);
    step_.cpu_funcs[0] = [](void *buffers[], void *args) {
      uint64_t i;
      starpu_codelet_unpack_args(args, &i);
      network::step(reinterpret_cast<uint64_t *>(STARPU_VECTOR_GET_PTR(buffers[0])), i);
    };
    step_.nbuffers = 1, step_.modes[0] = STARPU_RW, step_.name = "step";
    x_ = datum(&home_, 1, sizeof home_, 0);
  }
  ~Chain() { unregister(); }
  void chain(uint64_t from, uint64_t n) {
    for (uint64_t i = from; i < from + n; ++i)
      must(starpu_mpi_task_insert(MPI_COMM_WORLD, &step_, STARPU_RW, x_, STARPU_VALUE, &i, sizeof i, STARPU_EXECUTE_ON_NODE, static_cast<int>(i % ranks()), 0), "insert");
    wait();
  }
  uint64_t value() {
    starpu_data_acquire(x_, STARPU_R);
    const uint64_t x = home_;
    starpu_data_release(x_);
    return x;
  }

private:
  uint64_t home_ = 0;
  starpu_codelet step_;
  starpu_data_handle_t x_;
};

template <unsigned K> void body(void *buffers[], void *) {
  constexpr const bench::Kernel &kernel = Cholesky::kernels[K];
  float *operands[bench::max_operands] = {};
  for (unsigned k = 0; k < kernel.operands; ++k) operands[k] = reinterpret_cast<float *>(STARPU_VECTOR_GET_PTR(buffers[k]));
  if (!kernel.run(operands, network::tile_size)) std::exit(1);
}

const network::Deal *the_deal;

class Factorisation : public Ranks {
public:
  Factorisation(const Cholesky &a, const network::Deal &deal) : a_(a), tiles_(a, deal, rank()) {
    const starpu_cpu_func_t bodies[] = {body<0>, body<1>, body<2>, body<3>};
    constexpr starpu_data_access_mode modes[] = {STARPU_R, STARPU_W, STARPU_RW};
    for (unsigned k = 0; k < 4; ++k) {
      starpu_codelet_init(&codelets_[k]);
      codelets_[k].cpu_funcs[0] = bodies[k], codelets_[k].name = Cholesky::kernels[k].name;
      codelets_[k].nbuffers = static_cast<int>(Cholesky::kernels[k].operands);
      for (unsigned u = 0; u < Cholesky::kernels[k].operands; ++u) codelets_[k].modes[u] = modes[static_cast<int>(Cholesky::kernels[k].access[u])];
    }
    starpu_codelet_init(&fill_);
    fill_.cpu_funcs[0] = [](void *buffers[], void *args) {
      uint32_t b;
      starpu_codelet_unpack_args(args, &b);
      the_deal->fill(b, reinterpret_cast<float *>(STARPU_VECTOR_GET_PTR(buffers[0])));
    };
    fill_.nbuffers = 1, fill_.modes[0] = STARPU_W, fill_.name = "fill";
    for (uint32_t b = 0; b < a.blocks(); ++b) blocks_.push_back(datum(tiles_[b], a.elements(b), sizeof(float), deal.owner(b)));
  }
  ~Factorisation() { unregister(); }
  void fill() {
    for (uint32_t b = 0; b < a_.blocks(); ++b)
      must(starpu_mpi_task_insert(MPI_COMM_WORLD, &fill_, STARPU_W, blocks_[b], STARPU_VALUE, &b, sizeof b, 0), "insert");
    wait();
  }
  void factorise() {
    a_.each_task([&](const bench::Task &t) {
      starpu_codelet *const c = &codelets_[t.kernel];
      const auto x = [&](unsigned k) { return blocks_[t.block[k]]; };
      int code = 0;
      switch (t.kernel) {
      case Cholesky::potrf: code = starpu_mpi_task_insert(MPI_COMM_WORLD, c, STARPU_PRIORITY, t.priority, STARPU_RW, x(0), 0); break;
      case Cholesky::gemm: code = starpu_mpi_task_insert(MPI_COMM_WORLD, c, STARPU_PRIORITY, t.priority, STARPU_R, x(0), STARPU_R, x(1), STARPU_RW, x(2), 0); break;
      default: code = starpu_mpi_task_insert(MPI_COMM_WORLD, c, STARPU_PRIORITY, t.priority, STARPU_R, x(0), STARPU_RW, x(1), 0);
      }
      must(code, "insert");
    });
    wait();
  }
  const float *tile(uint32_t block) const { return tiles_[block]; }

private:
  const Cholesky &a_;
  network::Tiles tiles_;
  starpu_codelet codelets_[4], fill_;
  std::vector<starpu_data_handle_t> blocks_;
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
  the_deal = &deal;
  Factorisation factorisation(a, deal);
  return network::measure_cholesky(factorisation, o, a, deal);
}

} // namespace

int main(int argc, char **argv) {
  network::RankOptions o = network::rank_options(argc, argv);
  o.name = "starpu";
  setenv("STARPU_SILENT", "1", 1);
  setenv("STARPU_HOME", "/tmp/consort-bench-starpu", 0);
  setenv("STARPU_CALIBRATE", "0", 1);
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = 1, conf.ncuda = 0, conf.nopencl = 0;
  conf.sched_policy_name = o.what == "cholesky" ? "prio" : "eager";
  must(starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, &conf), "init");
  const int status = measure(o);
  std::fflush(stdout);
  starpu_mpi_shutdown();
  return status;
}
