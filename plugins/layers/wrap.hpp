// wrap.hpp — the wrapper of a plugin, and a layer as a plugin.
//
// A Wrapped lives as long as its layer's instance: the host may call it until then.
#pragma once
#include <memory>
#include <string>

#include "trampolines.hpp"

namespace layers {

// -- the wrapper of a plugin ---------------------------------------------------------------------------------

template <class L>
struct Wrapped {
  L &layer;
  const consort_host *const of;  // before init() and without a handle
  const consort_plugin *const inner;
  consort_plugin outer;
  union {
    consort_driver_ops driver;
    consort_interface_ops interface;
    consort_scheduler_ops scheduler;
    consort_transport_ops transport;
  };
  std::vector<Filter<L>> filters;
  std::vector<consort_filter> filter_table;
  Shim<L> shim;
  Node<L> root{*this, nullptr, "plugin"};
  const consort_times *times = nullptr;  // from get()
  const consort_nearby *nearby = nullptr;
  const consort_handles *handles = nullptr;
  const consort_places *places = nullptr;
  const consort_files_ops *inner_files = nullptr;
  consort_files_ops files{};  // the table that the host gets
  int slot = -1, interface_slot = -1;
  bool live = false;  // between init() and fini()

  Wrapped(L &l, const consort_host *h, const consort_plugin *p) : layer(l), of(h), inner(p), outer(*p) {
    outer.size = sizeof outer;
    outer.quiesce = Via<L, &consort_plugin::quiesce>::run;
    outer.fini = fini;
    outer.get = Extensions<L>::get;
    take_host(h);
  }
  Wrapped(const Wrapped &) = delete;
  ~Wrapped() {
    plugin_slots<L>.give_back(slot);
    interface_slots<L>.give_back(interface_slot);
    for (Filter<L> &f : filters) filter_slots<L>.give_back(f.slot);
  }

  template <class T>
  const T &table() const noexcept {
    if constexpr (std::is_same_v<T, consort_plugin>)
      return *inner;
    else
      return *static_cast<const T *>(inner->ops);
  }

  // false: no slots are left, or its kind or version is unknown.
  bool take_place() {
    if ((slot = plugin_slots<L>.take(this)) < 0) return false;
    outer.init = init_functions<L>[static_cast<size_t>(slot)];
    switch (inner->kind) {
      case CONSORT_KIND_DRIVER:
        return fits(CONSORT_DRIVER_MAJOR, CONSORT_DRIVER_MINOR) && fill(driver);
      case CONSORT_KIND_INTERFACE:
        return fits(CONSORT_INTERFACE_MAJOR, CONSORT_INTERFACE_MINOR) && fill(interface);
      case CONSORT_KIND_SCHEDULER:
        return fits(CONSORT_SCHEDULER_MAJOR, CONSORT_SCHEDULER_MINOR) && fill(scheduler);
      case CONSORT_KIND_TRANSPORT:
        return fits(CONSORT_TRANSPORT_MAJOR, CONSORT_TRANSPORT_MINOR) && fill(transport);
      default:
        return false;
    }
  }

  consort_status init(const consort_host *host, void **self) {
    take_host(host);
    const consort_status s = L::template call<&consort_plugin::init>(
        root, nullptr,
        [&](const consort_host *) { return inner->init ? inner->init(&shim.table, &root.inner) : CONSORT_OK; }, host);
    live = s >= 0;
    return *self = &root, s;
  }

  // A closed handle is forgotten, or kept as closed if the layer reports later uses.
  Node<L> *add(Node<L> *parent, const char *what, const uint64_t *token) noexcept try {
    const std::lock_guard lock(mutex_);
    auto n = std::unique_ptr<Node<L>>(new Node<L>{*this, parent, what});
    if (token) n->token = *token, n->has_token = true;
    return nodes_.emplace_back(std::move(n)).get();
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
  void forget(Node<L> &n) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(nodes_, [&](const auto &p) { return p.get() == &n; });
  }
  void end(Node<L> &n) noexcept {
    if constexpr (L::kRemembersClosed)
      n.closed.store(true, std::memory_order_relaxed);
    else
      forget(n);
  }
  Node<L> *of_token(uint64_t token) noexcept {  // the open queue or endpoint; valid until it is closed
    Node<L> *found = nullptr;
    each([&](Node<L> &n) {
      if (n.has_token && n.token == token && !n.closed.load(std::memory_order_relaxed)) found = &n;
    });
    return found;
  }
  template <class F>
  void each(F &&f) {  // every known handle
    const std::lock_guard lock(mutex_);
    for (auto &n : nodes_) f(*n);
  }

 private:
  static void fini(void *self) {
    auto &n = *static_cast<Node<L> *>(self);
    Via<L, &consort_plugin::fini>::call(n);
    n.of.end_root();
  }
  void end_root() noexcept {
    live = false;
    root.closed.store(true, std::memory_order_relaxed);
  }
  bool fits(unsigned major, unsigned minor) const {
    return CONSORT_ABI_OK(major, minor, inner->abi_major, inner->abi_minor);
  }

  void take_host(const consort_host *h) {
    shim = {*h, this, h};
    shim.table.size = sizeof(consort_host);
#define LAYERS_SET(f, tag) shim.table.f = Hosted<L, &consort_host::f>::run;
    LAYERS_OF_HOST(LAYERS_SET)
#undef LAYERS_SET
  }

