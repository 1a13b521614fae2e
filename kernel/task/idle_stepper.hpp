// idle_stepper.hpp — the interface that steps the workers in virtual time while the program sleeps in an event loop.
#pragma once

namespace consort {

// Implemented by exec/idle_pump.hpp. begin(): from now on an event loop may wait for a descriptor or a callback of this
// runtime. [any] thread; later calls do nothing.
class IdleStepper {
 public:
  virtual void begin() noexcept = 0;

 protected:
  ~IdleStepper() = default;
};

}  // namespace consort
