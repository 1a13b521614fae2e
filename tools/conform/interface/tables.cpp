// The fields of an interface's table, and whether its functions respect the given capacity.
#include <cstring>
#include <set>

#include "layout.hpp"

namespace conform {
namespace {

constexpr uint32_t kFilterFlags =
    CONSORT_FI_OVERLAP | CONSORT_FI_COVER | CONSORT_FI_RETYPE | CONSORT_FI_CONTENTS | CONSORT_FI_LIST;

// Calls with various capacities: the result is the same, and a prefix of the whole is written.
template <class T, class F>
void must_keep_to(Trial &t, const char *name, F f) {
  t.doing("%s without room", name);
  const uint32_t n = f(static_cast<T *>(nullptr), 0u);
  if (!t.check(n <= 1u << 20, "%s answers that there are %u", name, n)) return;
  std::vector<T> whole(n + 4);
  f(whole.data(), n);
  for (const uint32_t max : {1u, n / 2, n ? n - 1 : 0, n, n + 3}) {
    std::vector<unsigned char> room((n + 4) * sizeof(T), 0x3c);
    t.doing("%s with room for %u of %u", name, max, n);
    const uint32_t again = f(reinterpret_cast<T *>(room.data()), max);
    t.check(again == n, "%s answers %u with room for %u, but %u without", name, again, max, n);
    const size_t most = std::min(n, max) * sizeof(T);
    bool kept = true;
    for (size_t i = std::max(most, max * sizeof(T)); i < room.size(); ++i) kept = kept && room[i] == 0x3c;
    t.check(kept, "%s writes more than the %u that there is room for", name, max);
    if (sizeof(T) > 1) t.check(!std::memcmp(room.data(), whole.data(), most), "%s answers others when it has room for %u", name, max);
  }
}

}  // namespace

CONFORM_CASE(I, 1, abi, sizes_are_sound) {
  const Plugin p(t, false);
  const auto ops = p.ops<consort_interface_ops>();
  t.check(ops.shape_size >= 1 && ops.shape_size <= 256, "a shape has %u bytes; 1 to 256", ops.shape_size);
  t.check(ops.view_size >= 1 && ops.view_size <= 256, "a view has %u bytes; 1 to 256", ops.view_size);
  t.check(!(ops.flags & ~uint32_t{CONSORT_IF_DYNAMIC | CONSORT_IF_PACK_ONLY}), "sets flags 0x%x, which mean nothing", ops.flags);
}

CONFORM_CASE(I, 2, abi, filters_are_well_declared) {
  const Plugin p(t, false);
  const auto ops = p.ops<consort_interface_ops>();
  if (!ops.nfilters) t.skip("it has no filters");
  t.need(ops.filters && ops.nfilters <= 4096, "says that it has %u filters, but has no list of them", ops.nfilters);
  std::set<std::string> names;
  for (uint32_t i = 0; i < ops.nfilters; ++i) {
    const consort_filter &f = ops.filters[i];
    if (!t.check(f.name && *f.name, "filter %u has no name", i)) continue;
    t.check(names.insert(f.name).second, "two filters are named \"%s\"", f.name);
    t.check(f.count && f.shape && f.alias, "filter \"%s\" lacks count, shape or alias", f.name);
    t.check(!(f.flags & ~kFilterFlags), "filter \"%s\" sets flags 0x%x, which mean nothing", f.name, f.flags & ~kFilterFlags);
    t.check((f.child != nullptr) == ((f.flags & CONSORT_FI_RETYPE) != 0), "filter \"%s\" %s", f.name,
            f.child ? "names the interface of its children, but lacks CONSORT_FI_RETYPE" : "says CONSORT_FI_RETYPE, but names no interface");
    t.check(!(f.flags & CONSORT_FI_LIST) || f.params_size >= 4, "filter \"%s\" says CONSORT_FI_LIST, but its parameters have no 32 bits that say how long the list is",
            f.name);
  }
}

CONFORM_CASE(I, 3, abi, conversions_are_well_declared) {
  const Plugin p(t, false);
  const auto ops = p.ops<consort_interface_ops>();
  if (!ops.nconversions) t.skip("it has no conversions");
  t.need(ops.conversions && ops.nconversions <= 4096, "says that it has %u conversions, but has no list of them", ops.nconversions);
  const std::string me = t.subject().name();
  for (uint32_t i = 0; i < ops.nconversions; ++i) {
    const consort_conversion &c = ops.conversions[i];
    if (!t.check(c.from && *c.from && c.to && *c.to && c.codelet && *c.codelet, "conversion %u lacks from, to or codelet", i)) continue;
    t.check(std::string(c.from) != c.to, "conversion %u is from %s to itself", i, c.from);
    t.check(me == c.from || me == c.to, "conversion %u is from %s to %s, neither of which is %s", i, c.from, c.to, me.c_str());
  }
}

CONFORM_CASE(I, 10, behaviour, counts_do_not_depend_on_room) {
  Layout l(t);
  const auto &o = l.ops;
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    const Datum other = l.replica(home.shape);
    const void *shape = home.shape.at(), *view = home.view.at();
    const consort_space_desc space = some_space(0);
    must_keep_to<consort_block>(t, "blocks()", [&](auto *out, uint32_t max) { return o.blocks(shape, &space, out, max); });
    must_keep_to<consort_extent>(t, "extents()", [&](auto *out, uint32_t max) { return o.extents(shape, view, out, max); });
    must_keep_to<consort_arg>(t, "args()", [&](auto *out, uint32_t max) { return o.args(shape, view, out, max); });
    if (!l.packs_only())
      must_keep_to<consort_run>(t, "runs()", [&](auto *out, uint32_t max) { return o.runs(shape, view, other.view.at(), out, max); });
    if (o.sizes) must_keep_to<uint64_t>(t, "sizes()", [&](auto *out, uint32_t max) { return o.sizes(shape, out, max); });
    must_keep_to<unsigned char>(t, "encode()", [&](auto *out, uint32_t max) { return o.encode(shape, out, max); });
    must_keep_to<char>(t, "describe()", [&](auto *out, uint32_t max) { return o.describe(shape, out, max); });
  }
}

