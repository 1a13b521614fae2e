// matching.hpp — brings together offers of other ranks and the receives of this one, by their keys.
//
// Each key is used once by each side, so the order of arrival does not matter. Used under the job's lock.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "remote/wire.hpp"

namespace consort {

struct Message;

struct Arrived {
  Control offer;
  std::vector<std::byte> payload;
};

class Matching {
 public:
  // The turn of a receive. An offer that has arrived: returns it. Else the receive waits. May throw.
  std::optional<Arrived> expect(const MessageKey &, Message *);
  // An offer has arrived. Returns the receive that waits for it, which has taken *it. nullptr: it is stored, or
  // *is_double: there is one of this key already. May throw.
  Message *arrive(const MessageKey &, Arrived *it, bool *is_double);
  // The rank is gone: removes the receives that wait for it, and returns them. Its offers go, too, but those whose contents
  // have arrived. May throw.
  std::vector<Message *> leave(uint32_t peer);
  void forget(const MessageKey &key) noexcept { all_.erase(key); }  // its receive does not wait any more
  bool is_waiting(const MessageKey &) const noexcept;
  size_t size() const noexcept { return all_.size(); }

 private:
  struct Hash {
    size_t operator()(const MessageKey &) const noexcept;
  };
  struct Entry {
    Message *waiting = nullptr;
    Arrived arrived;
  };
  std::unordered_map<MessageKey, Entry, Hash> all_;
};

}  // namespace consort