  // As inner's table, with NULL if inner has NULL.
#define LAYERS_VIA(T, f) \
  if (t.f) t.f = Via<L, &T::f>::run;
  bool fill(consort_driver_ops &t) {
    t = table<consort_driver_ops>();
#define LAYERS_SET(f, tag) LAYERS_VIA(consort_driver_ops, f)
    LAYERS_OF_DRIVER(LAYERS_SET)
    LAYERS_OF_DEVICE(LAYERS_SET)
    LAYERS_OF_QUEUE(LAYERS_SET)
#undef LAYERS_SET
    t.open = make_device<L>, t.close = Ending<L, &consort_driver_ops::close>::run;
    t.queue_open = make_queue<L>, t.queue_close = Ending<L, &consort_driver_ops::queue_close>::run;
    return outer.ops = &t, true;
  }
  bool fill(consort_scheduler_ops &t) {
    t = table<consort_scheduler_ops>();
#define LAYERS_SET(f, tag) LAYERS_VIA(consort_scheduler_ops, f)
    LAYERS_OF_SCHEDULER(LAYERS_SET)
#undef LAYERS_SET
    t.create = make_scheduler<L>, t.destroy = Ending<L, &consort_scheduler_ops::destroy>::run;
    return outer.ops = &t, true;
  }
  bool fill(consort_transport_ops &t) {
    t = table<consort_transport_ops>();
#define LAYERS_SET(f, tag) LAYERS_VIA(consort_transport_ops, f)
    LAYERS_OF_ENDPOINT(LAYERS_SET)
#undef LAYERS_SET
    t.open = make_endpoint<L>, t.close = Ending<L, &consort_transport_ops::close>::run;
    return outer.ops = &t, true;
  }
#undef LAYERS_VIA
  bool fill(consort_interface_ops &t) {
    t = table<consort_interface_ops>();
    if ((interface_slot = interface_slots<L>.take(this)) < 0) return false;
    const consort_interface_ops &mine = interface_tables<L>[static_cast<size_t>(interface_slot)];
#define LAYERS_SET(f, tag) \
  if (t.f) t.f = mine.f;
    LAYERS_OF_INTERFACE(LAYERS_SET)
#undef LAYERS_SET
    filters.reserve(t.nfilters);
    for (uint32_t i = 0; i < t.nfilters; ++i) {
      Filter<L> &f = filters.emplace_back(Filter<L>{this, &t.filters[i], -1});
      if ((f.slot = filter_slots<L>.take(&f)) < 0) return false;
      consort_filter &mine_too = filter_table.emplace_back(t.filters[i]);
      const consort_filter &functions = filter_tables<L>[static_cast<size_t>(f.slot)];
#define LAYERS_SET(f, tag) \
  if (mine_too.f) mine_too.f = functions.f;
      LAYERS_OF_FILTER(LAYERS_SET)
#undef LAYERS_SET
    }
    if (t.nfilters) t.filters = filter_table.data();
    return outer.ops = &t, true;
  }

  std::mutex mutex_;  // guards nodes_; locked last
  std::vector<std::unique_ptr<Node<L>>> nodes_;
};

// -- the layer as a plugin -----------------------------------------------------------------------------------

// L(host) reads its parameters; open() returns an error text for them; wants() selects plugins; end()
// is called when nothing of a wrapped plugin is live.
template <class L>
struct Plugin {
  L layer;
  const consort_host *host;
  std::vector<std::unique_ptr<Wrapped<L>>> all;  // [control], under the host's lock

  explicit Plugin(const consort_host *h) : layer(h), host(h) {}

  static consort_status init(const consort_host *host, void **self) try {
    auto p = std::make_unique<Plugin>(host);
    if (const consort_status s = p->layer.open(); s < 0) return s;
    return *self = p.release(), CONSORT_OK;
  } catch (const std::bad_alloc &) {
    return host->fail(host, CONSORT_E_NOMEM, "out of memory at start");
  }
  static consort_status quiesce(void *self, uint64_t) { return static_cast<Plugin *>(self)->layer.end(), CONSORT_OK; }
  static void fini(void *self) { delete static_cast<Plugin *>(self); }
  template <size_t n>
  static constexpr consort_plugin table(const char *name, const char *summary, const consort_param (&params)[n]) {
    return {.size = sizeof(consort_plugin), .kind = CONSORT_KIND_LAYER, .abi_major = CONSORT_LAYER_MAJOR,
            .abi_minor = CONSORT_LAYER_MINOR, .flags = 0, .name = name, .version = "0.1.0", .summary = summary,
            .license = "Apache-2.0", .params = params, .nparams = n, .reserved = 0, .ops = &ops, .init = init,
            .quiesce = quiesce, .fini = fini, .get = nullptr};
  }
  static const consort_plugin *wrap(void *self, const consort_host *of, const consort_plugin *inner) try {
    auto &p = *static_cast<Plugin *>(self);
    if (inner->kind < CONSORT_KIND_DRIVER || inner->kind > CONSORT_KIND_TRANSPORT || !p.layer.wants(*inner))
      return inner;
    auto w = std::make_unique<Wrapped<L>>(p.layer, of, inner);
    if (!w->take_place()) {
      p.host->log(p.host, 1,
                  (std::string("\"") + inner->name +
                   "\" is not wrapped: this process has more plugins than the "
                   "layer supports, or it was built with headers that this layer does not know")
                      .c_str());
      return inner;
    }
    p.all.push_back(std::move(w));
    return &p.all.back()->outer;
  } catch (const std::bad_alloc &) {
    return of->fail(of, CONSORT_E_NOMEM, "out of memory for a wrapper"), nullptr;
  }
  static constexpr consort_layer_ops ops = {sizeof(consort_layer_ops), 0, wrap};
};

}  // namespace layers
