// in_context.hpp — contexts as their tests make them and enter them.
#pragma once
#include <consort/contexts.h>

#include "api/harness.hpp"

namespace consort_test {

inline consort_status try_create(consort_runtime *rt, const std::vector<uint32_t> &workers, consort_context_id *out,
                                 const char *name = nullptr, const char *scheduler = nullptr,
                                 consort_context_id parent = {0}) {
  consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
  d.name = name;
  d.scheduler = scheduler;
  d.workers = workers.data();
  d.nworkers = static_cast<uint32_t>(workers.size());
  d.parent = parent;
  return consort_context_create(rt, &d, out);
}

inline consort_context_id create(consort_runtime *rt, const std::vector<uint32_t> &workers, const char *name = nullptr,
                                 const char *scheduler = nullptr, consort_context_id parent = {0}) {
  consort_context_id c{0};
  need(try_create(rt, workers, &c, name, scheduler, parent), "context");
  return c;
}

class Inside {
 public:
  Inside(consort_runtime *rt, consort_context_id c) : rt_(rt) { need(consort_context_enter(rt, c), "enter"); }
  ~Inside() { need(consort_context_leave(rt_), "leave"); }

 private:
  consort_runtime *rt_;
};

}  // namespace consort_test
