#include "layout.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace conform {

consort_space_desc some_space(uint32_t i) {
  consort_space_desc s{};
  s.size = sizeof s;
  s.flags = i ? CONSORT_SP_OPAQUE : CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  s.id = i;
  s.numa = -1;
  s.name = i ? "disk:/scratch" : "host";
  s.domain = i ? "file" : "host";
  s.capacity = uint64_t{1} << 40;
  s.granule = i ? 4096 : 1;
  s.align = i ? 4096 : 64;
  return s;
}

Layout::Layout(Trial &trial, bool wants_samples)
    : ops{}, t(trial), plugin_(std::make_unique<Plugin>(trial)), name_(trial.subject().name()) {
  ops = plugin_->ops<consort_interface_ops>();
  t.need(ops.shape && ops.footprint && ops.bytes && ops.blocks && ops.view && ops.extents && ops.args && ops.runs &&
             ops.packed_bytes && ops.pack && ops.unpack && ops.encode && ops.decode && ops.describe,
         "a mandatory function is missing: see CONSORT-P-9");
  t.need(ops.shape_size <= 256 && ops.view_size <= 256, "a shape has %u bytes, a view %u: see CONSORT-I-1", ops.shape_size,
         ops.view_size);
  if (!ops.filters) ops.nfilters = 0;
  if (!wants_samples) return;
  const auto most = static_cast<uint32_t>(t.scaled(12, kMostSamples));
  sampler_ = own_sampler(plugin_->manifest(), plugin_->self());
  if (!sampler_) sampler_ = dense_sampler(name_, ops, t.random().next(), most);
  if (!sampler_) sampler_ = sparse_sampler(name_, ops, t.random().next(), most);
  if (!sampler_)
    t.skip("the kit does not know the registration arguments of \"%s\": answer get(\"consort.conform.interface/1\") with some (consort/samples.h)",
           name());
  for (uint32_t i = 0; i < kMostSamples; ++i) {
    Sample s{i, {}, {}};
    t.doing("the arguments of sample %u", i);
    if (Arena home(kHomeRoom, t.random()); !sampler_->args(i, &home, &s.args)) break;
    for (uint32_t f = 0; f < ops.nfilters; ++f) {
      t.doing("parameters for filter %u on sample %u", f, i);
      if (ops.filters[f].params_size == 0) s.partitions.push_back({f, {}});
      else
        for (Blob &b : sampler_->params(i, f))
          if (b.size >= ops.filters[f].params_size) s.partitions.push_back({f, std::move(b)});
    }
    samples.push_back(std::move(s));
  }
  t.need(!samples.empty(), "answers consort.conform.interface/1, but has no sample");
}

Layout::Layout(Trial &trial, const consort_interface_ops &o, const std::string &name) : ops(o), t(trial), name_(name) {
  if (!ops.filters) ops.nfilters = 0;
}

// Loaded plugins stay loaded to the end of the case's process.
Layout *Layout::find(const char *wanted) {
  if (!wanted || name_ == wanted) return this;
  for (auto &o : others_)
    if (o->name_ == wanted) return o.get();
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> folders{fs::path(t.subject().path).parent_path(),
                                fs::read_symlink("/proc/self/exe", error).parent_path() / "../lib/consort/plugins"};
  if (const char *paths = std::getenv("CONSORT_PLUGIN_PATH"))
    for (std::string rest = paths; !rest.empty();) {
      const size_t end = std::min(rest.find(':'), rest.size());
      folders.emplace_back(rest.substr(0, end));
      rest.erase(0, end + 1);
    }
  for (const fs::path &folder : folders) {
    const fs::path file = folder / (std::string(wanted) + ".so");
    if (!fs::exists(file, error)) continue;
    auto library = std::make_unique<Library>(file.string());
    const consort_plugin *p = library->entry() ? find_plugin(library->entry()(plugin_->table()), wanted) : nullptr;
    if (!p || p->kind != CONSORT_KIND_INTERFACE || !p->ops) continue;
    consort_interface_ops theirs = {};
    std::memcpy(static_cast<void *>(&theirs), p->ops,
                std::min<size_t>(static_cast<const consort_interface_ops *>(p->ops)->size, sizeof theirs));
    return others_.emplace_back(std::make_unique<Layout>(t, theirs, wanted)).get();
  }
  return nullptr;
}

Datum Layout::home(const Sample &s) {
  Datum d{Pod(), Pod(), std::make_unique<Arena>(kHomeRoom, t.random())};
  Blob args;
  t.need(sampler_->args(s.number, d.arena.get(), &args), "the arguments of sample %u are gone", s.number);
  t.doing("shape() of sample %u", s.number);
  const consort_status st = ops.shape(args.data(), args.size, d.shape.at(), d.view.at());
  t.need(st >= 0, "shape() refuses the arguments of sample %u with status %d", s.number, st);
  return d;
}

std::vector<consort_addr> Layout::place(Arena &arena, const std::vector<consort_block> &blocks) {
  std::vector<consort_addr> at;
  uint64_t end = 64;
  for (const consort_block &b : blocks) {
    const uint64_t align = std::max<uint64_t>(b.align, 1);
    end = (end + align - 1) / align * align;
    at.push_back({reinterpret_cast<uintptr_t>(arena.data()), end});
    end += b.bytes + 32;  // other bytes between the blocks
  }
  return at;
}

