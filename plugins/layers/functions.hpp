// functions.hpp — all functions of the tables that layers wrap, with names and thread tags.
//
// A new function of a table must be added here: the size checks at the end enforce it.
#pragma once
#include <consort/driver.h>
#include <consort/interface.h>
#include <consort/scheduler.h>
#include <consort/transport.h>

#include <cstdint>

namespace layers {

enum class Tag : uint8_t { kAny, kControl, kWorker, kQueue, kPure, kLoad };
constexpr const char *tag_text(Tag t) {
  constexpr const char *texts[] = {"[any]", "[control]", "[worker]", "[queue]", "[pure]", "[load]"};
  return texts[static_cast<int>(t)];
}
struct Site { const char *function; Tag tag; };

// Functions with a handle that return no handle. Functions that create or end handles are listed separately.
#define LAYERS_OF_DRIVER(X) X(count, kControl)
#define LAYERS_OF_DEVICE(X) \
  X(space, kControl) X(unit, kControl) X(link, kControl) X(alloc, kControl) X(free, kControl) X(attach, kControl) \
  X(detach, kControl) X(load_impl, kLoad) X(codelet, kControl)
#define LAYERS_OF_QUEUE(X) X(submit, kQueue) X(poll, kQueue) X(event_fd, kControl) X(arm, kQueue) X(next_event, kQueue)
#define LAYERS_OF_SCHEDULER(X) \
  X(workers, kControl) X(push, kAny) X(pop, kWorker) X(drain, kControl) X(quiesce, kControl) X(submitted, kAny) \
  X(adopt, kControl) X(dropped, kAny) X(started, kWorker) X(finished, kWorker) X(flush, kAny) X(urgency, kControl) \
  X(victim, kAny) X(next_event, kAny) X(direct, kControl) X(directed, kControl)
#define LAYERS_OF_ENDPOINT(X) \
  X(address, kControl) X(connect, kControl) X(disconnect, kControl) X(reg, kControl) X(dereg, kControl) X(post, kQueue) \
  X(poll, kQueue) X(event_fd, kControl) X(arm, kQueue) X(next_event, kQueue) X(boot, kControl) X(advance, kControl)
#define LAYERS_OF_INTERFACE(X) \
  X(shape, kPure) X(footprint, kPure) X(bytes, kPure) X(blocks, kPure) X(view, kPure) X(extents, kPure) X(args, kPure) \
  X(runs, kPure) X(reshape, kAny) X(packed_bytes, kAny) X(pack, kAny) X(unpack, kAny) X(encode, kPure) X(decode, kPure) \
  X(describe, kPure) X(sizes, kPure)
#define LAYERS_OF_FILTER(X) X(count, kPure) X(shape, kPure) X(alias, kPure)
#define LAYERS_OF_HOST(X) \
  X(log, kAny) X(fail, kAny) X(get, kControl) X(param, kControl) X(alloc, kAny) X(release, kAny) X(now, kAny) \
  X(complete, kAny) X(event, kAny)

template <auto kFn>
inline constexpr Site site{};
#define LAYERS_SITE(T, f, tag) template <> inline constexpr Site site<&T::f>{#f, Tag::tag};
#define LAYERS_SITES(f, tag) LAYERS_SITE(consort_driver_ops, f, tag)
LAYERS_OF_DRIVER(LAYERS_SITES)
LAYERS_OF_DEVICE(LAYERS_SITES)
LAYERS_OF_QUEUE(LAYERS_SITES)
LAYERS_SITES(open, kControl)
LAYERS_SITES(close, kControl)
LAYERS_SITES(queue_open, kControl)
LAYERS_SITES(queue_close, kControl)
#undef LAYERS_SITES
#define LAYERS_SITES(f, tag) LAYERS_SITE(consort_scheduler_ops, f, tag)
LAYERS_OF_SCHEDULER(LAYERS_SITES)
LAYERS_SITES(create, kControl)
LAYERS_SITES(destroy, kControl)
#undef LAYERS_SITES
#define LAYERS_SITES(f, tag) LAYERS_SITE(consort_transport_ops, f, tag)
LAYERS_OF_ENDPOINT(LAYERS_SITES)
LAYERS_SITES(open, kControl)
LAYERS_SITES(close, kControl)
#undef LAYERS_SITES
#define LAYERS_SITES(f, tag) LAYERS_SITE(consort_interface_ops, f, tag)
LAYERS_OF_INTERFACE(LAYERS_SITES)
#undef LAYERS_SITES
#define LAYERS_SITES(f, tag) LAYERS_SITE(consort_filter, f, tag)
LAYERS_OF_FILTER(LAYERS_SITES)
#undef LAYERS_SITES
#define LAYERS_SITES(f, tag) LAYERS_SITE(consort_host, f, tag)
LAYERS_OF_HOST(LAYERS_SITES)
#undef LAYERS_SITES
#define LAYERS_SITES(f, tag) LAYERS_SITE(consort_plugin, f, tag)
LAYERS_SITES(init, kControl)
LAYERS_SITES(quiesce, kControl)
LAYERS_SITES(fini, kControl)
LAYERS_SITES(get, kControl)
#undef LAYERS_SITES
#undef LAYERS_SITE

// The number of functions of each table. The other bytes are size, flags and data.
#define LAYERS_ONE(f, tag) +1
static_assert(sizeof(consort_driver_ops) ==
              8 + 8 * (4 LAYERS_OF_DRIVER(LAYERS_ONE) LAYERS_OF_DEVICE(LAYERS_ONE) LAYERS_OF_QUEUE(LAYERS_ONE)));
static_assert(sizeof(consort_scheduler_ops) == 8 + 8 * (2 LAYERS_OF_SCHEDULER(LAYERS_ONE)));
static_assert(sizeof(consort_transport_ops) == 8 + 8 * (2 LAYERS_OF_ENDPOINT(LAYERS_ONE)));
static_assert(sizeof(consort_interface_ops) == 40 + 8 * (0 LAYERS_OF_INTERFACE(LAYERS_ONE)));
static_assert(sizeof(consort_filter) == 24 + 8 * (0 LAYERS_OF_FILTER(LAYERS_ONE)));
static_assert(sizeof(consort_host) == 16 + 8 * (0 LAYERS_OF_HOST(LAYERS_ONE)));
#undef LAYERS_ONE

template <auto a, auto b>
inline constexpr bool same = false;
template <auto a>
inline constexpr bool same<a, a> = true;

}  // namespace layers
