#include "memory/window.hpp"

#include <algorithm>

namespace consort {

bool is_only(const Replica &r, uint32_t home) noexcept {
  const Replicas &all = *r.datum->extra()->replicas;
  if (r.windows.empty()) return !r.left && coherence::rule(all.valid, r.space, coherence::Event::kDrop).save;
  const auto is = [&](const Replica *w) { return is_only(*w, home); };
  if (is_apart(r)) return std::any_of(r.windows.begin(), r.windows.end(), is);
  // Its windows follow it: they are valid elsewhere only if it is valid at home, where all have a window.
  return all.is_valid(r) && !(all.valid & coherence::one(home));
}

bool is_worthless(const Replica &r) noexcept {
  if (r.windows.empty() || !is_apart(r)) return r.left || !r.datum->extra()->replicas->is_valid(r);
  return std::all_of(r.windows.begin(), r.windows.end(), [](const Replica *w) { return is_worthless(*w); });
}

void spread(const Replica &base) noexcept {
  if (base.windows.empty() || is_apart(base)) return;
  for (const Replica *w : base.windows) {
    if (w->left) continue;
    w->datum->extra()->replicas->valid |= coherence::one(base.space);
    spread(*w);
  }
}

}  // namespace consort
