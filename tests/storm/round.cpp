#include "storm/round.hpp"

#include <cctype>

#include "storm/faults.hpp"
#include "stress/mixed_run.hpp"

namespace storm {
namespace {

using mixed::Site;

constexpr int kPlainCodelets = 32;

// Whose turn it is: any submitter that need not wait for tasks while another holds something back.
class Turns {
 public:
  Turns(std::vector<std::unique_ptr<mixed::Run>> &runs, int seed) : runs_(runs), random_(static_cast<uint64_t>(seed)) {}
  void play() {
    while (mixed::Run *r = next()) (void)r->step_once();
  }

 private:
  mixed::Run *next() {
    std::vector<mixed::Run *> may;
    for (auto &r : runs_) {
      if (r->next_step() < 0) continue;
      bool held = false;
      for (auto &other : runs_) held |= other != r && other->holds_back();
      if (!held || !r->next_waits()) may.push_back(r.get());
    }
    return may.empty() ? nullptr : may[random_() % may.size()];
  }
  std::vector<std::unique_ptr<mixed::Run>> &runs_;
  std::mt19937_64 random_;
};

std::string explain(consort_runtime *rt) {
  char text[4096];
  consort_explain(rt, {0}, text, sizeof text);
  return std::string(text) + "\n";
}

class Round {
 public:
  Round(const Case &c, Seen *seen, std::string *events) : case_(c), seen_(seen), events_(events) {}

  Verdict play() {
    forget_effects();
    const Settings settings(case_.machine);
    consort_runtime *rt = nullptr;
    if (const consort_status s = settings.start(&rt); s < 0) return refused(s, consort_error());
    try {
      auto site = std::make_unique<Site>(rt, !case_.machine.threads, kPlainCodelets);
      Verdict v = on(*site);
      if (!v.complaint.empty()) (void)site.release();  // bodies may still use it
      return v;
    } catch (const mixed::NoSite &e) {
      return refused(e.status, e.what());
    }
  }

 private:
  // A fault may keep a runtime from starting, or make a plugin unavailable that all programs need.
  Verdict refused(consort_status s, const char *text) {
    look_at_text(text);
    if (case_.machine.may_fail() && (effects().plugin || effects().demanded || effects().lost)) {
      seen_->faults(case_, effects(), 1);
      return {};
    }
    return {std::string("the runtime does not start: ") + consort_status_name(s) + ": " + text, ""};
  }

  Verdict on(Site &site) {
    const Machine &m = case_.machine;
    site.patience = m.threads ? 20'000'000'000 : m.simulated ? 100'000'000'000 : 100'000'000;
    site.policies = m.swaps;
    site.trees = m.simulated;
    site.trace = std::getenv("STORM_TRACE") != nullptr;
    site.events = events_;
    site.allocations = allocations;
    site.trouble.possible = m.may_fail();
    site.trouble.repeats = m.device.rfind("lost", 0) == 0;
    site.trouble.refused = struck_since_last_asked;
    site.trouble.seen = look_at_text;
    const auto ncores = static_cast<uint32_t>(site.cores.size());
    for (int i = 0; i < m.contexts && ncores > static_cast<uint32_t>((i + 1) * m.context_cores); ++i)
      site.open_context(m.context_policy.c_str(), ncores - static_cast<uint32_t>((i + 1) * m.context_cores),
                        static_cast<uint32_t>(m.context_cores));
    std::vector<std::unique_ptr<mixed::Run>> runs;
    for (const mixed::Program &p : case_.programs)
      runs.push_back(std::make_unique<mixed::Run>(p, site, static_cast<int>(runs.size())));
    if (m.allocation >= 0) arm_allocation(m.allocation);
    for (auto &r : runs) r->start();
    Turns(runs, case_.turns).play();
    for (auto &r : runs) r->finish();
    Verdict v = judge(site, runs);
    disarm_allocation();
    if (!v.complaint.empty()) {
      for (auto &r : runs) v.explained += r->unfinished();
      v.explained += explain(site.rt);
      for (auto &r : runs) (void)r.release();  // bodies may still name them
      return v;
    }
    look(site, runs);
    if (const consort_status s = site.rt.stop(); s < 0 && !site.trouble.possible && !may_fail_)
      return {std::string("stop answered ") + consort_status_name(s) + ": " + consort_error(), ""};
    return v;
  }

  Verdict judge(Site &site, std::vector<std::unique_ptr<mixed::Run>> &runs) {
    for (size_t i = 0; i < runs.size(); ++i) {
      may_fail_ |= runs[i]->oracle().anything_failed();
      if (runs[i]->complaints()) return {complaint_of(runs, i), ""};
    }
    const consort_status end = wait_all(site);
    if (end == CONSORT_E_TIMEOUT) return {"hang: not all tasks end", ""};
    if (end < 0 && !may_fail_ && !site.trouble.possible)
      return {std::string("the last wait answered ") + consort_status_name(end) + ": " + consort_error(), ""};
    for (size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]->complaints()) runs[i]->check();
      if (runs[i]->complaints()) return {complaint_of(runs, i), ""};
    }
    if (site.trouble.failures && !site.trouble.told)
      return {"a failure was lost: tasks failed, and no wait answered an error", ""};
    for (int i = 0; i < 3 && !site.trouble.possible; ++i) {
      consort_hold hold{};
      const consort_status s = consort_acquire(site.rt, site.shared[i], CONSORT_M_R, site.patience, &hold);
      if (s < 0) return {std::string("a shared sum is not readable: ") + consort_error(), ""};
      if (site.value[i] != site.want[i])
        return {"shared sum " + std::to_string(i) + " is " + std::to_string(site.value[i]) + ", should be " +
                    std::to_string(site.want[i]),
                ""};
      (void)consort_release(site.rt, hold);
    }
    (void)wait_all(site);
    return {};
  }
  // A wait that a fault refuses is asked again.
  consort_status wait_all(Site &site) {
    const auto ask = [&] {
      const mixed::MayFail inside(true);
      const consort_status s = consort_wait_all(site.rt, site.patience, 0);
      if (s < 0 && s != CONSORT_E_TIMEOUT) ++site.trouble.told, look_at_text(consort_error());
      return s;
    };
    const consort_status s = ask();
    if (s != CONSORT_E_NOMEM || !struck_since_last_asked()) return s;
    const consort_status again = ask();
    return again < 0 ? again : s;
  }
  std::string complaint_of(const std::vector<std::unique_ptr<mixed::Run>> &runs, size_t i) const {
    return (runs.size() > 1 ? "program " + std::to_string(i) + ", " : "") + runs[i]->first_complaint();
  }

  void look(Site &site, const std::vector<std::unique_ptr<mixed::Run>> &runs) {
    for (const auto &r : runs) seen_->program(case_, site, *r);
    seen_->machine(case_, site, effects());
    seen_->faults(case_, effects(), site.trouble.failures);
  }

  const Case &case_;
  Seen *seen_;
  std::string *events_;
  bool may_fail_ = false;
};

}  // namespace

Verdict run(const Case &c, Seen *seen, std::string *events) { return Round(c, seen, events).play(); }

std::string kind_of(const std::string &complaint) {
  std::string kind;
  for (const char c : complaint.substr(0, complaint.find(" (")))
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '-') kind += c;
  // The words of the complaint, without numbers.
  return kind.substr(0, 48);
}

}  // namespace storm
