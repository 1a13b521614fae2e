// regression — what tasks take in sizes that were never measured. A codelet gets a model that is a curve, a x^b + c, of the bytes of its
// data; tasks of some sizes run and are measured; then the program asks for a size between them, without submitting a task of it, and
// afterwards runs one to compare. Prints each size with what was told of it and what was measured.
#include "../clock.hpp"
#include "../example.hpp"

#include <consort/model.h>

#include <cmath>
#include <stdexcept>

namespace {

// sum := the sum of the roots of x.
consort_status norm(const consort_call *call) {
  const auto &x = *static_cast<const consort_vector_view *>(call->views[0]);
  const auto &sum = *static_cast<const consort_variable_view *>(call->views[1]);
  const double *of = static_cast<const double *>(consort_ptr(x.addr));
  double all = 0;
  for (uint64_t i = 0; i < x.n; ++i) all += std::sqrt(of[i]);
  *static_cast<double *>(consort_ptr(sum.addr)) = all;
  return CONSORT_OK;
}

void need(consort_status s) {
  if (s < 0) throw std::runtime_error(consort_error());
}

// A task on a vector of n elements: submitted, or only asked about.
class Task {
 public:
  Task(consort::Runtime &rt, consort_codelet_id codelet, const consort::Data<double &> &sum, double *x, std::size_t n) : rt_(rt) {
    const consort_vector_args shape{x, n, sizeof *x};
    const consort_data_desc desc{sizeof desc, 0, "vector", &shape, sizeof shape, "x"};
    need(consort_register(rt.c(), &desc, &uses_[0].data));
    uses_[0].mode = CONSORT_M_R;
    uses_[1] = {sum.id(), CONSORT_M_W, 0};
    task_.codelet = codelet;
    task_.uses = uses_;
    task_.nuses = 2;
  }
  ~Task() { (void)consort_unregister(rt_.c(), uses_[0].data); }
  Task(const Task &) = delete;
  Task &operator=(const Task &) = delete;

  void submit() const { need(consort_submit(rt_.c(), &task_, nullptr)); }
  // What the model says that it takes, in ns; NaN: nothing yet.
  double told() const {
    double ns = NAN;
    need(consort_expected(rt_.c(), &task_, 0, CONSORT_NONE, CONSORT_MODEL_TIME, &ns));
    return ns;
  }

 private:
  consort::Runtime &rt_;
  consort_use uses_[2] = {};
  consort_task_desc task_ = CONSORT_TASK_INIT;
};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 1 << 14, "elements of the smallest size"}, {"times", 12, "tasks of each size"}});
  const std::size_t n = size["n"], times = size["times"];
  consort::Settings settings = size.settings();
  settings.set("keep_models", "no").set("calibrate_samples", "4");
  consort::Runtime rt(settings);
  consort_impl impl{};
  impl.klass = "cpu";
  impl.fn = norm;
  consort_codelet desc = CONSORT_CODELET_INIT;
  desc.name = "norm";
  desc.impls = &impl;
  desc.nimpls = 1;
  desc.nmodes = CONSORT_NONE;
  consort_codelet_id codelet{};
  need(consort_codelet_add(rt.c(), &desc, &codelet));
  consort_model curve = CONSORT_MODEL_INIT;
  curve.kind = CONSORT_MODEL_POWER_OFFSET;
  need(consort_codelet_set_model(rt.c(), codelet, CONSORT_MODEL_TIME, &curve));

  bool right = true;
  double result = 0;
  auto sum = rt.variable(result, "sum");
  const auto run = [&](std::size_t of) {
    std::vector<double> v(of, 4);
    const Task task(rt, codelet, sum, v.data(), of);
    const uint64_t start = example::now_ns(rt);
    for (std::size_t i = 0; i < times; ++i) task.submit();
    rt.wait();
    const uint64_t end = example::now_ns(rt);
    right &= *sum.read() == 2 * static_cast<double>(of);
    return static_cast<double>(end - start) / static_cast<double>(times);
  };
  const auto told = [&](std::size_t of) { return Task(rt, codelet, sum, nullptr, of).told(); };  // no memory: its size alone counts
  const double before = told(3 * n);
  for (const std::size_t factor : {1, 2, 4, 8, 16}) std::printf("%9zu elements: %8.1f us measured\n", factor * n, run(factor * n) / 1000);
  const double expected = told(3 * n), measured = run(3 * n);
  std::printf("%9zu elements: %8.1f us told, %8.1f us measured then\n", 3 * n, expected / 1000, measured / 1000);
  return example::end(right && std::isnan(before) && expected > 0, "regression: nothing was known at first, %s of a size that had not run",
                      expected > 0 ? "a time was told" : "NO time was told");
} catch (const std::exception &e) {
  return example::failed(e);
}
