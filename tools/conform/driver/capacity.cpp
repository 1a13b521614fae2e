// The capacity that a space tells can be allocated to the last granule, and each granule belongs to one block.
#include <memory>
#include <vector>

#include "conform/driver/room.hpp"
#include "conform/driver/store.hpp"

namespace conform {
namespace {

constexpr uint64_t kSingles = 4;                 // blocks of one granule each, for the end of the space

struct Piece {
  consort_addr at;
  uint64_t bytes;
};

// All of a space: few large blocks, and some of a granule each, after them or before them.
class Full {
 public:
  Full(Trial &t, const Room &room) : t_(t), room_(room), grain_(std::max<uint64_t>(room.space.desc.granule, 1)) {
    const uint64_t granules = room.space.desc.capacity / grain_;
    singles_ = std::min(kSingles, granules);
    large_ = (granules - singles_) * grain_;
  }
  ~Full() {
    for (const Piece &p : pieces_) room_.free(p.at, p.bytes);
  }
  Full(const Full &) = delete;
  Full &operator=(const Full &) = delete;

  // Returns false if the memory cannot be divided like this: the driver may have blocks of some sizes only.
  bool fill(bool singles_last) {
    if (singles_last && !take_large()) return false;
    for (uint64_t k = 0; k < singles_; ++k) {
      if (take(grain_)) continue;
      if (!singles_last) return false;
      t_.check(false, "%s says that it has %llu bytes; with %llu of them taken a block of %llu bytes, its granule, is refused: %s",
               room_.space.name.c_str(), big(room_.space.desc.capacity), big(large_ + k * grain_), big(grain_),
               room_.devices.plugin().host().failure().c_str());
      return false;
    }
    return singles_last || take_large();
  }

  // Writes to the first and the last granule of each block, and reads all of them back.
  void look() {
    if (!room_.devices.is_within_reach(room_.space.desc.id)) return;
    std::vector<std::unique_ptr<Store>> parts;
    for (const Piece &p : pieces_)
      for (uint64_t off : {uint64_t{0}, p.bytes - grain_}) {
        parts.push_back(std::make_unique<Store>(room_.devices, room_.space.desc.id, consort_addr{p.at.base, p.at.off + off}, grain_));
        if (p.bytes == grain_) break;
      }
    for (const auto &part : parts)
      if (!t_.failed()) part->holds("granules of other blocks were written, with all of the capacity allocated");
  }

 private:
  bool take(uint64_t bytes) {
    consort_addr a{};
    t_.doing("alloc of %llu bytes in %s, %zu blocks are allocated", big(bytes), room_.space.name.c_str(), pieces_.size());
    if (room_.alloc(bytes, &a) < 0) return false;
    pieces_.push_back({a, bytes});
    return true;
  }
  // In halves, where a block cannot be that large.
  bool take_large() {
    uint64_t left = large_;
    for (uint64_t chunk = left; left; left -= chunk) {
      chunk = std::min(chunk, left);
      while (!take(chunk)) {
        chunk = chunk / 2 / grain_ * grain_;
        if (chunk < large_ / 64 || chunk == 0) return false;
      }
    }
    return true;
  }

  Trial &t_;
  const Room &room_;
  const uint64_t grain_;
  uint64_t singles_, large_;
  std::vector<Piece> pieces_;
};

}  // namespace

CONFORM_CASE(D, 48, fault, the_last_granule_is_a_block) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned tried = 0;
  for_each_room(t, devices, [&](const Room &room, uint64_t) {
    for (const bool singles_last : {true, false}) {
      Full full(t, room);
      if (full.fill(singles_last)) full.look(), ++tried;
      if (t.failed()) return;
    }
  });
  if (!tried && !t.failed()) t.skip("its capacity cannot be allocated in blocks of a 64th, and of a granule");
}

}  // namespace conform
