// trampolines.hpp — replacement functions: each calls the layer, which calls the wrapped function or not.
//
// A layer L is a class with one object per runtime. It has
//   struct Object           its state of one handle (a plugin's instance, device, queue, scheduler, endpoint)
//   call<kFn>(Node &, part, next, args...)    a function of the plugin; next(args...) is the wrapped one. part: a filter's
//                                             name. For functions that end a handle, called before the handle is forgotten
//   opened<kFn>(Node &made, args...)          a handle was created
//   hosted<kFn>(Wrapped &, next, args...)     a function of the host, called by the plugin
// all static and noexcept. Handles are wrapped. Functions without a handle are identified by slots: constant arrays of functions,
// one for each slot number.
#pragma once
#include <consort/files.h>
#include <consort/handles.h>
#include <consort/start.h>
#include <consort/nearby.h>
#include <consort/times.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "functions.hpp"

namespace layers {

constexpr size_t kPlugins = 128;  // wrapped plugins of all runtimes of the process; further ones are not wrapped
constexpr size_t kInterfaces = 64;
constexpr size_t kFilters = 256;

template <class L>
struct Wrapped;

template <class L>
struct Node {
  Wrapped<L> &of;
  Node *const parent;      // queue: its device; device, scheduler, endpoint: the instance; instance: NULL
  const char *const what;  // "device"
  void *inner = nullptr;
  uint64_t token = 0;  // token of a queue or an endpoint, if has_token
  bool has_token = false;
  std::atomic<bool> closed{false};  // independent, only reported; relaxed
  typename L::Object state{};
};

// Maps a function without a handle to its plugin. Constant-initialised; a slot is taken by a
// compare-and-swap and read by callers of its functions afterwards: release and acquire.
template <class T, size_t n>
struct Slots {
  std::atomic<T *> at[n] = {};  // acq_rel when a slot is taken pairs with the acquire of its trampoline: the owner is initialised

