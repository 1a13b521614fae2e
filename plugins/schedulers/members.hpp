// members.hpp — the workers that an instance serves, and helpers common to the policies of this folder.
//
// Headers of this folder are shared by the policies beside them; each plugin that includes one has its own copy.
// The owner's lock guards Members.
#pragma once
#include <consort/plugin/members.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace policies {

namespace plugin = consort::plugin;

inline constexpr std::size_t kLine = 128;  // two lines: neighbours are fetched in pairs

using plugin::SpinLock;
using plugin::Visit;
using plugin::Visitors;

// As the SDK's Members, with a fast path for machines of one unit class: every push and pop uses it.
struct Members {
  uint32_t nclasses = 1, words = 0, count = 0;
  std::vector<uint32_t> klass;       // by worker
  std::vector<char> serves;          // by worker
  std::vector<uint64_t> candidates;  // [class][word]
  bool chosen = false;               // change() was called; until then all workers of the topology serve

  explicit Members(const consort_topology &t) { look(t); }

  bool has(uint32_t worker) const noexcept { return worker < serves.size() && serves[worker]; }
  uint64_t classes_of(uint32_t worker) const noexcept {
    return nclasses == 1 ? ~uint64_t{0} : uint64_t{1} << klass[worker];
  }

  // The first call that adds initial workers restricts the set to them. Strong exception guarantee.
  void change(const consort_topology &t, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd) {
    Members next = *this;
    if (!chosen && na > 0 && add[0] < serves.size()) next.serves.assign(serves.size(), 0);
    next.chosen = true;
    next.serves.resize(std::max<std::size_t>(serves.size(), t.nworkers));
    for (uint32_t k = 0; k < na; ++k) next.serves[add[k]] = 1;
    for (uint32_t k = 0; k < nd; ++k)
      if (del[k] < next.serves.size()) next.serves[del[k]] = 0;
    next.look(t);
    std::swap(*this, next);
  }

  // One more task: names the workers of its classes, without `self`, which pops anyway.
  void announce(consort_wake *wake, uint64_t where, uint32_t self) const noexcept {
    if (!wake) return;
    for (uint32_t c = 0; c < nclasses; ++c)
      if (nclasses == 1 || (where >> c & 1))
        for (uint32_t i = 0; i < words && i < wake->nwords; ++i) wake->bits[i] |= candidates[uint64_t{c} * words + i];
    if (self / 64 < wake->nwords) wake->bits[self / 64] &= ~(uint64_t{1} << self % 64);
    ++wake->k;
  }

 private:
  void look(const consort_topology &t) {
    nclasses = t.nclasses ? t.nclasses : 1;
    klass.resize(std::max<std::size_t>(klass.size(), t.nworkers));
    serves.resize(klass.size(), !chosen);
    for (uint32_t w = 0; w < t.nworkers; ++w) klass[w] = t.workers[w].klass;
    words = static_cast<uint32_t>(serves.size() + 63) / 64;
    candidates.assign(uint64_t{nclasses} * words, 0);
    count = 0;
    for (uint32_t w = 0; w < serves.size(); ++w) {
      if (!serves[w] || klass[w] >= nclasses) continue;
      candidates[uint64_t{klass[w]} * words + w / 64] |= uint64_t{1} << w % 64;
      ++count;
    }
  }
};

// Whether all added workers are in the topology. Returns OK, or fails with the reason.
inline consort_status check_added(const consort_host *host, const consort_topology *t, const uint32_t *add,
                                  uint32_t na) noexcept {
  for (uint32_t k = 0; k < na; ++k)
    if (add[k] >= t->nworkers)
      return host->fail(host, CONSORT_E_INVAL,
                        "a worker was added that is not in the topology; pass the newer snapshot");
  return CONSORT_OK;
}

// Entry functions of a plugin without state.
inline consort_status init_nothing(const consort_host *, void **out) noexcept {
  *out = nullptr;
  return CONSORT_OK;
}
inline consort_status quiet_already(void *, uint64_t) noexcept { return CONSORT_OK; }
inline void fini_nothing(void *) noexcept {}

inline uint64_t number_param(const consort_host *host, const char *key, uint64_t fallback) noexcept {
  const char *text = host->param ? host->param(host, key) : nullptr;
  return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}

}  // namespace policies
