// Filters: whether the children of a datum tile it.
#include "layout.hpp"

namespace conform {
namespace {

constexpr uint32_t kMostChildren = 512;

struct Child {
  Pod shape, view;
};

// One partition of one datum.
struct Cut {
  Layout &parent, &child;
  const consort_filter &filter;
  const Guarded params;                // sealed, and ends at an inaccessible page
  const Sample &sample;

  const void *p() const { return params.size() ? params.data() : nullptr; }
  uint32_t count(const Pod &shape) const {
    parent.t.doing("count() of filter \"%s\" on %s", filter.name, parent.text(shape).c_str());
    return filter.count(shape.at(), p());
  }
  // Makes child i of one view; need() that this succeeds.
  Child make(const Datum &d, uint32_t i) const {
    Child c;
    parent.t.doing("shape() of child %u of filter \"%s\" on %s", i, filter.name, parent.text(d.shape).c_str());
    const consort_status s = filter.shape(d.shape.at(), p(), i, c.shape.at());
    parent.t.need(s >= 0, "count() of filter \"%s\" answers more than %u, but shape() of that child status %d (%s)", filter.name, i, s,
                  parent.text(d.shape).c_str());
    parent.t.doing("alias() of child %u of filter \"%s\"", i, filter.name);
    const consort_status a = filter.alias(d.shape.at(), d.view.at(), p(), i, c.view.at());
    parent.t.need(a >= 0, "count() of filter \"%s\" answers more than %u, but alias() of that child status %d (%s)", filter.name, i, a,
                  parent.text(d.shape).c_str());
    return c;
  }
};

// Visits the partitions of all samples with children. Skips the case if there are none.
void each_cut(Layout &l, const std::function<void(const Cut &, const Datum &, uint32_t n)> &f) {
  if (!l.ops.nfilters) l.t.skip("it has no filters");
  if (l.packs_only()) l.t.skip("it says CONSORT_IF_PACK_ONLY: its parts have no place of their own");
  uint32_t seen = 0;
  std::string missing;
  for (const Sample &s : l.samples)
    for (const Partition &p : s.partitions) {
      const consort_filter &filter = l.ops.filters[p.filter];
      Layout *child = l.find(filter.child);
      if (!child) missing = filter.child;
      if (!child || child->packs_only()) continue;
      const Cut cut{l, *child, filter, {p.params.words.data(), p.params.size}, s};
      const Datum home = l.home(s);
      const uint32_t n = cut.count(home.shape);
      if (n == 0 || n > kMostChildren) continue;
      ++seen;
      f(cut, home, n);
    }
  if (seen) return;
  if (!missing.empty())
    l.t.skip("its parts are of interface \"%s\", which is not found: name its folder in CONSORT_PLUGIN_PATH", missing.c_str());
  l.t.skip("no sample can be partitioned: let the table of samples name parameters (consort/samples.h)");
}

// Returns the bytes of the parent's arena that the child may write.
Moves written_by(const Cut &c, const Child &child, const Arena &parents) {
  const Datum replica = c.child.replica(child.shape);
  return follow(c.parent.t, c.child.runs(child.shape, replica.view, child.view), *replica.arena, parents, "a copy into a child");
}

Moves whole_of(Layout &l, const Datum &home) {
  const Datum replica = l.replica(home.shape);
  return follow(l.t, l.runs(home.shape, replica.view, home.view), *replica.arena, *home.arena, "a copy home");
}

struct Tiling {
  uint32_t outside = 0, twice = 0, gaps = 0;
};
Tiling tiling_of(const Cut &c, const Datum &home, uint32_t n) {
  Tiling found;
  const Moves whole = whole_of(c.parent, home);
  std::vector<uint32_t> owners(home.arena->size());
  for (uint32_t i = 0; i < n && whole.good; ++i) {
    const Moves mine = written_by(c, c.make(home, i), *home.arena);
    if (!mine.good) return found;
    for (size_t k = 0; k < owners.size(); ++k) {
      if (mine.from[k] == kNowhere) continue;
      found.outside += whole.from[k] == kNowhere;
      found.twice += owners[k]++ == 1;
    }
  }
  for (size_t k = 0; k < owners.size() && whole.good; ++k) found.gaps += whole.from[k] != kNowhere && !owners[k];
  return found;
}

}  // namespace

CONFORM_CASE(I, 40, behaviour, children_share_no_byte) {
  Layout l(t);
  each_cut(l, [&](const Cut &c, const Datum &home, uint32_t n) {
    const Tiling found = tiling_of(c, home, n);
    t.check(!found.outside, "children of filter \"%s\" have %u bytes that are not their parent's (%s)", c.filter.name, found.outside,
            l.text(home.shape).c_str());
    if (!(c.filter.flags & CONSORT_FI_OVERLAP))
      t.check(!found.twice, "%u bytes are in more than one child of filter \"%s\", which does not say CONSORT_FI_OVERLAP (%s)", found.twice,
              c.filter.name, l.text(home.shape).c_str());
  });
}

CONFORM_CASE(I, 41, behaviour, children_leave_no_gap) {
  Layout l(t);
  uint32_t covering = 0;
  each_cut(l, [&](const Cut &c, const Datum &home, uint32_t n) {
    if (!(c.filter.flags & CONSORT_FI_COVER)) return;
    ++covering;
    const Tiling found = tiling_of(c, home, n);
    t.check(!found.gaps, "%u bytes are in no child of filter \"%s\", which says CONSORT_FI_COVER (%s)", found.gaps, c.filter.name,
            l.text(home.shape).c_str());
  });
  if (!covering) t.skip("no filter says CONSORT_FI_COVER");
}

CONFORM_CASE(I, 42, behaviour, children_of_replicas_are_the_same) {
  Layout l(t);
  each_cut(l, [&](const Cut &c, const Datum &home, uint32_t n) {
    const Datum replica = l.replica(home.shape);
    const std::string text = l.text(home.shape);
    const Moves whole = follow(t, l.runs(home.shape, home.view, replica.view), *home.arena, *replica.arena, "a copy of the whole");
    if (!whole.good) return;
    for (uint32_t i = 0; i < n; ++i) {
      const Child there = c.make(home, i), here = c.make(replica, i);
      t.check(c.child.wire(there.shape) == c.child.wire(here.shape), "child %u of filter \"%s\" has two shapes (%s)", i, c.filter.name, text.c_str());
      const Moves part = follow(t, c.child.runs(there.shape, there.view, here.view), *home.arena, *replica.arena, "a copy of a child");
      if (!part.good) return;
      bool same = true;
      for (size_t k = 0; k < part.from.size(); ++k) same = same && (part.from[k] == kNowhere || part.from[k] == whole.from[k]);
      t.check(same, "child %u of filter \"%s\" copies bytes elsewhere than its parent does (%s)", i, c.filter.name, text.c_str());
      const Datum own = c.child.replica(there.shape);
      const Moves all = follow(t, c.child.runs(there.shape, there.view, own.view), *home.arena, *own.arena, "a copy of a child");
      const uint64_t bytes = c.child.ops.bytes(there.shape.at());
      t.check(all.bytes == bytes, "the shape of child %u of filter \"%s\" has %llu bytes, its view %llu (%s)", i, c.filter.name,
              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(all.bytes), text.c_str());
    }
  });
}

CONFORM_CASE(I, 43, fault, filters_refuse_what_is_no_child) {
  Layout l(t);
  each_cut(l, [&](const Cut &c, const Datum &home, uint32_t n) {
    for (const uint32_t i : {n, n + 1, UINT32_MAX}) {
      Child none;
      t.doing("shape() of child %u of %u of filter \"%s\"", i, n, c.filter.name);
      const consort_status s = c.filter.shape(home.shape.at(), c.p(), i, none.shape.at());
      t.check(s < 0, "filter \"%s\" has %u children, but shape() of child %u answers status %d", c.filter.name, n, i, s);
      t.doing("alias() of child %u of %u of filter \"%s\"", i, n, c.filter.name);
      const consort_status a = c.filter.alias(home.shape.at(), home.view.at(), c.p(), i, none.view.at());
      t.check(a < 0, "filter \"%s\" has %u children, but alias() of child %u answers status %d", c.filter.name, n, i, a);
    }
  });
}

CONFORM_CASE(I, 44, fault, filters_believe_nothing) {
  Layout l(t);
  if (!l.ops.nfilters) t.skip("it has no filters");
  if (l.packs_only()) t.skip("it says CONSORT_IF_PACK_ONLY: its parts have no place of their own");
  uint32_t tried = 0, taken = 0;
  for (const Sample &s : l.samples)
    for (uint32_t f = 0; f < l.ops.nfilters; ++f) {
      const consort_filter &filter = l.ops.filters[f];
      Layout *child = l.find(filter.child);
      if (!filter.params_size || !child || child->packs_only()) continue;
      const Datum home = l.home(s);
      for (uint64_t round = 0; round < t.scaled(8, 200) && !t.failed(); ++round) {
        std::vector<uint32_t> words((filter.params_size + 3) / 4);
        for (uint32_t &w : words)
          w = static_cast<uint32_t>(t.random().one_in(4) ? t.random().next() : t.random().one_in(6) ? UINT32_MAX : t.random().below(9));
        size_t bytes = filter.params_size;
        if (filter.flags & CONSORT_FI_LIST) {
          words[0] %= 65;
          bytes += words[0] * 8;
          while (words.size() * 4 < bytes)
            words.push_back(static_cast<uint32_t>(t.random().one_in(4) ? t.random().next() : t.random().below(4) * (words.size() % 2 == 0)));
        }
        const Cut cut{l, *child, filter, {words.data(), bytes}, s};
        ++tried;
        const uint32_t n = cut.count(home.shape);
        if (!n) continue;
        ++taken;
        if (n > kMostChildren) {
          cut.make(home, n - 1);
          continue;
        }
        const Tiling found = tiling_of(cut, home, n);
        t.check(!found.outside, "children of filter \"%s\" by senseless parameters have bytes that are not their parent's", filter.name);
        t.check(!found.twice || (filter.flags & CONSORT_FI_OVERLAP), "children of filter \"%s\" by senseless parameters share bytes", filter.name);
        t.check(!found.gaps || !(filter.flags & CONSORT_FI_COVER), "children of filter \"%s\" by senseless parameters leave a gap", filter.name);
      }
    }
  if (!tried) t.skip("its filters have no parameters, or their children are of interfaces that are not found");
  t.figure("%u of %u were taken", taken, tried);
}

}  // namespace conform
