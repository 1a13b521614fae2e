// link_credit.hpp — one link as a mover sees it: what is under way over it, and when no more is sent.
//
// Copies that share a link end together, and who waits for the first of them waits for all: so no more are sent than
// the link moves until the host comes back with others. How much that is, its figures say; or what has been seen to
// come over it lately, if that is more, since figures may be a driver's guess. The mover's pump's alone.
#pragma once
#include <algorithm>
#include <cstdint>

namespace consort {

class LinkCredit {
 public:
  LinkCredit() = default;  // of a link that is not there
  // prompt: the host comes back at the very moment when a copy ends, as it does in virtual time.
  LinkCredit(uint64_t bytes_per_s, uint32_t latency_ns, uint32_t engines, bool prompt) noexcept
      : few_(std::max(engines, 1u) + (prompt ? 1 : 2)),
        turnaround_(((prompt ? 0 : kTurnaround) + 4.0 * latency_ns) * std::max(engines, 1u)),
        told_(bytes_per_s ? static_cast<uint64_t>(static_cast<double>(bytes_per_s) * 1e-9 * turnaround_) + 1
                          : UINT64_MAX),
        enough_(told_),
        wishes_(prompt ? few_ - 1 : few_) {}

  bool has_enough() const noexcept { return copies_ >= few_ && flying_ >= enough_; }
  // What nobody waits for yet: not more than that, and few where nobody knows how much that is.
  bool has_room_for_wishes() const noexcept { return has_room_for_wishes(copies_, flying_); }
  // The same where this is under way over all links of the device.
  bool has_room_for_wishes(uint32_t copies, uint64_t bytes) const noexcept {
    return copies < wishes_ || (told_ != UINT64_MAX && bytes < enough_);
  }
  // What is under way takes longer than a sleep and a wake: nobody need look for its end meanwhile.
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
  static constexpr double kTurnaround = 1e6;        // ns, in which the host comes back with more
  static constexpr uint64_t kNaps = 8;              // in a turnaround
  static constexpr uint64_t kLately = 20'000'000;   // ns
  // Copies that are always sent: one for each engine, and the next; and in real time one more, for those that share a link
  // end together, and it stands still until a thread has woken.
  uint32_t few_ = 2;
  double turnaround_ = kTurnaround;
  uint64_t told_ = UINT64_MAX, enough_ = UINT64_MAX;
  uint32_t wishes_ = 2;                             // as few_, of what nobody waits for: each alone, if the host is there at once
  uint64_t flying_ = 0, since_ = 0, moved_ = 0;     // bytes on their way; bytes that arrived, and since when
  uint32_t copies_ = 0;
};

}  // namespace consort
