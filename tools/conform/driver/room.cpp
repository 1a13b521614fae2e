// All memory that alloc takes of a device is returned by free, whatever the size, also after alloc has failed.
#include <algorithm>
#include <cstring>

#include "conform/calls.hpp"
#include "conform/driver/room.hpp"

namespace conform {
namespace {

constexpr uint32_t kSizes[] = {1, 63, 65, 4096, 4097, 65'535, 65'536, 65'537, 1 << 20, (1 << 20) + 1, 4 << 20};

}  // namespace

CONFORM_CASE(D, 45, fault, room_of_any_size_comes_back) {
  Plugin p(t);
  Devices devices(t, p);
  for_each_room(t, devices, [&](const Room &room, uint64_t most) {
    for (const uint64_t bytes : kSizes) {
      if (bytes > most) continue;
      for (int k = 0; k < 20; ++k) {
        consort_addr a{};
        t.doing("alloc of %llu bytes in %s, which are freed", big(bytes), room.space.name.c_str());
        const consort_status s = room.alloc(bytes, &a);
        t.need(s >= 0, "alloc of %llu bytes in %s, each of which was freed, answers %d after %d times: %s", big(bytes), room.space.name.c_str(),
               s, k, devices.plugin().host().failure().c_str());
        room.free(a, bytes);
      }
    }
    t.need(room.fits(most), "a block of %llu bytes fits into %s, and does not any more after blocks of 1 byte to 4 MiB were allocated and freed",
           big(most), room.space.name.c_str());
  });
}

CONFORM_CASE(D, 47, fault, a_refusal_takes_no_room) {
  Plugin p(t);
  Devices devices(t, p);
  for_each_room(t, devices, [&](const Room &room, uint64_t most) {
    consort_addr all{}, more{};
    t.need(room.alloc(most, &all) >= 0, "alloc of %llu bytes works once, and not again", big(most));
    for (int k = 0; k < 20; ++k) {
      t.doing("alloc of %llu bytes in %s, of which as many are taken", big(most), room.space.name.c_str());
      if (room.alloc(most, &more) >= 0) room.free(more, most);
    }
    room.free(all, most);
    t.need(room.fits(most), "a block of %llu bytes fits into %s, and does not any more after 20 allocs were refused for want of room",
           big(most), room.space.name.c_str());
  });
}

CONFORM_CASE(D, 47, fault, an_alloc_without_memory_takes_no_room) {
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  Devices devices(t, p);
  for_each_room(t, devices, [&](const Room &room, uint64_t most) {
    const uint64_t bytes = std::min<uint64_t>(most, 65'536);
    bool reached = true;
    for (uint64_t k = 1; k < 50 && reached; ++k) {
      consort_addr a{};
      Calls::fail_allocation(k);
      t.doing("alloc of %llu bytes in %s, where allocation %llu fails", big(bytes), room.space.name.c_str(), big(k));
      const consort_status s = room.alloc(bytes, &a);
      reached = Calls::has_failed();
      Calls::fail_allocation(0);
      if (s >= 0) room.free(a, bytes);
      t.check(s >= 0 || !devices.plugin().host().failure().empty(), "alloc answers %d without a word where allocation %llu fails", s, big(k));
    }
    t.need(room.fits(most), "a block of %llu bytes fits into %s, and does not any more after allocs for which the machine had no memory",
           big(most), room.space.name.c_str());
  });
}

CONFORM_CASE(D, 72, life, blocks_leave_nothing_behind) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for (const Devices::Space &s : devices.spaces()) {
    if (!s.is_own()) continue;
    const Room room{devices, s};
    for (const uint64_t bytes : kSizes) {
      if (bytes > s.desc.capacity / 8) continue;
      constexpr uint32_t kPart = 8;
      MemoryMarks memory(std::max<uint64_t>(bytes, 16) * kPart / 2, kPart, 1);
      do {
        for (uint32_t k = 0; k < kPart; ++k) {
          consort_addr a{};
          t.doing("alloc of %llu bytes in %s, which are freed", big(bytes), s.name.c_str());
          const consort_status status = room.alloc(bytes, &a);
          if (status == CONSORT_E_UNSUPPORTED) break;
          t.need(status >= 0, "alloc of %llu bytes in %s answers %d: %s", big(bytes), s.name.c_str(), status,
                 devices.plugin().host().failure().c_str());
          room.free(a, bytes);
          ++tried;
        }
        memory.mark();
      } while (memory.is_undecided());
      t.need(!memory.leaks(), "%zu bytes more after each %u blocks of %llu bytes in %s that were freed",
             memory.growth(), kPart, big(bytes), s.name.c_str());
    }
  }
  if (!tried) t.skip("it has no memory of its own");
}

}  // namespace conform