  int take(T *owner) noexcept {
    for (size_t i = 0; i < n; ++i) {
      T *none = nullptr;
      if (at[i].compare_exchange_strong(none, owner, std::memory_order_acq_rel)) return static_cast<int>(i);
    }
    return -1;
  }
  void give_back(int slot) noexcept {
    if (slot >= 0) at[slot].store(nullptr, std::memory_order_release);
  }
};

template <class L>
struct Filter {
  Wrapped<L> *of;
  const consort_filter *inner;
  int slot;
};
template <class L>
inline constinit Slots<Wrapped<L>, kPlugins> plugin_slots;
template <class L>
inline constinit Slots<Wrapped<L>, kInterfaces> interface_slots;
template <class L>
inline constinit Slots<Filter<L>, kFilters> filter_slots;

// -- trampolines ---------------------------------------------------------------------------------------------

// A function with a handle.
template <class L, auto kFn, class F = decltype(kFn)>
struct Via;
template <class L, auto kFn, class T, class R, class... A>
struct Via<L, kFn, R (*T::*)(void *, A...)> {
  static R run(void *handle, A... a) {
    auto &n = *static_cast<Node<L> *>(handle);
    return call(n, a...);
  }
  static R call(Node<L> &n, A... a) {
    const T &t = n.of.template table<T>();
    return L::template call<kFn>(
        n, nullptr, [&](A... b) -> R { return (t.*kFn)(n.inner, b...); }, a...);
  }
};

// A function of the host, called through the plugin's copy of its table.
template <class L>
struct Shim {
  consort_host table;
  Wrapped<L> *of;
  const consort_host *base;
};
template <class L, auto kFn, class F = decltype(kFn)>
struct Hosted;
template <class L, auto kFn, class R, class... A>
struct Hosted<L, kFn, R (*consort_host::*)(const consort_host *, A...)> {
  static R run(const consort_host *h, A... a) {
    const auto &shim = *reinterpret_cast<const Shim<L> *>(h);
    return L::template hosted<kFn>(
        *shim.of, [&](A... b) -> R { return (shim.base->*kFn)(shim.base, b...); }, a...);
  }
};

// A function of an interface or a filter, by slot: short numbered functions around one common body.
template <class L, auto kFn, class F = decltype(kFn)>
struct BySlot;
template <class L, auto kFn, class R, class... A>
struct BySlot<L, kFn, R (*consort_interface_ops::*)(A...)> {
  [[gnu::noinline]] static R call(Wrapped<L> &w, A... a) {
    const auto &t = w.template table<consort_interface_ops>();
    return L::template call<kFn>(
        w.root, nullptr, [&](A... b) -> R { return (t.*kFn)(b...); }, a...);
  }
  template <size_t kSlot>
  static R run(A... a) {
    return call(*interface_slots<L>.at[kSlot].load(std::memory_order_acquire), a...);
  }
};
template <class L, auto kFn, class R, class... A>
struct BySlot<L, kFn, R (*consort_filter::*)(A...)> {
  [[gnu::noinline]] static R call(Filter<L> &f, A... a) {
    return L::template call<kFn>(
        f.of->root, f.inner->name, [&](A... b) -> R { return (f.inner->*kFn)(b...); }, a...);
  }
  template <size_t kSlot>
  static R run(A... a) {
    return call(*filter_slots<L>.at[kSlot].load(std::memory_order_acquire), a...);
  }
};

template <class L, size_t kSlot>
consort_status init_at(const consort_host *host, void **self) {
  return plugin_slots<L>.at[kSlot].load(std::memory_order_acquire)->init(host, self);
}

#define LAYERS_SET(f, tag) t.f = BySlot<L, &consort_interface_ops::f>::template run<kSlot>;
template <class L, size_t kSlot>
constexpr consort_interface_ops interface_at() {
  consort_interface_ops t{};
  LAYERS_OF_INTERFACE(LAYERS_SET)
  return t;
}
#undef LAYERS_SET
#define LAYERS_SET(f, tag) t.f = BySlot<L, &consort_filter::f>::template run<kSlot>;
template <class L, size_t kSlot>
constexpr consort_filter filter_at() {
  consort_filter t{};
  LAYERS_OF_FILTER(LAYERS_SET)
  return t;
}
#undef LAYERS_SET
template <class L>
inline constexpr auto init_functions = []<size_t... i>(std::index_sequence<i...>) {
  return std::array{&init_at<L, i>...};
}
(std::make_index_sequence<kPlugins>());
template <class L>
inline constexpr auto interface_tables = []<size_t... i>(std::index_sequence<i...>) {
  return std::array{interface_at<L, i>()...};
}
(std::make_index_sequence<kInterfaces>());
template <class L>
inline constexpr auto filter_tables = []<size_t... i>(std::index_sequence<i...>) {
  return std::array{filter_at<L, i>()...};
}
(std::make_index_sequence<kFilters>());

// Creation and end of handles.
template <class L, auto kFn, class... A>
consort_status make(Node<L> &parent, const char *what, const uint64_t *token, void **out, auto &&inner_call, A... a) {
  Node<L> *n = parent.of.add(&parent, what, token);
  if (!n) return parent.of.of->fail(parent.of.of, CONSORT_E_NOMEM, "out of memory for a layer's handle");
  const consort_status s = L::template call<kFn>(
      parent, nullptr, [&](A... b) -> consort_status { return inner_call(&n->inner, b...); }, a...);
  if (s < 0) return parent.of.forget(*n), s;
  L::template opened<kFn>(*n, a...);
  return *out = n, s;
}
template <class L, auto kFn, class F = decltype(kFn)>
struct Ending;
template <class L, auto kFn, class T>
struct Ending<L, kFn, void (*T::*)(void *)> {
  static void run(void *handle) {
    auto &n = *static_cast<Node<L> *>(handle);
    Via<L, kFn>::call(n);
    n.of.end(n);
  }
};

template <class L>
consort_status make_device(void *self, uint32_t index, uint64_t token, void **dev) {
  auto &p = *static_cast<Node<L> *>(self);
  const auto &t = p.of.template table<consort_driver_ops>();
  return make<L, &consort_driver_ops::open>(
      p, "device", nullptr, dev, [&](void **out, uint32_t i, uint64_t k) { return t.open(p.inner, i, k, out); }, index,
      token);
}
template <class L>
consort_status make_queue(void *dev, uint32_t unit, uint64_t token, consort_queue_desc *desc, void **q) {
  auto &p = *static_cast<Node<L> *>(dev);
  const auto &t = p.of.template table<consort_driver_ops>();
  return make<L, &consort_driver_ops::queue_open>(
      p, "queue", &token, q,
      [&](void **out, uint32_t u, uint64_t k, consort_queue_desc *d) { return t.queue_open(p.inner, u, k, d, out); },
      unit, token, desc);
}
template <class L>
consort_status make_scheduler(void *self, const consort_host *host, const consort_topology *topology, uint64_t epoch,
                              void **s) {
  auto &p = *static_cast<Node<L> *>(self);
  const auto &t = p.of.template table<consort_scheduler_ops>();
  return make<L, &consort_scheduler_ops::create>(
      p, "instance", nullptr, s,
      [&](void **out, const consort_host *, const consort_topology *top, uint64_t e) {
        return t.create(p.inner, &p.of.shim.table, top, e, out);
      },
      host, topology, epoch);
}
template <class L>
consort_status make_endpoint(void *self, const consort_host *host, const consort_boot *boot, uint64_t token, void **e,
                             consort_tcaps *caps) {
  auto &p = *static_cast<Node<L> *>(self);
  const auto &t = p.of.template table<consort_transport_ops>();
  return make<L, &consort_transport_ops::open>(
      p, "endpoint", &token, e,
      [&](void **out, const consort_host *, const consort_boot *b, uint64_t k, consort_tcaps *c) {
        return t.open(p.inner, &p.of.shim.table, b, k, out, c);
      },
      host, boot, token, caps);
}

// -- extensions: known ones are wrapped, with inner's handles; others are hidden -----------------------------

template <class L>
struct Extensions {
  static double kernel_ns(void *dev, const consort_times_query *q) {
    const auto &n = *static_cast<Node<L> *>(dev);
    return CONSORT_HAS_FN(n.of.times, consort_times, kernel_ns) ? n.of.times->kernel_ns(n.inner, q) : NAN;
  }
  static uint64_t submit_ns(void *self) {
    const auto &n = *static_cast<Node<L> *>(self);
    return CONSORT_HAS_FN(n.of.times, consort_times, submit_ns) ? n.of.times->submit_ns(n.inner) : 0;
  }
  static uint64_t drop_ns(void *self) {
    const auto &n = *static_cast<Node<L> *>(self);
    return CONSORT_HAS_FN(n.of.times, consort_times, drop_ns) ? n.of.times->drop_ns(n.inner) : 0;
  }
  static double team_ns(void *dev, const consort_times_query *q, uint32_t members) {
    const auto &n = *static_cast<Node<L> *>(dev);
    return CONSORT_HAS_FN(n.of.times, consort_times, team_ns) ? n.of.times->team_ns(n.inner, q, members) : NAN;
  }
  static uint32_t set(void *dev, uint32_t i, uint32_t *units, uint32_t max) {
    const auto &n = *static_cast<Node<L> *>(dev);
    return CONSORT_HAS_FN(n.of.nearby, consort_nearby, set) ? n.of.nearby->set(n.inner, i, units, max) : 0;
  }
  template <auto kMember, class... A>
  static consort_status library(void *dev, const consort_call *call, const char *name, A... a) {
    const auto &n = *static_cast<Node<L> *>(dev);
    const auto f = n.of.handles->*kMember;
    return f ? f(n.inner, call, name, a...) : CONSORT_E_UNSUPPORTED;
  }
  static consort_status place(void *self, uint32_t index, char *out, uint32_t bytes) {
    const auto &n = *static_cast<Node<L> *>(self);
    return n.of.places->place ? n.of.places->place(n.inner, index, out, bytes) : CONSORT_E_UNSUPPORTED;
  }
  // Its folders and files are the driver's own: only the first call needs the driver.
  static consort_status open_folder(void *self, const char *path, uint32_t how, void **folder) {
    const auto &n = *static_cast<Node<L> *>(self);
    return n.of.inner_files->open_folder(n.inner, path, how, folder);
  }
  static const void *get(void *self, const char *id) {
    static constexpr consort_places places = {sizeof(consort_places), 0, place};
    static constexpr consort_times times = {sizeof(consort_times), 0, kernel_ns, submit_ns, team_ns, drop_ns};
    static constexpr consort_nearby nearby = {sizeof(consort_nearby), 0, set};
    static constexpr consort_handles handles = {sizeof(consort_handles), 0, library<&consort_handles::handle>,
                                                library<&consort_handles::symbol>, library<&consort_handles::check>};
    auto &n = *static_cast<Node<L> *>(self);
    const void *theirs = Via<L, &consort_plugin::get>::call(n, id);
    if (!theirs || n.of.inner->kind != CONSORT_KIND_DRIVER) return nullptr;
    if (std::strcmp(id, CONSORT_TIMES_ID) == 0) return n.of.times = static_cast<const consort_times *>(theirs), &times;
    if (std::strcmp(id, CONSORT_NEARBY_ID) == 0)
      return n.of.nearby = static_cast<const consort_nearby *>(theirs), &nearby;
    if (std::strcmp(id, CONSORT_HANDLES_ID) == 0 &&
        CONSORT_HAS(static_cast<const consort_handles *>(theirs), consort_handles, check))
      return n.of.handles = static_cast<const consort_handles *>(theirs), &handles;
    if (std::strcmp(id, CONSORT_PLACES_ID) == 0 &&
        CONSORT_HAS(static_cast<const consort_places *>(theirs), consort_places, place))
      return n.of.places = static_cast<const consort_places *>(theirs), &places;
    if (std::strcmp(id, CONSORT_FILES_ID) == 0 && CONSORT_HAS(static_cast<const consort_files_ops *>(theirs), consort_files_ops, list)) {
      n.of.inner_files = static_cast<const consort_files_ops *>(theirs);
      n.of.files = *n.of.inner_files;
      n.of.files.size = sizeof n.of.files, n.of.files.open_folder = open_folder;
      return &n.of.files;
    }
    return nullptr;
  }
};

}  // namespace layers
