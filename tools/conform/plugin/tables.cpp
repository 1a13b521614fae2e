// The tables that the entry returns.
#include <consort/interface.h>
#include <consort/layer.h>
#include <consort/report.h>
#include <consort/scheduler.h>
#include <consort/transport.h>

#include "conform/case.hpp"
#include "conform/plugin.hpp"

namespace conform {
namespace {

constexpr uint32_t kKnownFlags = CONSORT_PF_UNLOADABLE | CONSORT_PF_SWAPPABLE | CONSORT_PF_VIRTUAL |
                                 CONSORT_PF_NEEDS_MINOR | CONSORT_PF_BY_NAME | CONSORT_PF_PROBED | CONSORT_PF_LAST;

struct Family {
  uint32_t kind;
  uint16_t major, minor;
  uint32_t least;    // size of the table in the kind's first version
};
constexpr Family kFamilies[] = {
    {CONSORT_KIND_DRIVER, CONSORT_DRIVER_MAJOR, CONSORT_DRIVER_MINOR, CONSORT_END(consort_driver_ops, poll)},
    {CONSORT_KIND_INTERFACE, CONSORT_INTERFACE_MAJOR, CONSORT_INTERFACE_MINOR, CONSORT_END(consort_interface_ops, runs)},
    {CONSORT_KIND_SCHEDULER, CONSORT_SCHEDULER_MAJOR, CONSORT_SCHEDULER_MINOR, CONSORT_END(consort_scheduler_ops, quiesce)},
    {CONSORT_KIND_TRANSPORT, CONSORT_TRANSPORT_MAJOR, CONSORT_TRANSPORT_MINOR, CONSORT_END(consort_transport_ops, poll)},
    {CONSORT_KIND_REPORT, CONSORT_REPORT_MAJOR, CONSORT_REPORT_MINOR, CONSORT_END(consort_report_ops, report)},
    {CONSORT_KIND_LAYER, CONSORT_LAYER_MAJOR, CONSORT_LAYER_MINOR, CONSORT_END(consort_layer_ops, wrap)}};

const Family *find_family(uint32_t kind) {
  for (const Family &f : kFamilies)
    if (f.kind == kind) return &f;
  return nullptr;
}

#define HOLE(f) t.check(ops.f, "there is no " #f)

void find_holes(Trial &t, const consort_driver_ops &ops) {
  HOLE(count), HOLE(open), HOLE(close), HOLE(space), HOLE(unit), HOLE(link), HOLE(alloc), HOLE(free), HOLE(attach);
  HOLE(detach), HOLE(load_impl), HOLE(queue_open), HOLE(queue_close), HOLE(submit), HOLE(poll);
  if (ops.flags & CONSORT_DRV_FD) HOLE(event_fd), HOLE(arm);
}
void find_holes(Trial &t, const consort_interface_ops &ops) {
  HOLE(shape), HOLE(footprint), HOLE(bytes), HOLE(blocks), HOLE(view), HOLE(extents), HOLE(args), HOLE(runs);
  HOLE(packed_bytes), HOLE(pack), HOLE(unpack), HOLE(encode), HOLE(decode), HOLE(describe);
  if (ops.flags & CONSORT_IF_DYNAMIC) HOLE(reshape);
}
void find_holes(Trial &t, const consort_scheduler_ops &ops) {
  HOLE(create), HOLE(destroy), HOLE(workers), HOLE(push), HOLE(pop), HOLE(drain), HOLE(quiesce);
}
void find_holes(Trial &t, const consort_transport_ops &ops) {
  HOLE(open), HOLE(close), HOLE(address), HOLE(connect), HOLE(disconnect), HOLE(reg), HOLE(dereg), HOLE(post), HOLE(poll);
  if (ops.flags & CONSORT_TC_FD) HOLE(event_fd), HOLE(arm);
}
void find_holes(Trial &t, const consort_report_ops &ops) { HOLE(report); }
void find_holes(Trial &t, const consort_layer_ops &ops) { HOLE(wrap); }
#undef HOLE

}  // namespace

CONFORM_CASE(P, 4, abi, note_and_table_agree) {
  const Plugin p(t, false);
  const consort_note &note = t.subject().note;
  const consort_plugin &m = p.manifest();
  t.check(m.version && !strcmp(m.version, note.version), "the table says version \"%s\", the note \"%s\"",
          m.version ? m.version : "(none)", note.version);
  t.check(m.kind == note.kind, "the table says %s, the note %s", kind_name(m.kind), kind_name(note.kind));
  t.check(m.flags == note.flags, "the table says flags 0x%x, the note 0x%x", m.flags, note.flags);
  t.check(m.abi_major == note.abi_major && m.abi_minor == note.abi_minor, "the table says ABI %u.%u, the note %u.%u", m.abi_major,
          m.abi_minor, note.abi_major, note.abi_minor);
}

CONFORM_CASE(P, 5, abi, built_for_this_host) {
  const consort_note &note = t.subject().note;
  t.need(note.kind, "has no note");
  t.check(CONSORT_ABI_OK(CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR, note.host_major, note.host_minor),
          "is built for host ABI %u.%u, this is %u.%u", note.host_major, note.host_minor, CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR);
  const Family *f = find_family(note.kind);
  t.need(f, "is of kind %u, which this consort does not know", note.kind);
  t.check(CONSORT_ABI_OK(f->major, f->minor, note.abi_major, note.abi_minor), "is built for %s ABI %u.%u, this is %u.%u",
          kind_name(note.kind), note.abi_major, note.abi_minor, f->major, f->minor);
  t.check(!(note.flags & ~kKnownFlags), "sets flags 0x%x, which mean nothing", note.flags & ~kKnownFlags);
}

CONFORM_CASE(P, 6, abi, tables_begin_with_their_sizes) {
  const Plugin p(t, false);
  constexpr uint32_t kTooLarge = 1 << 16;
  t.check(p.theirs()->size >= CONSORT_END(consort_plugin, ops) && p.theirs()->size <= kTooLarge,
          "the plugin's table says that it has %u bytes; sizeof(consort_plugin) is %zu here", p.theirs()->size, sizeof(consort_plugin));
  t.need(reinterpret_cast<uintptr_t>(p.manifest().ops) % alignof(void *) == 0, "the functions' table is misaligned");
  uint32_t size;
  std::memcpy(&size, p.manifest().ops, sizeof size);
  const Family *f = find_family(t.subject().note.kind);
  t.need(f, "is of a kind that this consort does not know");
  t.check(size >= f->least && size <= kTooLarge, "the functions' table says that it has %u bytes; the first version had %u", size,
          f->least);
}

CONFORM_CASE(P, 9, abi, has_what_is_mandatory) {
  const Plugin p(t, false);
  switch (p.manifest().kind) {
    case CONSORT_KIND_DRIVER: return find_holes(t, p.ops<consort_driver_ops>());
    case CONSORT_KIND_INTERFACE: return find_holes(t, p.ops<consort_interface_ops>());
    case CONSORT_KIND_SCHEDULER: return find_holes(t, p.ops<consort_scheduler_ops>());
    case CONSORT_KIND_TRANSPORT: return find_holes(t, p.ops<consort_transport_ops>());
    case CONSORT_KIND_REPORT: return find_holes(t, p.ops<consort_report_ops>());
    case CONSORT_KIND_LAYER: return find_holes(t, p.ops<consort_layer_ops>());
    default: t.need(false, "is of kind %u, which is none", p.manifest().kind);
  }
}

}  // namespace conform
