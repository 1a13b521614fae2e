#include "machine/link_calibration.hpp"

#include <algorithm>
#include <cstdio>

#include "machine/platform.hpp"
#include "machine/topology.hpp"
#include "plugin/config.hpp"
#include "plugin/registry.hpp"

namespace consort {
namespace {

constexpr double kSlowest = 1e4, kFastest = 1e14;   // bytes per second
constexpr double kShortest = 1, kLongest = 1e10;    // ns
constexpr double kUnlike = 100, kUnsteady = 2;

double median_of(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

std::string rate(double bytes_per_s) {
  char text[48];
  const bool slow = bytes_per_s < 1e6;
  std::snprintf(text, sizeof text, slow ? "%.3g B/s" : "%.3f GB/s", slow ? bytes_per_s : bytes_per_s * 1e-9);
  return text;
}

std::string time(double ns) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f us", ns * 1e-3);
  return text;
}

std::string line(std::string text) { return one_line(std::move(text)) + "\n"; }

// The text that identifies all that the figures of a device's links depend on.
std::string about(const Platform &platform, const Device &d) {
  const consort_plugin &p = *d.plugin->manifest;
  std::string text = line("machine " + machine_words(true));
  text += line("driver " + std::string(p.name) + " " + p.version + ", device " + std::to_string(d.index));
  for (uint32_t i = 0; i < p.nparams; ++i)
    if (const char *value = platform.config->param(p.name, p.params[i].key))
      text += line("with " + std::string(p.params[i].key) + " = " + value);
  for (const Space &s : platform.topology->spaces())
    if (s.device == &d) text += line("space " + std::string(s.desc.name) + " of " + s.desc.domain);
  for (const Unit &unit : platform.topology->units())
    if (unit.device == &d) text += line("unit " + std::string(unit.desc.klass) + " " + unit.desc.arch);
  return text;
}

struct Job {                          // a link without a figure
  uint32_t from, to;
  LinkMeasurement found;
  std::string why;                    // why there is no figure, or why it is implausible
};

class Settling {
 public:
  explicit Settling(Platform &platform) : platform_(platform), topology_(*platform.topology) {}

  void run(const std::string &mode) {
    const std::string folder = LinkCalibrationFile::standard_folder();
    for (const auto &d : topology_.devices()) {
      const LinkCalibrationFile file(folder, d->plugin->manifest->name, about(platform_, *d));
      LinkCalibrationFile::Figures kept;
      std::string why;
      const auto state = file.read(&kept, &why);
      const bool measure = mode != "stored";
      if (state == LinkCalibrationFile::State::kUnusable)
        platform_.log(1, "stored figures of links, " + file.path() + ": " + why +
                       (measure ? ": they are measured again"
                                : ": the drivers' words are used; consort topo --links measures"));
      std::vector<Job> jobs;
      for (uint32_t a = 0; a < spaces().size(); ++a)
        for (uint32_t b = 0; b < spaces().size(); ++b) {
          if (a == b || topology_.link(a, b).device != d.get()) continue;
          const auto stored = kept.find({name(a), name(b)});
          if (mode != "again" && stored != kept.end() && implausibility_of(stored->second, {}, {}).empty())
            topology_.believe(a, b, stored->second.bytes_per_s, stored->second.latency_ns, CONSORT_LINK_STORED);
          else if (measure)
            jobs.push_back({a, b, {}, {}});
        }
      if (jobs.empty()) continue;
      measure_all(jobs);
      for (const Job &j : jobs)
        if (j.why.empty()) kept[{name(j.from), name(j.to)}] = j.found;
      if (auto r = file.write(kept); !r) platform_.log(1, "figures of links are not kept: " + r.error().text);
    }
  }

 private:
  const std::vector<Space> &spaces() const { return topology_.spaces(); }
  std::string name(uint32_t space) const { return topology_.space_name(space); }

  void measure(Job &j) {
    const Device *d = topology_.link(j.from, j.to).device;
    if (d == dead_) return j.why = "an earlier copy over this device was never over", void();
    auto f = LinkBenchmark(platform_, j.from, j.to).measure();
    j.why = f ? "" : f.error().text;
    if (!f && f.error().status == CONSORT_E_TIMEOUT) dead_ = d;
    if (f) j.found = *f;
  }

