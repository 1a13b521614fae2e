// members.hpp — whom an instance serves, and who is inside it: what policies of this family have in common.
//
// Headers of this folder belong to all policies beside them; each plugin that includes one has a copy of its own.
// Members are guarded by their owner's lock.
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

// As the SDK's, with short ways for machines of one class of unit: every push and pop asks it.
struct Members {
  uint32_t nclasses = 1, words = 0, count = 0;
  std::vector<uint32_t> klass;       // by worker
  std::vector<char> serves;          // by worker
  std::vector<uint64_t> candidates;  // [class][word]
  bool chosen = false;               // change() has named some; until then all of the topology serve

  explicit Members(const consort_topology &t) { look(t); }

  bool has(uint32_t worker) const noexcept { return worker < serves.size() && serves[worker]; }
  uint64_t classes_of(uint32_t worker) const noexcept {
    return nclasses == 1 ? ~uint64_t{0} : uint64_t{1} << klass[worker];
  }

  // The first call that adds some of those at the start says which ones serve. May throw; nothing has changed then.
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

  // One task more: whom of its classes it may feed, but for `self`, who comes for it anyway.
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

// Are they all in the topology? Answers OK, or says which one is not.
inline consort_status check_added(const consort_host *host, const consort_topology *t, const uint32_t *add,
                                  uint32_t na) noexcept {
  for (uint32_t k = 0; k < na; ++k)
    if (add[k] >= t->nworkers)
      return host->fail(host, CONSORT_E_INVAL,
                        "a worker was added that is not in the topology; pass the newer snapshot");
  return CONSORT_OK;
}

// Of a plugin that has nothing to start or stop.
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
