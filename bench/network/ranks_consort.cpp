// The chain and the Cholesky of ranks.hpp on Consort, by its C API; and tasks that are not this rank's to run.
#include "ranks.hpp"
#include <consort/distributed.h>

namespace {

using network::RankOptions, bench::Cholesky;

void must(consort_status s, const char *what) {
  if (s >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, consort_error());
  std::exit(1);
}

template <class T> T *operand(const consort_call *c, unsigned k) {
  return static_cast<T *>(consort_ptr(static_cast<const consort_vector_view *>(c->views[k])->addr));
}
consort_arg number(uint64_t value) {
  consort_arg a{};
  a.kind = CONSORT_ARG_SCALAR, a.bytes = sizeof value, a.scalar = value;
  return a;
}

class Runtime {
public:
  Runtime() {
    const consort_setting set[] = {{"workers", "1"}};
    consort_settings settings = CONSORT_SETTINGS_INIT;
    settings.set = set, settings.nset = 1;
    must(consort_start(&settings, &rt_), "start");
    must(consort_job_join(rt_, nullptr), "join");
    info_.size = sizeof info_;
    must(consort_job_get(rt_, &info_), "job");
  }
  Runtime(const Runtime &) = delete;
  Runtime &operator=(const Runtime &) = delete;
  ~Runtime() {
    for (const consort_data_id id : data_) must(consort_unregister(rt_, id), "unregister");
    must(consort_stop(rt_), "stop");
  }

  uint32_t rank() const { return info_.rank; }
  uint32_t ranks() const { return info_.nranks; }
  void barrier() { must(consort_job_barrier(rt_, CONSORT_FOREVER), "barrier"); }
  void wait() { must(consort_wait_all(rt_, CONSORT_FOREVER, 0), "wait"); }

  consort_codelet_id codelet(const char *name, consort_call_fn *fn) {
    consort_impl impl{};
    impl.klass = "cpu", impl.fn = fn;
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = name, d.impls = &impl, d.nimpls = 1;
    consort_codelet_id id{};
    must(consort_codelet_add(rt_, &d, &id), "codelet");
    return id;
  }
  // Of the job, with the next tag; `home` is the owner's.
  consort_data_id datum(void *home, uint64_t n, uint64_t bytes, uint32_t owner) {
    consort_data_id id{};
    must(consort_register_vector(rt_, owner == rank() ? home : nullptr, n, bytes, &id), "register");
    must(consort_data_distribute(rt_, id, data_.size(), owner), "distribute");
    data_.push_back(id);
    return id;
  }
  void submit(consort_codelet_id c, const consort_use *uses, unsigned nuses, const consort_arg *args, unsigned nargs, int priority = 0,
              const consort_place *place = nullptr) {
    consort_task_desc t{};
    t.size = CONSORT_TASK_BRIEF;
    t.codelet = c, t.worker = CONSORT_NONE, t.priority = priority;
    t.uses = uses, t.nuses = nuses, t.args = args, t.nargs = nargs;
    must(consort_job_submit(rt_, &t, place, nullptr), "submit");
  }

private:
  consort_runtime *rt_ = nullptr;
  consort_job_info info_{};
  std::vector<consort_data_id> data_;
};

class Chain : public Runtime {
public:
  Chain()
      : step_(codelet("step", [](const consort_call *c) -> consort_status {
          network::step(operand<uint64_t>(c, 0), c->args[0].scalar);
          return CONSORT_OK;
        })),
        x_(datum(&home_, 1, sizeof home_, 0)) {}
  void chain(uint64_t from, uint64_t n) {
    for (uint64_t i = from; i < from + n; ++i) {
      const consort_use use{x_, CONSORT_M_RW, 0};
      const consort_arg arg = number(i);
      consort_place place = CONSORT_PLACE_INIT;
      place.flags = CONSORT_PLACE_RANK, place.rank = static_cast<uint32_t>(i % ranks());
      submit(step_, &use, 1, &arg, 1, 0, &place);
    }
    wait();
  }
  uint64_t value() const { return home_; }

private:
  uint64_t home_ = 0; // read when nothing is pending
  consort_codelet_id step_;
  consort_data_id x_;
};

template <unsigned K> consort_status body(const consort_call *c) {
  constexpr const bench::Kernel &kernel = Cholesky::kernels[K];
  float *operands[bench::max_operands] = {};
  for (unsigned k = 0; k < kernel.operands; ++k) operands[k] = operand<float>(c, k);
  return kernel.run(operands, network::tile_size) ? CONSORT_OK : consort_fail(CONSORT_E_INVAL, "the matrix has no such factorisation");
}

const network::Deal *the_deal;

class Factorisation : public Runtime {
public:
  Factorisation(const Cholesky &a, const network::Deal &deal)
      : a_(a), tiles_(a, deal, rank()), codelets_{codelet("potrf", body<0>), codelet("trsm", body<1>), codelet("syrk", body<2>), codelet("gemm", body<3>)},
        fill_(codelet("fill", [](const consort_call *c) -> consort_status {
          the_deal->fill(static_cast<uint32_t>(c->args[0].scalar), operand<float>(c, 0));
          return CONSORT_OK;
        })) {
    for (uint32_t b = 0; b < a.blocks(); ++b) blocks_.push_back(datum(tiles_[b], a.elements(b), sizeof(float), deal.owner(b)));
  }
  void fill() {
    for (uint32_t b = 0; b < a_.blocks(); ++b) {
      const consort_use use{blocks_[b], CONSORT_M_W, 0};
      const consort_arg arg = number(b);
      submit(fill_, &use, 1, &arg, 1);
    }
    wait();
  }
  void factorise() {
    constexpr uint32_t modes[] = {CONSORT_M_R, CONSORT_M_W, CONSORT_M_RW};
    a_.each_task([&](const bench::Task &task) {
      const bench::Kernel &kernel = Cholesky::kernels[task.kernel];
      consort_use use[bench::max_operands];
      for (unsigned k = 0; k < kernel.operands; ++k) use[k] = {blocks_[task.block[k]], modes[static_cast<int>(kernel.access[k])], 0};
      submit(codelets_[task.kernel], use, kernel.operands, nullptr, 0, task.priority);
    });
    wait();
  }
  const float *tile(uint32_t block) const { return tiles_[block]; }

private:
  const Cholesky &a_;
  network::Tiles tiles_;
  consort_codelet_id codelets_[4], fill_;
  std::vector<consort_data_id> blocks_;
};

struct Dropped {
  Runtime &runtime;
  consort_codelet_id codelet;
  const std::vector<consort_data_id> &data;
};
} // namespace

