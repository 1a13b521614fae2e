// restart — a job of several ranks that is killed, and goes on from its last checkpoint: heat along a bar, cut into bands of
// points. A step needs the points beside a band, which are data of their own, held twice, for even and odd steps. Every few
// steps the bands are stored; the points beside them follow from these. Run it by
//   consort run -n 4 --checkpoint FOLDER --restarts 1 -- restart --kill 30
// where the last rank kills itself at step 30, once, and again by `-n 2` and a larger --steps, which goes on from there.
// Each rank compares its bands with a plain loop.
#include <consort/distributed.hpp>

#include <array>
#include <csignal>
#include <span>

#include "../example.hpp"

namespace {

using consort::read, consort::readwrite, consort::write;
using Points = std::span<double>;
using Constant = std::span<const double>;

constexpr double kOutside = 10;

// One step of n points, with the points beside them.
void advance(double *at, size_t n, double left, double right) {
  for (size_t i = 0; i < n; ++i) {
    const double here = at[i], next = i + 1 < n ? at[i + 1] : right;
    at[i] = 0.25 * left + 0.5 * here + 0.25 * next;
    left = here;
  }
}
void publish(Constant band, Points ends) { ends[0] = band.front(), ends[1] = band.back(); }

const consort::Codelet ends_of{"ends", consort::cpu([](Constant band, Points ends) { publish(band, ends); })};
const consort::Codelet step{"step", consort::cpu([](Points band, Constant left, Constant right, Points ends) {
  advance(band.data(), band.size(), left[1], right[0]);
  publish(band, ends);
})};

double start(size_t i) { return static_cast<double>(i * 7919 % 1000) / 100; }

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 5000, "points"}, {"bands", 8, "bands"}, {"steps", 50, "steps"},
                                           {"every", 10, "steps from checkpoint to checkpoint"},
                                           {"kill", 1u << 30, "step at which the last rank kills itself, unless it goes on from a checkpoint"}});
  const size_t n = size["n"], steps = size["steps"], every = size["every"], bands = std::min(size["bands"], n);
  consort::Runtime rt(size.settings());
  consort::Job job(rt);
  const auto first = [&](size_t b) { return b * n / bands; };
  const auto owner = [&](size_t b) { return static_cast<uint32_t>(b * job.ranks() / bands); };

  std::vector<double> bar(n), expected(n);
  std::vector<double> outside(2, kOutside);
  for (size_t i = 0; i < n; ++i) bar[i] = expected[i] = start(i);
  size_t begun = 0;
  {
    const auto border = rt.vector(outside, "border");  // the same on all ranks: none of the job
    std::vector<consort::Data<Points>> band;
    std::vector<std::array<consort::Data<Points>, 2>> ends(bands);
    for (size_t b = 0; b < bands; ++b) {
      const size_t points = first(b + 1) - first(b);
      band.push_back(owner(b) == job.rank() ? rt.vector(Points(bar.data() + first(b), points)) : rt.vector<double>(points));
      job.distribute(band[b], 3 * b, owner(b));
      for (size_t parity : {0, 1}) {
        ends[b][parity] = rt.vector<double>(2);
        job.distribute(ends[b][parity], 3 * b + 1 + parity, owner(b));
      }
    }
    const auto found = job.checkpoint_found();
    if (found) {
      job.restore(band);
      begun = std::min(found->number, steps);
    }
    for (size_t b = 0; b < bands; ++b) job.submit(ends_of, read(band[b]), write(ends[b][begun % 2]));
    consort::Task stored;
    for (size_t s = begun; s < steps; ++s) {
      if (s == size["kill"] && !found && job.rank() + 1 == job.ranks()) {
        if (stored) stored.wait();  // so that there is something to go on from
        std::raise(SIGKILL);
      }
      for (size_t b = 0; b < bands; ++b) {
        const auto &left = b > 0 ? ends[b - 1][s % 2] : border;
        const auto &right = b + 1 < bands ? ends[b + 1][s % 2] : border;
        job.submit(step, readwrite(band[b]), read(left), read(right), write(ends[b][(s + 1) % 2]));
      }
      if ((s + 1) % every == 0 && !job.checkpoint_folder().empty()) stored = job.checkpoint("step", s + 1, band);
    }
    rt.wait_all();
  }
  for (size_t s = 0; s < steps; ++s) advance(expected.data(), n, kOutside, kOutside);
  double error = 0;
  for (size_t b = 0; b < bands; ++b)
    for (size_t i = first(b); owner(b) == job.rank() && i < first(b + 1); ++i) error = std::max(error, std::abs(bar[i] - expected[i]));

  // The largest error of all ranks.
  double largest = error;
  std::vector<consort::Data<double &>> errors;
  for (uint32_t r = 0; r < job.ranks(); ++r) {
    errors.push_back(r == job.rank() ? rt.variable(error) : rt.variable<double>());
    job.distribute(errors[r], 1'000'000 + r, r);
    job.fetch(errors[r], 0);
    if (job.rank() == 0) largest = std::max(largest, static_cast<double>(*errors[r].read()));
  }
  rt.wait_all();
  if (job.rank() > 0) return error < 1e-12 ? 0 : 1;
  return example::end(largest < 1e-12, "restart: %zu points in %zu bands on %u ranks, steps %zu to %zu, largest error %g", n, bands,
                      job.ranks(), begun, steps, largest);
} catch (const std::exception &e) {
  return example::failed(e);
}
