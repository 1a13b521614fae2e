// link_credit.hpp — flow control of one link: counts copies in flight and decides when no more are sent.
//
// Copies that share a link complete together, so the first of them is as late as the last. The limit is therefore what
// the link moves until the host can send more. It is computed from the link's figures, or from the bandwidth observed
// recently if that is higher, since figures may be a driver's guess. Used by the mover's pump alone.
#pragma once
#include <algorithm>
#include <cstdint>

namespace consort {

class LinkCredit {
 public:
  LinkCredit() = default;  // a link that does not exist
  // prompt: the host reacts at the moment when a copy completes, as it does in virtual time.
  LinkCredit(uint64_t bytes_per_s, uint32_t latency_ns, uint32_t engines, bool prompt) noexcept
      : few_(std::max(engines, 1u) + (prompt ? 1 : 2)),
        turnaround_(((prompt ? 0 : kTurnaround) + 4.0 * latency_ns) * std::max(engines, 1u)),
        told_(bytes_per_s ? static_cast<uint64_t>(static_cast<double>(bytes_per_s) * 1e-9 * turnaround_) + 1
                          : UINT64_MAX),
        enough_(told_),
        wishes_(prompt ? few_ - 1 : few_) {}

  bool has_enough() const noexcept { return copies_ >= few_ && flying_ >= enough_; }
  // Limit for prefetches: few copies while the bandwidth is unknown, else as many bytes as has_enough() allows.
  bool has_room_for_wishes() const noexcept { return has_room_for_wishes(copies_, flying_); }
  // The same, with the copies and bytes in flight over all links of the device.
  bool has_room_for_wishes(uint32_t copies, uint64_t bytes) const noexcept {
    return copies < wishes_ || (told_ != UINT64_MAX && bytes < enough_);
  }
  // Returns whether the copies in flight take longer than a sleep and a wake-up, so that the pump need not poll for
  // their end.
  bool takes_a_while() const noexcept { return copies_ && flying_ >= enough_ / kNaps; }
  void sent(uint64_t bytes, uint64_t now) noexcept {
    if (!copies_++) since_ = now, moved_ = 0;
    flying_ += bytes;
  }
  void arrived(uint64_t bytes, uint64_t now) noexcept {
    --copies_;
    flying_ -= bytes;
    moved_ += bytes;
    if (now <= since_) return;
    const uint64_t took = now - since_;
    const double seen = static_cast<double>(moved_) / static_cast<double>(took) * turnaround_;
    enough_ = seen > static_cast<double>(told_) ? static_cast<uint64_t>(seen) : told_;
    if (took > kLately) moved_ /= 2, since_ += took / 2;
  }

 private:
  static constexpr double kTurnaround = 1e6;        // ns, until the host sends more
  static constexpr uint64_t kNaps = 8;              // sleeps in a turnaround
  static constexpr uint64_t kLately = 20'000'000;   // ns, the window of the observed bandwidth
  // Copies that are always allowed: one for each engine and one more. In real time one further: copies that share a
  // link complete together, and the link idles until a thread wakes up.
  uint32_t few_ = 2;
  double turnaround_ = kTurnaround;
  uint64_t told_ = UINT64_MAX, enough_ = UINT64_MAX;
  uint32_t wishes_ = 2;                             // as few_, for prefetches: each alone if the host reacts at once
  uint64_t flying_ = 0, since_ = 0, moved_ = 0;     // bytes in flight; bytes that arrived, and since when
  uint32_t copies_ = 0;
};

}  // namespace consort
