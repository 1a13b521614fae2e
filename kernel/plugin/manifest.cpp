#include "plugin/manifest.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace consort {
namespace {

constexpr uint32_t kTooLarge = 1 << 16;  // bytes of a table: a larger size is invalid
constexpr uint32_t kMostParams = 1024;

struct Filler {
  std::string *holes;

  // A stub returns kAnswer.
  template <auto kAnswer, class R, class... A>
  void operator()(R (*&f)(A...), const char *name) const {
    if (f) return;
    if constexpr (std::is_void_v<R>) f = [](A...) {};
    else f = [](A...) { return static_cast<R>(kAnswer); };
    *holes += (holes->empty() ? "" : " ") + std::string(name);
  }
};
#define FILL(f, answer) fill.template operator()<answer>(t.f, #f)

void fill_holes(consort_driver_ops &t, const Filler &fill) {
  constexpr auto no = CONSORT_E_UNSUPPORTED, end = CONSORT_E_INVAL;
  FILL(count, 0);
  FILL(open, no);
  FILL(close, 0);
  FILL(space, end);
  FILL(unit, end);
  FILL(link, no);
  FILL(alloc, no);
  FILL(free, 0);
  FILL(attach, no);
  FILL(detach, 0);
  FILL(load_impl, no);
  FILL(queue_open, no);
  FILL(queue_close, 0);
  FILL(submit, 0);
  FILL(poll, 0);
  if (t.flags & CONSORT_DRV_FD) {  // the flag promises both functions
    FILL(event_fd, -1);
    FILL(arm, no);
  }
}

void fill_holes(consort_interface_ops &t, const Filler &fill) {
  constexpr auto no = CONSORT_E_UNSUPPORTED;
  FILL(shape, no);
  FILL(footprint, 0);
  FILL(bytes, 0);
  FILL(blocks, 0);
  FILL(view, no);
  FILL(extents, 0);
  FILL(args, 0);
  FILL(runs, 0);
  FILL(packed_bytes, 0);
  FILL(pack, no);
  FILL(unpack, no);
  FILL(encode, 0);
  FILL(decode, no);
  FILL(describe, 0);
  if (t.flags & CONSORT_IF_DYNAMIC) FILL(reshape, no);
}

void fill_holes(consort_scheduler_ops &t, const Filler &fill) {
  constexpr auto no = CONSORT_E_UNSUPPORTED;
  FILL(create, no);
  FILL(destroy, 0);
  FILL(workers, no);
  FILL(push, 0);
  FILL(pop, 0);
  FILL(drain, 0);
  FILL(quiesce, CONSORT_OK);
}

void fill_holes(consort_transport_ops &t, const Filler &fill) {
  constexpr auto no = CONSORT_E_UNSUPPORTED;
  FILL(open, no);
  FILL(close, 0);
  FILL(address, no);
  FILL(connect, no);
  FILL(disconnect, 0);
  FILL(reg, no);
  FILL(dereg, 0);
  FILL(post, 0);
  FILL(poll, 0);
  if (t.flags & CONSORT_TC_FD) {
    FILL(event_fd, -1);
    FILL(arm, no);
  }
}

void fill_holes(consort_report_ops &t, const Filler &fill) { FILL(report, CONSORT_E_UNSUPPORTED); }
void fill_holes(consort_layer_ops &t, const Filler &fill) { FILL(wrap, nullptr); }
#undef FILL

// least: size of the table in the first version of its family; a smaller table is rejected.
template <class T>
Result<void> copy_table(const void *theirs, uint32_t least, T *mine, std::string *holes, const std::string &label) {
  if (reinterpret_cast<uintptr_t>(theirs) % alignof(T) != 0)
    return error(CONSORT_E_ABI, label + " has a misaligned function table: point ops at a static consort_…_ops");
  uint32_t size;
  std::memcpy(&size, theirs, sizeof size);
  if (size < least || size > kTooLarge)
    return error(CONSORT_E_ABI, label + " gives its function table a size of " + std::to_string(size) +
                                    " bytes, expected at least " + std::to_string(least) +
                                    ": begin it with sizeof of its type");
  std::memcpy(mine, theirs, std::min<size_t>(size, sizeof(T)));
  mine->size = sizeof(T);
  fill_holes(*mine, Filler{holes});
  return {};
}

bool is_text(const char *s, size_t room) { return s && ::strnlen(s, room) < room; }

Result<void> check(const consort_plugin &p, const consort_note *note, const std::string &label) {
  if (!is_text(p.name, sizeof consort_note::name) || !*p.name || !is_text(p.version, sizeof consort_note::version))
    return error(CONSORT_E_ABI, label + " has a manifest without a name or version that fits a note");
  if (note) {
    const auto differs = [&](const char *what) {
      return error(CONSORT_E_ABI, label + " says another " + what +
                                      " in its manifest than in its note: repeat it in CONSORT_MODULE(...)");
    };
    if (std::strcmp(p.name, note->name) != 0) return differs("name");
    if (std::strcmp(p.version, note->version) != 0) return differs("version");
    if (p.kind != note->kind) return differs("kind");
    if (p.flags != note->flags) return differs("set of flags");
    if (p.abi_major != note->abi_major || p.abi_minor != note->abi_minor) return differs("ABI version");
  }
  if (!p.ops) return error(CONSORT_E_ABI, label + " has no function table: set ops in its manifest");
  if (p.nparams > kMostParams || (p.nparams && !p.params))
    return error(CONSORT_E_ABI, label + " announces " + std::to_string(p.nparams) + " parameters " +
                                    (p.params ? "but there may be at most " + std::to_string(kMostParams)
                                              : "but has no list of them"));
  return {};
}

// Lists that the kernel iterates: a count without a list, or a filter without a function, would crash the process.
Result<void> check_lists(consort_interface_ops &t, const std::string &label) {
  constexpr uint32_t kMostEntries = 4096;
  const auto bad = [&](const char *what, uint32_t n, bool there) -> Result<void> {
    if (n <= kMostEntries && (there || !n)) return {};
    return error(CONSORT_E_ABI, label + " announces " + std::to_string(n) + " " + what +
                                    (there ? " but there may be at most " + std::to_string(kMostEntries)
                                           : " but has no list of them"));
  };
  if (auto r = bad("filters", t.nfilters, t.filters); !r) return r;
  if (auto r = bad("conversions", t.nconversions, t.conversions); !r) return r;
  for (uint32_t i = 0; i < t.nfilters; ++i)
    if (const consort_filter &f = t.filters[i]; !f.name || !f.count || !f.shape || !f.alias)
      return error(CONSORT_E_ABI, label + " has a filter, number " + std::to_string(i) +
                                      ", without a name, count(), shape() or alias(): give all four");
  return {};
}

}  // namespace

