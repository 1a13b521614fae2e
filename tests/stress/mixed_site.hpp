// mixed_site.hpp — a runtime that many programs run on, one after the other or side by side, and what they share there.
#pragma once
#include "stress/mixed_oracle.hpp"

namespace mixed {

struct Setup {
  const char *scheduler, *workers, *window, *pump;
  int threads;
};
inline std::string text_of(const Setup &s) {
  return std::string(s.scheduler) + ", " + s.workers + " workers, window " + s.window + ", pump " + s.pump + ", " +
         std::to_string(s.threads) + " submitting";
}

// The cells of a datum as a body sees them, whatever its layout.
class Cells {
 public:
  Cells(const void *view, const Slot &x) : nx_(x.nx), ld_(x.nx) {
    const auto *v = static_cast<const consort_matrix_view *>(view);  // the others begin like it
    at_ = static_cast<int64_t *>(consort_ptr(v->addr));
    if (x.layout == Slot::kMatrix) ld_ = static_cast<int>(v->ld);
  }
  int64_t &operator[](size_t i) const { return at_[static_cast<int>(i) / nx_ * ld_ + static_cast<int>(i) % nx_]; }

 private:
  int64_t *at_;
  int nx_, ld_;
};

class Run;
struct Act {  // what a body is given: which step of which program it is
  Run *run = nullptr;
  int step = 0;
};
consort_status enact(const consort_call &, const Act &);

struct Site {
  static constexpr int kPlain = 256;  // tasks without arguments are told apart by their codelets
  Rt rt;
  Bodies bodies;
  uint32_t nworkers;
  bool manual;
  consort_codelet_id body;
  consort_codelet_id init[3], combine[3];  // by Slot::Layout
  struct Plain {
    std::atomic<const Act *> act{nullptr};
    consort_codelet_id id{0};
  } plain[kPlain];
  std::atomic<uint64_t> tags{1};  // first number that no program has had
  consort_data_id pad{0}, shared[3];
  int64_t value[3] = {}, want[3] = {};

  Site(const Setup &setup, uint64_t seed)
      : rt({{"cpu.topology", kFourCores},
            {"workers", setup.workers},
            {"scheduler", setup.scheduler},
            {"window", setup.window},
            {"pump", setup.pump},
            {"seed", std::to_string(seed % 1000).c_str()},
            {"spin_us", seed % 3 ? "5" : "50"},
            {"bypass", seed % 5 ? "32" : "0"}}),
        nworkers(static_cast<uint32_t>(std::atoi(setup.workers))),
        manual(*setup.pump == 'm') {
    body = codelet(rt, "step", [](const consort_call *c) { return enact(*c, *value_of<const Act *>(*c)); });
    for (Plain &p : plain)
      p.id = codelet(
          rt, "plain",
          [](const consort_call *c) {
            return enact(*c, *static_cast<const Plain *>(c->user)->act.load(std::memory_order_relaxed));
          },
          CONSORT_NONE, &p);
    for (int k = 0; k < 3; ++k) {
      auto *kind = &kinds_[k];
      init[k] = codelet(rt, "zero", zero, 1, kind);
      combine[k] = codelet(rt, "plus", unite, 2, kind);
      *kind = static_cast<Slot::Layout>(k);
    }
    const consort_vector_args eight{nullptr, 8, 8};
    const consort_data_desc d{sizeof d, 0, "vector", &eight, sizeof eight, "pad"};
    need(consort_register(rt, &d, &pad), "register");
    for (int i = 0; i < 3; ++i) shared[i] = variable_of(rt, &value[i]);
    need(consort_data_set_reduction(rt, shared[2], init[Slot::kVariable], combine[Slot::kVariable]), "reduction");
  }

 private:
  template <class T>
  static T value_of(const consort_call &c) {
    return ::consort_test::value<T>(c, 0);
  }

  // A view tells its sizes itself.
  static Slot shape_of(const void *view, Slot::Layout layout) {
    Slot x;
    x.layout = layout;
    if (layout == Slot::kVector) x.nx = static_cast<int>(static_cast<const consort_vector_view *>(view)->n);
    if (layout == Slot::kMatrix) {
      x.nx = static_cast<int>(static_cast<const consort_matrix_view *>(view)->nx);
      x.ny = static_cast<int>(static_cast<const consort_matrix_view *>(view)->ny);
    }
    return x;
  }
  static consort_status zero(const consort_call *c) {
    const Slot x = shape_of(c->views[0], *static_cast<const Slot::Layout *>(c->user));
    const Cells to(c->views[0], x);
    for (int i = 0; i < x.cells(); ++i) to[static_cast<size_t>(i)] = 0;
    return CONSORT_OK;
  }
  static consort_status unite(const consort_call *c) {
    const Slot x = shape_of(c->views[0], *static_cast<const Slot::Layout *>(c->user));
    const Cells to(c->views[0], x), from(c->views[1], x);
    for (int i = 0; i < x.cells(); ++i) {
      int64_t &v = to[static_cast<size_t>(i)];
      v = plus(v, from[static_cast<size_t>(i)]);
    }
    return CONSORT_OK;
  }
  Slot::Layout kinds_[3];
};

}  // namespace mixed