// Counted by callgrind, by its name.
extern "C" [[gnu::noinline]] void submit_dropped(const Dropped &d, uint64_t n) {
  const uint64_t data = d.data.size();
  for (uint64_t i = 0; i < n; ++i) {
    const consort_use uses[] = {{d.data[i * 7 % data], CONSORT_M_R, 0}, {d.data[(i * 7 + 3) % data], CONSORT_M_RW, 0}};
    const consort_arg arg = number(1);
    d.runtime.submit(d.codelet, uses, 2, &arg, 1);
  }
}

namespace {
// Rank 0 submits tasks that rank 1 runs. Rank 1 submits them when rank 0 has, so that only rank 0 works meanwhile.
int measure_dropped(const RankOptions &o) {
  constexpr uint64_t data = 1000;
  static std::atomic<uint64_t> ran{0};
  Runtime runtime;
  std::vector<uint64_t> home(data);
  std::vector<consort_data_id> all;
  for (uint64_t i = 0; i < data; ++i) all.push_back(runtime.datum(&home[i], 1, sizeof home[i], 1));
  const consort_codelet_id touch = runtime.codelet("touch", [](const consort_call *c) -> consort_status {
    *operand<uint64_t>(c, 1) += *operand<const uint64_t>(c, 0) * 0 + c->args[0].scalar;
    ran.fetch_add(1, std::memory_order_relaxed); // relaxed: read when the tasks have ended
    return CONSORT_OK;
  });
  const Dropped what{runtime, touch, all};
  std::vector<double> ns;
  uint64_t submitted = 0;
  for (unsigned rep = 0; rep <= o.reps; ++rep) {
    const uint64_t n = rep ? o.n : o.n / 10 + 1; // warm-up
    const double t0 = bench::now_ns();
    if (runtime.rank() == 0) submit_dropped(what, n);
    if (rep) ns.push_back((bench::now_ns() - t0) / static_cast<double>(n));
    runtime.barrier();
    if (runtime.rank() == 1) submit_dropped(what, n), runtime.wait();
    runtime.barrier();
    submitted += n;
  }
  uint64_t sum = 0;
  for (const uint64_t x : home) sum += x;
  const uint64_t expected = runtime.rank() == 1 ? submitted : 0;
  const bool good = ran.load(std::memory_order_relaxed) == expected && sum == expected;
  if (!good) std::fprintf(stderr, "rank %u ran %lu tasks of %lu, and their sum is %lu\n", runtime.rank(), ran.load(std::memory_order_relaxed), expected, sum);
  if (runtime.rank() == 0) std::printf("{\"runtime\": \"consort\", \"n\": %lu, \"ns\": %.2f, \"wrong\": %d}\n", o.n, bench::median(ns), !good);
  return !good;
}

} // namespace

int main(int argc, char **argv) {
  const RankOptions o = network::rank_options(argc, argv);
  if (o.what == "dropped") return measure_dropped(o);
  if (o.what == "chain") {
    Chain chain;
    return network::measure_chain(chain, o);
  }
  cholesky::use_one_thread();
  network::tile_size = o.tile;
  const Cholesky a(static_cast<int>(o.n), o.tile);
  const char *const ranks = std::getenv("CONSORT_RANKS");
  uint32_t n = ranks ? static_cast<uint32_t>(std::atoi(ranks)) : 1;
  if (const char *const size = std::getenv("OMPI_COMM_WORLD_SIZE")) n = static_cast<uint32_t>(std::atoi(size));
  const network::Deal deal(static_cast<int>(o.n), o.tile, n);
  the_deal = &deal;
  Factorisation factorisation(a, deal);
  if (factorisation.ranks() != n) return std::fprintf(stderr, "%u ranks have come, not %u\n", factorisation.ranks(), n), 1;
  return network::measure_cholesky(factorisation, o, a, deal);
}
