// library.hpp — libfabric, loaded when the first endpoint opens. It stays loaded.
//
// Debian's libfabric brings libraries for InfiniPath whose constructors install handlers of SIGSEGV, SIGABRT and others;
// these print a backtrace and end the process with status 1. A plugin leaves the host's handlers alone: so it is not
// linked with libfabric, and what handlers were there before is put back.
#pragma once
#include <rdma/fabric.h>
#include <signal.h>

namespace ofi {

// Puts back the handlers of signals at its end. Handlers that another thread installs meanwhile are lost.
class KeptSignals {
 public:
  KeptSignals() noexcept;
  ~KeptSignals();
  KeptSignals(const KeptSignals &) = delete;
  KeptSignals &operator=(const KeptSignals &) = delete;

 private:
  static constexpr int kSignals = 32;  // from 1 on, without those of real time
  struct sigaction before_[kSignals];
};

// Lets libfabric prepare 512 receives for each endpoint of ofi_rxm instead of 4096, while it is first asked: these are 17 MB that
// it clears instead of 67 MB. The environment, which alone can say so, has no lock: that of a process with several threads is
// left as it is, as is a value that it has already.
class FewReceives {
 public:
  FewReceives() noexcept;
  ~FewReceives();
  FewReceives(const FewReceives &) = delete;
  FewReceives &operator=(const FewReceives &) = delete;

 private:
  bool is_set_ = false;
};

struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;

  static const Library &get();         // [any] throws an Error where it is missing
  static const Library &loaded() noexcept;  // after get()
};

}  // namespace ofi