  // Figures of comparable links: same driver, same device or another.
  std::vector<LinkMeasurement> others(const Job &j, const std::vector<Job> &jobs) const {
    std::vector<LinkMeasurement> found;
    for (uint32_t a = 0; a < spaces().size(); ++a)
      for (uint32_t b = 0; b < spaces().size(); ++b) {
        const Link &l = topology_.link(a, b), &own = topology_.link(j.from, j.to);
        if (l.device && l.source != CONSORT_LINK_TOLD && l.device->plugin == own.device->plugin)
          found.push_back({static_cast<double>(l.desc.bytes_per_s), static_cast<double>(l.desc.latency_ns), 1});
      }
    for (const Job &o : jobs)
      if (&o != &j && o.why.empty()) found.push_back(o.found);
    return found;
  }

  void measure_all(std::vector<Job> &jobs) {
    for (Job &j : jobs) measure(j);
    for (Job &j : jobs) {
      const Link &link = topology_.link(j.from, j.to);
      const LinkMeasurement told{static_cast<double>(link.desc.bytes_per_s), static_cast<double>(link.desc.latency_ns),
                                 1};
      if (j.why.empty() && !implausibility_of(j.found, told, others(j, jobs)).empty()) {
        measure(j);
        if (j.why.empty()) j.why = implausibility_of(j.found, told, others(j, jobs));
      }
      if (j.why.empty()) continue;
      platform_.log(1, "link " + name(j.from) + " -> " + name(j.to) + ", measured by driver \"" +
                     link.device->plugin->manifest->name + "\": " + j.why + "; the driver's word is used instead: " +
                     (told.bytes_per_s > 0 ? rate(told.bytes_per_s) : "nothing of its bandwidth, as 1 GB/s") + ", " +
                     time(told.latency_ns));
    }
    for (const Job &j : jobs)
      if (j.why.empty())
        topology_.believe(j.from, j.to, j.found.bytes_per_s, j.found.latency_ns, CONSORT_LINK_MEASURED);
  }

  Platform &platform_;
  Topology &topology_;
  const Device *dead_ = nullptr;      // a device that did not complete a copy
};

}  // namespace

std::string implausibility_of(const LinkMeasurement &f, const LinkMeasurement &told,
                        const std::vector<LinkMeasurement> &others) {
  const std::string figures = rate(f.bytes_per_s) + ", " + time(f.latency_ns) + ": ";
  if (!(f.bytes_per_s >= kSlowest && f.bytes_per_s <= kFastest)) return figures + "no link has such a bandwidth";
  if (!(f.latency_ns >= kShortest && f.latency_ns <= kLongest)) return figures + "no link has such a latency";
  if (f.spread > kUnsteady) return figures + "its repeats differ too much to be believed";
  const auto unlike = [](double x, double y) { return y > 0 && (x > y * kUnlike || x < y / kUnlike); };
  if (others.size() >= 2) {
    std::vector<double> rates, latencies;
    for (const LinkMeasurement &o : others) rates.push_back(o.bytes_per_s), latencies.push_back(o.latency_ns);
    if (const double usual = median_of(rates); unlike(f.bytes_per_s, usual))
      return figures + "links like it have " + rate(usual);
    if (const double usual = median_of(latencies); unlike(f.latency_ns, usual))
      return figures + "links like it have " + time(usual);
  }
  // Slower than the driver's figure is plausible; faster by this factor means that no bytes were copied.
  if (told.bytes_per_s > 0 && f.bytes_per_s > told.bytes_per_s * kUnlike)
    return figures + "over " + std::to_string(static_cast<int>(kUnlike)) + " times the driver's word";
  return "";
}

void settle_figures(Platform &platform) {
  std::string mode(platform.config->text("links"));
  if (mode == "auto") mode = platform.manual ? "told" : "stored";
  if (mode != "told") Settling(platform).run(mode);
}

}  // namespace consort
