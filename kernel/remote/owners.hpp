// owners.hpp — which rank owns a datum, its tag, and which ranks have its present contents.
//
// Found by the number of the datum's handle, without a search: a task of another rank is dropped at its submission after
// one look for each of its data. The submitting thread alone uses it (Job::Sequence).
#pragma once
#include <consort/consort.h>

#include <vector>

#include "remote/wire.hpp"

namespace consort {

struct Owned {
  uint64_t data = 0;                      // the whole handle; 0: none
  uint64_t tag = 0;
  uint32_t owner = 0;
  MessageKey::Class cls = MessageKey::kInferred;
  bool has_copy = false;                  // of another rank's datum: its contents here are current
  std::vector<uint64_t> holders;          // of one of this rank: bits of the ranks that have its current contents

  bool is_held_by(uint32_t rank) const noexcept { return rank / 64 < holders.size() && holders[rank / 64] >> rank % 64 & 1; }
  void add_holder(uint32_t rank) {        // may throw
    if (rank / 64 >= holders.size()) holders.resize(rank / 64 + 1);
    holders[rank / 64] |= uint64_t{1} << rank % 64;
  }
  void drop_holders() noexcept { holders.clear(); }
};

class Owners {
 public:
  // nullptr: a datum of this rank alone.
  Owned *find(consort_data_id id) noexcept {
    const auto number = static_cast<uint32_t>(id.v);
    return number < all_.size() && all_[number].data == id.v && id.v ? &all_[number] : nullptr;
  }
  Owned &add(consort_data_id id) {        // may throw
    const auto number = static_cast<uint32_t>(id.v);
    if (number >= all_.size()) all_.resize(number + number / 2 + 64);
    all_[number] = Owned{};
    all_[number].data = id.v;
    return all_[number];
  }
  template <class F> void each(F f) {
    for (Owned &o : all_)
      if (o.data) f(o);
  }

 private:
  std::vector<Owned> all_;
};

}  // namespace consort
