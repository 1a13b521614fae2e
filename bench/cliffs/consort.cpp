// `cliffs` on Consort, by its C API: a description is filled once and only what differs is changed.
// Owned by main(), which submits. It must never look inside the library.
#include <consort/consort.h>

#include <cstring>

#include "oracle.hpp"
#include "slices.hpp"

namespace {

using cliffs::oracle;
using cliffs::Shape;

[[noreturn]] void die(const char *what) {
  std::fprintf(stderr, "%s: %s\n", what, consort_error());
  std::exit(1);
}

constexpr const char *title = "potrf(12,7)";  // of the tasks that have a name

const uint64_t *value_in(const consort_call *c) {
  const consort_arg &a = c->args[0];
  return a.kind == CONSORT_ARG_SCALAR ? &a.scalar : reinterpret_cast<const uint64_t *>(static_cast<uintptr_t>(a.scalar));
}

// Reads both ends of the value and no data.
consort_status empty(const consort_call *c) {
  if (c->nargs != 0) {
    const uint64_t *words = value_in(c);
    const uint64_t ends = words[0] + words[(c->args[0].bytes - 1) / 8];
    asm volatile("" ::"r"(ends));
  }
  return CONSORT_OK;
}

consort_status checked(const consort_call *c) {
  std::array<uint64_t *, cliffs::max_data> cells{};
  for (uint32_t k = 0; k < c->nviews; ++k) {
    const consort_addr at = static_cast<const consort_variable_view *>(c->views[k])->addr;
    cells[k] = reinterpret_cast<uint64_t *>(static_cast<uintptr_t>(at.base + at.off));
  }
  oracle.uses(cells);
  if (c->nargs != 0) oracle.value(value_in(c));
  oracle.ran(c->worker);
  return CONSORT_OK;
}

void nothing(void *, const consort_outcome *) {}
void counted(void *named, const consort_outcome *o) {
  oracle.done(o->status == CONSORT_OK && (named == nullptr || std::strcmp(o->name, title) == 0));
}

class Backend {
public:
  static constexpr const char *name = "consort";
  static bool has(const Shape &) { return true; }

  explicit Backend(const cliffs::Options &o) : workers_(o.workers) {
    const std::string workers = std::to_string(o.workers);
    std::vector<consort_setting> set{{"workers", workers.c_str()}};
    if (!o.policy.empty()) set.push_back({"scheduler", o.policy.c_str()});
    if (!o.pump.empty()) set.push_back({"pump", o.pump.c_str()});
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = set.data();
    s.nset = static_cast<uint32_t>(set.size());
    if (consort_start(&s, &rt_) < 0) die("start");
    bodies_[0] = add("empty", empty);
    bodies_[1] = add("checked", checked);
    read_cells_.assign(cliffs::pool, cliffs::unwritten);
    enter(read_cells_, read_);
    written_cells_.assign(cliffs::slots * cliffs::max_data, 0);
    enter(written_cells_, written_);
  }
  Backend(const Backend &) = delete;
  ~Backend() {
    for (const auto *ids : {&read_, &written_})
      for (consort_data_id d : *ids)
        if (consort_unregister(rt_, d) < 0) die("unregister");
    if (consort_stop(rt_) < 0) die("stop");
  }

  void run(const Shape &s, uint64_t n, bool check) {
    if (check) oracle.expect(s, n, written_cells_.data());
    std::array<consort_use, cliffs::max_data> use{};
    for (unsigned k = 0; k < s.data(); ++k) use[k].mode = k < s.reads ? CONSORT_M_R : CONSORT_M_RW;
    cliffs::Value value = cliffs::value_of(0, s.value);
    consort_arg arg{};
    arg.kind = s.value <= 8 ? CONSORT_ARG_SCALAR : CONSORT_ARG_BYTES;
    arg.bytes = s.value;
    arg.scalar = reinterpret_cast<uintptr_t>(&value);
    std::array<consort_task_id, cliffs::slots> ids{};
    consort_task_desc t = CONSORT_TASK_INIT;
    if (!s.named && !s.done && !s.after) t.size = CONSORT_TASK_BRIEF;
    t.codelet = bodies_[check];
    t.uses = use.data();
    t.nuses = s.data();
    t.args = &arg;
    t.nargs = s.value != 0;
    if (s.named) t.name = title;
    if (s.done) t.done = check ? counted : nothing;
    if (s.done && s.named) t.done_arg = &arg;  // any address: the callback looks at the name
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t slot = i % cliffs::slots;
      for (unsigned k = 0; k < s.reads; ++k) use[k].data = read_[(i + k) % cliffs::pool];
      for (unsigned k = 0; k < s.writes; ++k) use[s.reads + k].data = written_[slot * cliffs::max_data + k];
      if (s.value == 8) arg.scalar = i;
      else if (s.value != 0) fill(value, i, s.value, check);
      if (s.priority) t.priority = static_cast<int32_t>(i % 8);
      if (s.worker) t.worker = static_cast<uint32_t>(i % workers_);
      if (s.after) t.after = &ids[slot], t.nafter = i >= cliffs::slots;
      if (consort_submit(rt_, &t, s.id ? &ids[slot] : nullptr) < 0) die("submit");
    }
    if (consort_wait_all(rt_, CONSORT_FOREVER, 0) < 0) die("wait_all");
  }
  uint64_t verdict() const { return oracle.verdict(workers_); }

private:
  // The application makes the value in any case, so it is no part of what a value costs: timed, the ends alone.
  static void fill(cliffs::Value &v, uint64_t i, unsigned bytes, bool whole) {
    if (whole) v = cliffs::value_of(i, bytes);
    else v.word[0] = v.word[bytes / 8 - 1] = i;
  }
  consort_codelet_id add(const char *what, consort_call_fn *fn) {
    consort_impl impl{};
    impl.klass = "cpu";
    impl.fn = fn;
    consort_codelet c = CONSORT_CODELET_INIT;
    c.name = what;
    c.impls = &impl;
    c.nimpls = 1;
    consort_codelet_id id;
    if (consort_codelet_add(rt_, &c, &id) < 0) die("codelet_add");
    return id;
  }
  void enter(std::vector<uint64_t> &cells, std::vector<consort_data_id> &ids) {
    ids.resize(cells.size());
    for (size_t d = 0; d < cells.size(); ++d)
      if (consort_register_variable(rt_, &cells[d], sizeof cells[d], &ids[d]) < 0) die("register");
  }

  unsigned workers_;
  consort_runtime *rt_ = nullptr;
  consort_codelet_id bodies_[2] = {};
  std::vector<uint64_t> read_cells_, written_cells_;
  std::vector<consort_data_id> read_, written_;
};

}  // namespace

int main(int argc, char **argv) { return cliffs::main_of<Backend>(argc, argv); }