Datum Layout::replica(const Pod &shape, uint32_t space) {
  const std::vector<consort_block> wanted = blocks(shape, space);
  t.need(wanted.size() <= 16, "%s wants %zu blocks for a replica; at most 16", name(), wanted.size());
  uint64_t room = 256;
  for (const consort_block &b : wanted) {
    t.need(b.bytes <= 1 << 20 && b.align <= 4096, "a block of %llu bytes, aligned to %llu, for a small datum",
           static_cast<unsigned long long>(b.bytes), static_cast<unsigned long long>(b.align));
    room += b.bytes + b.align + 32;
  }
  Datum d{shape, Pod(), std::make_unique<Arena>(room, t.random())};
  std::vector<consort_addr> at = place(*d.arena, wanted);
  const consort_space_desc s = some_space(space);
  t.doing("view()");
  const consort_status st = ops.view(d.shape.at(), &s, at.data(), static_cast<uint32_t>(at.size()), d.view.at());
  t.need(st >= 0, "view() refuses the blocks that it asked for, with status %d", st);
  return d;
}

std::vector<consort_block> Layout::blocks(const Pod &shape, uint32_t space) {
  const consort_space_desc s = some_space(space);
  t.doing("blocks()");
  return all_of<consort_block>(t, "blocks()", [&](consort_block *out, uint32_t max) { return ops.blocks(shape.at(), &s, out, max); });
}

std::vector<consort_extent> Layout::extents(const Pod &shape, const Pod &view) {
  t.doing("extents()");
  return all_of<consort_extent>(t, "extents()",
                                [&](consort_extent *out, uint32_t max) { return ops.extents(shape.at(), view.at(), out, max); });
}

std::vector<consort_run> Layout::runs(const Pod &shape, const Pod &src, const Pod &dst) {
  t.doing("runs()");
  return all_of<consort_run>(t, "runs()",
                             [&](consort_run *out, uint32_t max) { return ops.runs(shape.at(), src.at(), dst.at(), out, max); });
}

std::vector<unsigned char> Layout::wire(const Pod &shape) {
  t.doing("encode()");
  return all_of<unsigned char>(t, "encode()", [&](unsigned char *out, uint32_t max) { return ops.encode(shape.at(), out, max); });
}

std::string Layout::text(const Pod &shape) {
  t.doing("describe()");
  const uint32_t n = ops.describe(shape.at(), nullptr, 0);
  t.need(n <= 1 << 16, "describe() answers that its text has %u bytes", n);
  std::string out(n + 1, '?');
  ops.describe(shape.at(), out.data(), n + 1);
  out.resize(n);
  return out;
}

std::vector<unsigned char> Layout::packed(const Datum &d) {
  t.doing("packed_bytes()");
  const uint64_t n = ops.packed_bytes(d.shape.at(), d.view.at());
  t.need(n <= 1 << 22, "packed_bytes() of a small datum is %llu", static_cast<unsigned long long>(n));
  Guarded buffer(n);
  t.doing("pack() into packed_bytes() = %llu bytes", static_cast<unsigned long long>(n));
  const consort_status st = ops.pack(d.shape.at(), d.view.at(), buffer.data(), n);
  t.need(st >= 0, "pack() into packed_bytes() bytes answers status %d", st);
  return {buffer.data(), buffer.data() + n};
}

Moves follow(Trial &t, const std::vector<consort_run> &runs, const Arena &src, const Arena &dst, const char *operation) {
  Moves m;
  m.from.assign(dst.size(), kNowhere);
  m.read.assign(src.size(), 0);
  for (size_t i = 0; i < runs.size(); ++i) {
    const consort_run &r = runs[i];
    if (!t.check(r.run > 0 && r.n[0] > 0 && r.n[1] > 0 && r.run <= dst.size() && r.n[0] <= dst.size() && r.n[1] <= dst.size(),
                 "run %zu of %s is %llu bytes, %llu x %llu times", i, operation, static_cast<unsigned long long>(r.run),
                 static_cast<unsigned long long>(r.n[0]), static_cast<unsigned long long>(r.n[1])))
      return m.good = false, m;
    for (uint64_t z = 0; z < r.n[1]; ++z)
      for (uint64_t y = 0; y < r.n[0]; ++y) {
        const auto step = [&](const int64_t *s) { return static_cast<uint64_t>(s[0]) * y + static_cast<uint64_t>(s[1]) * z; };
        const int64_t from = src.find(r.src.base + r.src.off + step(r.src_step), r.run);
        const int64_t to = dst.find(r.dst.base + r.dst.off + step(r.dst_step), r.run);
        if (!t.check(from >= 0, "run %zu of %s reads outside of the datum's memory", i, operation) ||
            !t.check(to >= 0, "run %zu of %s writes outside of the datum's memory", i, operation))
          return m.good = false, m;
        for (uint64_t k = 0; k < r.run; ++k) {
          int64_t &at = m.from[static_cast<size_t>(to) + k];
          if (at != kNowhere) {
            t.check(false, "run %zu of %s writes byte %zu of the datum's memory again", i, operation, static_cast<size_t>(to) + k);
            return m.good = false, m;
          }
          at = from + static_cast<int64_t>(k);
          ++m.read[static_cast<size_t>(at)];
          ++m.bytes;
        }
      }
  }
  return m;
}

void carry_out(const Moves &m, const Arena &src, Arena &dst) {
  for (size_t i = 0; i < m.from.size(); ++i)
    if (m.from[i] != kNowhere) dst.data()[i] = src.data()[m.from[i]];
}

std::vector<bool> held_by(const std::vector<consort_extent> &extents, const Arena &arena, const std::function<void(size_t)> &outside) {
  std::vector<bool> held(arena.size());
  for (size_t i = 0; i < extents.size(); ++i) {
    const int64_t at = arena.find(extents[i].addr, extents[i].bytes);
    if (at < 0) outside(i);
    else std::fill_n(held.begin() + at, extents[i].bytes, true);
  }
  return held;
}

}  // namespace conform