CONFORM_CASE(I, 11, behaviour, writes_no_more_than_a_shape_or_a_view) {
  Layout l(t);
  const auto kept = [&](const char *function, const Pod &shape, const Pod &view) {
    t.check(shape.kept_behind(l.ops.shape_size), "%s writes more than the %u bytes of a shape", function, l.ops.shape_size);
    t.check(view.kept_behind(l.ops.view_size), "%s writes more than the %u bytes of a view", function, l.ops.view_size);
  };
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    kept("shape()", home.shape, home.view);
    kept("view()", home.shape, l.replica(home.shape).view);
    const std::vector<unsigned char> wire = l.wire(home.shape);
    Pod decoded(0x11);
    t.doing("decode()");
    if (l.ops.decode(wire.data(), static_cast<uint32_t>(wire.size()), decoded.at()) >= 0) kept("decode()", decoded, Pod());
    for (const Partition &p : s.partitions) {
      const consort_filter &f = l.ops.filters[p.filter];
      const Layout *child = l.find(f.child);
      t.doing("count() of filter \"%s\"", f.name);
      if (!child || f.count(home.shape.at(), p.params.data()) == 0) continue;
      Pod shape, view;
      t.doing("shape() of filter \"%s\"", f.name);
      f.shape(home.shape.at(), p.params.data(), 0, shape.at());
      t.doing("alias() of filter \"%s\"", f.name);
      f.alias(home.shape.at(), home.view.at(), p.params.data(), 0, view.at());
      t.check(shape.kept_behind(child->ops.shape_size), "shape() of filter \"%s\" writes more than a shape of %s has", f.name, child->name());
      t.check(view.kept_behind(child->ops.view_size), "alias() of filter \"%s\" writes more than a view of %s has", f.name, child->name());
    }
  }
}

}  // namespace conform
