#include "call.hpp"

namespace gpu {

namespace {

alignas(64) thread_local const char *name_of_call = "in a stream";  // tests/checks/thread_locals.py
thread_local int fault_of_call = 0;
thread_local bool inside_callback = false;

}  // namespace

const char *this_call() { return name_of_call; }

int this_fault() { return fault_of_call; }

bool &in_callback() { return inside_callback; }

std::vector<std::shared_ptr<Context>> &stack() {
  thread_local std::vector<std::shared_ptr<Context>> contexts;
  return contexts;
}

std::shared_ptr<Context> current() { return stack().empty() ? nullptr : stack().back(); }

Call enter(const char *name, Need need) {
  Machine &m = machine();
  Call entered{Lock(m.mutex), nullptr, 0};
  name_of_call = name;
  fault_of_call = 0;
  if (inside_callback) {
    m.violate("called out of a host function, where no call may be made");
    fail(not_permitted);
  }
  m.count(name);
  int refused = m.injected(m.settings.fails, name);
  fault_of_call = m.injected(m.settings.faults, name);
  if (need == Need::nothing) {
    if (refused) {
      fail(refused);
    }
    return entered;
  }
  if (!m.initialised) {
    fail(not_initialized);
  }
  entered.context = current();
  if (need == Need::init) {
    if (refused) {
      fail(refused);
    }
    return entered;
  }
  if (!entered.context || !entered.context->alive) {
    m.violate(entered.context ? "the current context was destroyed" : "no context is current in this thread");
    fail(entered.context ? context_is_destroyed : invalid_context);
  }
  if (refused && sticky(refused)) {
    entered.context->error = entered.context->error ? entered.context->error : refused;
  }
  if (need == Need::cleanup) {
    entered.after = refused ? refused : entered.context->error;
    return entered;
  }
  healthy(*entered.context);
  if (refused) {
    fail(refused);
  }
  return entered;
}

}  // namespace gpu