Result<void> Manifest::fill(const consort_plugin *theirs, const consort_note *note, const std::string &label) {
  if (!theirs) return error(CONSORT_E_ABI, label + " has a NULL in its list of plugins");
  if (!CONSORT_HAS(theirs, consort_plugin, ops) || theirs->size > kTooLarge)
    return error(CONSORT_E_ABI, label + " gives its manifest a size of " + std::to_string(theirs->size) +
                                    " bytes: begin it with sizeof(consort_plugin)");
  plugin = {};
  std::memset(&ops, 0, sizeof ops);
  holes.clear();
  std::memcpy(&plugin, theirs, std::min<size_t>(theirs->size, sizeof plugin));
  plugin.size = sizeof plugin;
  if (auto sane = check(plugin, note, label); !sane) return sane.error();
  if (!plugin.summary) plugin.summary = "";
  if (!plugin.license) plugin.license = "";
  if (!plugin.init)
    plugin.init = [](const consort_host *, void **self) { return *self = nullptr, consort_status{CONSORT_OK}; };
  if (!plugin.quiesce) plugin.quiesce = [](void *, uint64_t) { return consort_status{CONSORT_OK}; };
  if (!plugin.fini) plugin.fini = [](void *) {};
  if (!plugin.get) plugin.get = [](void *, const char *) { return static_cast<const void *>(nullptr); };

  Result<void> copied;
  switch (plugin.kind) {
    case CONSORT_KIND_DRIVER:
      copied = copy_table(plugin.ops, CONSORT_END(consort_driver_ops, poll), &ops.driver, &holes, label);
      break;
    case CONSORT_KIND_INTERFACE:
      copied = copy_table(plugin.ops, CONSORT_END(consort_interface_ops, runs), &ops.interface, &holes, label);
      if (copied) copied = check_lists(ops.interface, label);
      break;
    case CONSORT_KIND_SCHEDULER:
      copied = copy_table(plugin.ops, CONSORT_END(consort_scheduler_ops, quiesce), &ops.scheduler, &holes, label);
      break;
    case CONSORT_KIND_TRANSPORT:
      copied = copy_table(plugin.ops, CONSORT_END(consort_transport_ops, poll), &ops.transport, &holes, label);
      break;
    case CONSORT_KIND_REPORT:
      copied = copy_table(plugin.ops, CONSORT_END(consort_report_ops, report), &ops.report, &holes, label);
      break;
    case CONSORT_KIND_LAYER:
      copied = copy_table(plugin.ops, CONSORT_END(consort_layer_ops, wrap), &ops.layer, &holes, label);
      break;
    default:
      copied = error(CONSORT_E_ABI, label + " is of kind " + std::to_string(plugin.kind) + ", which needs a newer host");
  }
  plugin.ops = &ops;
  return copied;
}

}  // namespace consort
