// policy_instance.hpp — one instance of a scheduler plugin, as pushes and pops use it.
//
// Made and closed by PolicySet, opened for a context by Contexts; the splitter of ContextRouter has the same form. Read by
// any thread once it is current. An instance lives until the runtime stops, so no call is ever inside freed memory.
#pragma once
#include <consort/scheduler.h>

#include <atomic>
#include <string>
#include <vector>

namespace consort {

struct alignas(64) PolicyInstance {
  // Read at each push and pop. Constant once current, except for `epoch`.
  uint32_t (*push)(void *, const consort_push *) = nullptr;
  uint32_t (*pop)(void *, uint32_t, consort_pick *, uint32_t) = nullptr;
  void *s = nullptr;
  // Of the present use. A relaxed store is released by Policy::make_current(). The release where a context opens or closes
  // the instance pairs with the acquire in the context router, which sees that an old epoch is over.
  std::atomic<uint64_t> epoch{0};
  bool bypass = true;
  std::vector<const int32_t *> urgency;          // by worker
  const consort_scheduler_ops *ops = nullptr;
  std::string name;
  bool splits = false;                           // passes calls to the instances of contexts
  bool used = false;                             // with contexts: belongs to one; under PolicySet's mutex
};

}  // namespace consort
