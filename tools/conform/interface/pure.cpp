// The promise of [pure]: the same result always and everywhere, and no side effects.
#include <malloc.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "layout.hpp"

namespace conform {
namespace {

uint64_t mix(uint64_t h, const void *from, size_t bytes) {
  const auto *p = static_cast<const unsigned char *>(from);
  for (size_t i = 0; i < bytes; ++i) h = (h ^ p[i]) * 0x100000001b3u;
  return h;
}

// A datum whose shape and views are read-only and end at an inaccessible page.
struct Frozen {
  const Guarded shape, view, other;
  std::vector<unsigned char> wire;
  const std::vector<Partition> &partitions;
};

// All results about one datum, as one hash; calls nothing else of the kit, so any thread may call it.
uint64_t digest(const consort_interface_ops &o, const Frozen &f) {
  constexpr uint32_t kRoom = 24;
  uint64_t h = 0xcbf29ce484222325u;
  const auto add = [&](const auto &v) { h = mix(h, &v, sizeof v); };
  const consort_space_desc space = some_space(0);
  consort_block blocks[kRoom] = {};
  consort_extent extents[kRoom] = {};
  consort_arg args[kRoom] = {};
  consort_run runs[kRoom] = {};
  uint64_t sizes[kRoom] = {};
  unsigned char wire[1024] = {};
  char text[256] = {};
  add(o.footprint(f.shape.data())), add(o.bytes(f.shape.data()));
  add(o.blocks(f.shape.data(), &space, blocks, kRoom)), add(blocks);
  add(o.extents(f.shape.data(), f.view.data(), extents, kRoom)), add(extents);
  add(o.args(f.shape.data(), f.view.data(), args, kRoom)), add(args);
  if (!(o.flags & CONSORT_IF_PACK_ONLY)) add(o.runs(f.shape.data(), f.view.data(), f.other.data(), runs, kRoom)), add(runs);
  if (o.sizes) add(o.sizes(f.shape.data(), sizes, kRoom)), add(sizes);
  add(o.encode(f.shape.data(), wire, sizeof wire)), add(wire);
  add(o.describe(f.shape.data(), text, sizeof text)), h = mix(h, text, std::strlen(text));
  Pod decoded(0);
  add(o.decode(f.wire.data(), static_cast<uint32_t>(f.wire.size()), decoded.at()));
  add(o.bytes(decoded.at()));
  for (const Partition &p : f.partitions) {
    const consort_filter &filter = o.filters[p.filter];
    const uint32_t n = filter.count(f.shape.data(), p.params.data());
    add(n);
    for (uint32_t i = 0; i < n && i < 4; ++i) {
      Pod shape(0), view(0);
      add(filter.shape(f.shape.data(), p.params.data(), i, shape.at()));
      add(filter.alias(f.shape.data(), f.view.data(), p.params.data(), i, view.at()));
      if (!filter.child) add(o.bytes(shape.at())), add(o.extents(shape.at(), view.at(), extents, kRoom)), add(extents);
    }
  }
  return h;
}

struct Set {
  std::vector<Datum> data;                       // the memory to which the frozen data refer
  std::vector<std::unique_ptr<Frozen>> frozen;
};
Set freeze(Layout &l) {
  Set all;
  for (const Sample &s : l.samples) {
    Datum home = l.home(s), other = l.replica(home.shape);
    all.frozen.emplace_back(new Frozen{{home.shape.at(), l.ops.shape_size}, {home.view.at(), l.ops.view_size},
                                       {other.view.at(), l.ops.view_size}, l.wire(home.shape), s.partitions});
    all.data.push_back(std::move(home)), all.data.push_back(std::move(other));
  }
  return all;
}

}  // namespace

CONFORM_CASE(I, 50, threads, answers_are_the_same_in_every_thread) {
  Layout l(t);
  const Set all = freeze(l);
  std::vector<uint64_t> wanted;
  t.doing("[pure] functions, by one thread");
  for (const auto &f : all.frozen) wanted.push_back(digest(l.ops, *f));
  for (size_t i = wanted.size(); i-- > 0;)
    t.check(digest(l.ops, *all.frozen[i]) == wanted[i], "asked again, [pure] functions answer otherwise about sample %zu", i);
  std::atomic<uint32_t> wrong{0}, ready{0};
  const uint64_t rounds = t.scaled(200, 5000);
  std::vector<std::thread> threads;
  t.doing("[pure] functions, by 8 threads");
  for (uint32_t k = 0; k < 8; ++k)
    threads.emplace_back([&, k] {
      Random random(k);
      for (++ready; ready < 8;) std::this_thread::yield();
      for (uint64_t i = 0; i < rounds; ++i) {
        const size_t at = random.below(wanted.size());
        if (digest(l.ops, *all.frozen[at]) != wanted[at]) ++wrong;
      }
    });
  for (std::thread &one : threads) one.join();
  t.check(!wrong, "of %llu answers to 8 threads %u are others than those to one", static_cast<unsigned long long>(8 * rounds), wrong.load());
}

CONFORM_CASE(I, 51, behaviour, pure_functions_have_no_effect) {
  Layout l(t);
  const Set all = freeze(l);
  Host &host = l.plugin()->host();
  const size_t asked = host.asked(), blocks = host.live_blocks();
  const std::string log = host.log();
  host.forget_failure();
  const auto round = [&] {
    for (const auto &f : all.frozen) digest(l.ops, *f);
  };
  t.doing("[pure] functions, on shapes and views that cannot be written");
  round();
#if !CONSORT_SAN
  const size_t before = mallinfo2().uordblks;
#endif
  for (int i = 0; i < 50; ++i) round();
#if !CONSORT_SAN
  const size_t after = mallinfo2().uordblks;
  t.check(after < before + 4096, "50 rounds of [pure] functions left %zu bytes allocated", after - before);
#endif
  t.check(host.asked() == asked, "a [pure] function calls get() of the host");
  t.check(host.log() == log, "a [pure] function calls log() of the host");
  t.check(host.failure().empty(), "a [pure] function calls fail() of the host: \"%s\"; its status says enough", host.failure().c_str());
  t.check(host.live_blocks() == blocks, "a [pure] function calls alloc() of the host");
}

}  // namespace conform
