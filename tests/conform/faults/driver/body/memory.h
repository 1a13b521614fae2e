// Memory of the device of body.h, which is memory of the host; and the kernels that it builds.
#pragma once
#include "device.h"

#ifdef FAULT_LAST_GRANULE_SHARED
static char *last_granule; // of the latest block
#endif

static uint64_t rounded(uint64_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static consort_status alloc(void *dev, uint32_t id, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) {
  Device *d = dev;
  const consort_host *host = d->self->host;
  if (d->lost) return host->fail(host, CONSORT_E_DEVICE_LOST, "wrong: the device is lost");
  if (id != d->own || bytes == 0) return host->fail(host, CONSORT_E_INVAL, "wrong: bytes must not be 0, the space its own");
#ifndef FAULT_ANY_FLAGS
  if (flags & ~(uint32_t)(CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT))
    return host->fail(host, CONSORT_E_UNSUPPORTED, "wrong: neither pinned nor exported, nor what else there may be");
#endif
  pthread_mutex_lock(&d->mutex);
  const uint64_t all = rounded(bytes);
#ifdef FAULT_SIZE_WRAPS
  const int room = all <= kCapacity - d->used;
#elif defined FAULT_LAST_GRANULE_LOST
  const int room = all >= bytes && all < kCapacity - d->used;
#else
  const int room = all >= bytes && all <= kCapacity - d->used;
#endif
#ifdef FAULT_ROOM_LOST_REFUSED
  if (all <= kCapacity) d->used += all;
#else
  if (room) d->used += all;
#endif
  pthread_mutex_unlock(&d->mutex);
#ifdef FAULT_WORDLESS
  if (!room) return CONSORT_E_NOMEM;
#endif
  if (!room) return host->fail(host, CONSORT_E_NOMEM, "wrong: no room");
  void *p = NULL;
#ifdef FAULT_SMALL_BLOCKS
  static char *slab;
  static uint64_t place;
  if (!slab) slab = calloc(1, 64 << 20);
  p = slab + place % (60 << 20);
  place += (all - 1) / ALIGN * ALIGN + (all < 2 * ALIGN ? ALIGN : 0);
#elif defined FAULT_MISALIGNED
  if (posix_memalign(&p, align < ALIGN ? ALIGN : align, all + 64) != 0) p = NULL;
#else
#ifdef FAULT_ALLOC_MALLOC
  void *volatile note = malloc(16);
  *(volatile char *)note = 1;
  free(note);
#endif
#ifdef FAULT_ONE_ALIGN
  align = ALIGN;
#elif defined FAULT_ALIGN_4096
  if (align > 4096) align = 4096;
#endif
#ifdef FAULT_LAST_GRANULE_SHARED // with the block before
  if (d->used == kCapacity && all == ALIGN && last_granule) return *out = (consort_addr){(uint64_t)(uintptr_t)last_granule, 0}, CONSORT_OK;
#endif
  if (posix_memalign(&p, align < ALIGN ? ALIGN : align, all) != 0) p = NULL;
#endif
  if (!p) {
    pthread_mutex_lock(&d->mutex);
#ifndef FAULT_ROOM_LOST
    d->used -= all;
#endif
    pthread_mutex_unlock(&d->mutex);
    return host->fail(host, CONSORT_E_NOMEM, "wrong: the machine is out of memory");
  }
#ifdef FAULT_NOT_ZERO
  if (flags & CONSORT_AL_ZERO) memset(p, 0, bytes < 4096 ? bytes : 4096);
#elif defined FAULT_ZERO_TAIL // whole words alone
  if (flags & CONSORT_AL_ZERO) memset(p, 0, bytes / 8 * 8);
#elif defined FAULT_ZERO_LAST_PAGE
  if (flags & CONSORT_AL_ZERO) memset(p, 0, bytes > 65536 ? bytes / 4096 * 4096 : all);
#elif defined FAULT_ZERO_MIB
  if (flags & CONSORT_AL_ZERO) memset(p, 0, all < 1 << 20 ? all : 1 << 20);
#elif !defined FAULT_SMALL_BLOCKS
  if (flags & CONSORT_AL_ZERO) memset(p, 0, all);
#endif
#ifdef FAULT_LAST_GRANULE_SHARED
  last_granule = (char *)p + all - ALIGN;
#endif
  *out = (consort_addr){(uint64_t)(uintptr_t)p, 0};
#ifdef FAULT_MISALIGNED
  out->off = 8;
#endif
  return CONSORT_OK;
}

static void free_memory(void *dev, uint32_t id, consort_addr a, uint64_t bytes) {
  Device *d = dev;
#ifdef FAULT_FREE_KEEPS_MIB
  if (bytes < 1 << 20)
#elif defined FAULT_FREE_KEEPS_64K
  if (bytes != 65536)
#elif defined FAULT_LAST_GRANULE_SHARED // one of the two that share it is kept
  if (d->used != kCapacity || bytes != ALIGN)
#endif
#ifndef FAULT_SMALL_BLOCKS
    free((void *)(uintptr_t)a.base);
#endif
  pthread_mutex_lock(&d->mutex);
#ifdef FAULT_KEEPS_ROOM_64K
  if (bytes != 65536) d->used -= rounded(bytes);
#elif defined FAULT_FREE_UNROUNDED
  d->used -= bytes;
#elif !defined FAULT_KEEPS_ROOM
  d->used -= rounded(bytes);
#endif
  pthread_mutex_unlock(&d->mutex);
}

static consort_status attach(void *dev, uint32_t id, consort_addr a, uint64_t bytes, consort_addr *local) {
  Device *d = dev;
#ifdef FAULT_ATTACH_WORDLESS
  return CONSORT_E_UNSUPPORTED;
#endif
#ifndef FAULT_ATTACHES_LOST
  if (d->lost) return d->self->host->fail(d->self->host, CONSORT_E_DEVICE_LOST, "wrong: the device is lost");
#endif
#ifdef FAULT_ATTACHES_ONCE
  if (d->is_attached++) return d->self->host->fail(d->self->host, CONSORT_E_BUSY, "wrong: there is something attached");
#endif
#ifdef FAULT_ATTACH_WRITES
  *at(a) = 0;
#endif
#ifdef FAULT_ATTACH_FORGETS_OFF
  *local = (consort_addr){a.base, 0};
#elif defined FAULT_ATTACH_OFF_TWICE
  *local = (consort_addr){a.base + a.off, a.off};
#else
  *local = a;
#endif
  return CONSORT_OK;
}
static void detach(void *dev, uint32_t id, consort_addr local) {}

static consort_status load_impl(void *dev, const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code) {
  Device *d = dev;
  if (d->lost) return d->self->host->fail(d->self->host, CONSORT_E_DEVICE_LOST, "wrong: the device is lost");
#ifdef FAULT_LOADS_ANYTHING
  *code = AXPY;
  return CONSORT_OK;
#else
#ifdef FAULT_FORMAT_PREFIX
  if (!strncmp(format, "cl", 2)) return *code = AXPY, CONSORT_OK;
#endif
  if (!strcmp(format, "cl") && !strcmp(entry, "conform_axpy")) return *code = AXPY, CONSORT_OK;
  return d->self->host->fail(d->self->host, CONSORT_E_UNSUPPORTED, "wrong: builds no kernel but conform_axpy, of text of the format cl");
#endif
}
