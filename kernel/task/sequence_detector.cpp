#include "task/sequence_detector.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <string>

#include "machine/platform.hpp"

namespace consort {
namespace {

uint64_t mixed(uint64_t h, uint64_t x) noexcept {
  h = (h ^ x) * 0x9fb21c651e98df25;
  return h ^ h >> 32;
}

}  // namespace

void SequenceDetector::note(const consort_task_desc &d) noexcept {
  uint64_t h = mixed(hash, d.codelet.v);
  h = mixed(h, uint64_t{d.nuses} << 32 | d.nargs);
  h = mixed(h, uint64_t{d.worker} << 32 | static_cast<uint32_t>(d.priority));
  h = mixed(h, d.group.v ^ uint64_t{d.flags} << 32);
  for (uint32_t i = 0; d.uses && i < d.nuses; ++i) h = mixed(mixed(h, d.uses[i].data.v), d.uses[i].mode);
  for (uint32_t i = 0; d.args && i < d.nargs; ++i) h = mixed(h, uint64_t{d.args[i].kind} << 32 | d.args[i].bytes);
  hash = h;
  ++ntasks;
}

void SequenceDetector::cut(const Platform &rt) noexcept {
  if (!ntasks) return;
  ++clock;
  auto at =
      std::find_if(known.begin(), known.end(), [&](const Sequence &s) { return s.ntasks == ntasks && s.hash == hash; });
  if (at == known.end()) {
    at = std::min_element(known.begin(), known.end(),
                          [](const Sequence &a, const Sequence &b) { return a.seen < b.seen; });
    *at = {hash, ntasks, 0, clock};
  } else {
    ++at->times;
    at->seen = clock;
  }
  last_times = at->times;
  last_ntasks = ntasks;
  hash = ntasks = 0;
  if (told || last_times < kTell) return;
  told = true;
  try {
    rt.log(1,
           "a sequence of " + std::to_string(last_ntasks) + " tasks has come back " + std::to_string(last_times) +
               " times: recorded once (consort_record_begin) and replayed, its dependencies would be worked out once");
  } catch (const std::bad_alloc &) {
    // then it is not reported
  }
}

}  // namespace consort
