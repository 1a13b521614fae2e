/* consort/plugin.h — what every plugin shares: status, host table, manifest, entry.
 * C11 or C++11, 64-bit. Includes only <stddef.h> and <stdint.h>; links to nothing.
 *
 * Growth law (all ABI headers): a struct whose first field is `size` may only be
 * appended to, at or beyond its old sizeof (never into tail padding: an old `size`
 * covers that); a struct without it is FROZEN and is replaced, never edited.
 * Reader's test: CONSORT_HAS() for a field, CONSORT_HAS_FN() for a function. Never `==`.
 * Out-parameters: the caller sets out->size, the callee writes at most that many bytes.
 * Arrays hold FROZEN structs or pointers, never `size` structs (stride would differ).
 * Versions: major 0 is unstable, host and plugin must agree on the minor exactly; from
 * major 1 on, a newer minor only adds, and loads unless CONSORT_PF_NEEDS_MINOR.
 * Thread tags on every function pointer:
 *   [control] one thread at a time, may block     [worker] only the thread that owns the worker
 *   [queue]   externally serialised per queue     [any] concurrently from any thread
 *   [pure]    [any] + no side effects, no host calls, no allocation
 * Only [control] functions may block, allocate from the OS or take a contended lock. */
#ifndef CONSORT_PLUGIN_H
#define CONSORT_PLUGIN_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#define CONSORT_STATIC_ASSERT static_assert
#define CONSORT_EXTERN_C extern "C"
#else
#define CONSORT_STATIC_ASSERT _Static_assert
#define CONSORT_EXTERN_C extern
#endif

#define CONSORT_HOST_MAJOR 0
#define CONSORT_HOST_MINOR 2
/* May code built for (maj, min) meet a party that is (gmaj, gmin)? One rule for host and families. */
#define CONSORT_ABI_OK(maj, min, gmaj, gmin) ((gmaj) == (maj) && ((gmaj) != 0 || (gmin) == (min)))
#define CONSORT_END(T, f) (offsetof(T, f) + sizeof(((T *)0)->f))
#define CONSORT_HAS(p, T, f) ((p)->size >= CONSORT_END(T, f))
#define CONSORT_HAS_FN(p, T, f) (CONSORT_HAS(p, T, f) && (p)->f != NULL)
#define CONSORT_FROZEN(T, n) CONSORT_STATIC_ASSERT(sizeof(T) == (n), #T " is frozen")
#define CONSORT_AT(T, f, n) CONSORT_STATIC_ASSERT(offsetof(T, f) == (n), #T "." #f " is frozen")
#define CONSORT_NONE 0xffffffffu /* no worker, no space, no team, any peer, kernel's choice of implementation */
#define CONSORT_NEVER UINT64_MAX /* no event, no deadline */
CONSORT_STATIC_ASSERT(sizeof(void *) == 8, "64-bit hosts only");

typedef int32_t consort_status; /* 0 ok, >0 non-error outcome, <0 error */
enum {
  CONSORT_OK = 0, CONSORT_AGAIN = 1,
  CONSORT_E_INVAL = -1, CONSORT_E_NOMEM = -2, CONSORT_E_UNSUPPORTED = -3, CONSORT_E_BUSY = -4,
  CONSORT_E_IO = -5, CONSORT_E_CANCELLED = -6, CONSORT_E_DEVICE_LOST = -7, CONSORT_E_PEER_LOST = -8,
  CONSORT_E_ABI = -9, CONSORT_E_INTERNAL = -10, /* unknown negatives are treated as INTERNAL */
  CONSORT_E_TIMEOUT = -11, CONSORT_E_TRUNCATED = -12, CONSORT_E_POISONED = -13, /* its input's writer failed */
  CONSORT_E_STALE = -14,  /* handle of a dead generation */
  CONSORT_E_STOPPED = -15 /* the runtime is gone */
};

/* An address is always (object, byte offset): OpenCL buffers, files and remote
 * keys cannot do pointer arithmetic. CPU-addressable spaces use base = pointer. */
typedef struct consort_addr { uint64_t base, off; } consort_addr;
CONSORT_FROZEN(consort_addr, 16);

/* One completion, of an op or a message. t0/t1 are ns on host->now()'s clock, 0 = unknown.
 * The cost of an OP_ALLOC is t1 - t0 like everybody else's. */
typedef struct consort_done {
  uint64_t cookie;            /* the submitter's */
  consort_status status;
  uint32_t source;            /* RECV, notification: sender's rank */
  uint64_t t0, t1;
  uint64_t bytes;             /* moved; RECV: what the sender sent, also when E_TRUNCATED */
  uint64_t tag;               /* RECV, notification: the sender's tag */
} consort_done;
CONSORT_FROZEN(consort_done, 48);

typedef struct consort_host consort_host;
struct consort_host {
  uint32_t size;
  uint16_t major, minor;
  void *ctx;
  /* -- all up to fail is frozen for ever: usable even when versions do not match -- */
  void (*log)(const consort_host *, int32_t level, const char *utf8);                  /* [any] */
  consort_status (*fail)(const consort_host *, consort_status code, const char *utf8); /* [any] sets this thread's last error, returns code */
  const void *(*get)(const consort_host *, const char *id);                   /* [control] "consort.sched/1" -> table or NULL */
  const char *(*param)(const consort_host *, const char *key);                /* [control] resolved value of a declared param */
  void *(*alloc)(const consort_host *, size_t bytes, size_t align);           /* [any] only for memory the host must free */
  void (*release)(const consort_host *, void *);                              /* [any] */
  uint64_t (*now)(const consort_host *);                                      /* [any] ns; virtual under simulation */
  void (*complete)(const consort_host *, uint64_t token, const consort_done *, uint32_t n); /* [any] lock-free push completion; token: the queue's */
  void (*event)(const consort_host *, uint32_t what, uint64_t object, int64_t detail);      /* [any] CONSORT_EV_* */
};
CONSORT_AT(consort_host, major, 4);
CONSORT_AT(consort_host, minor, 6);
CONSORT_AT(consort_host, ctx, 8);
CONSORT_AT(consort_host, log, 16);
CONSORT_AT(consort_host, fail, 24);
enum { /* object: token given to open(); detail: rank (PEER), space id (CAPACITY: ask space() again) */
  CONSORT_EV_DEVICE_LOST = 1, CONSORT_EV_DEVICE_UP, CONSORT_EV_PEER_LOST, CONSORT_EV_PEER_UP, CONSORT_EV_CAPACITY
};

enum { CONSORT_KIND_DRIVER = 1, CONSORT_KIND_INTERFACE, CONSORT_KIND_SCHEDULER, CONSORT_KIND_TRANSPORT };
enum { /* consort_plugin.flags and note flags: 16 bits */
  CONSORT_PF_UNLOADABLE  = 1 << 0, /* survives dlclose: proved by `consort conform unload` */
  CONSORT_PF_SWAPPABLE   = 1 << 1, /* implements quiesce(): can be replaced while tasks run */
  CONSORT_PF_VIRTUAL     = 1 << 2, /* no sleep, no thread, no clock but host->now(), no random number but from a seed that is a param */
  CONSORT_PF_NEEDS_MINOR = 1 << 3, /* refuse on a host of an older minor */
  CONSORT_PF_BY_NAME     = 1 << 4  /* a driver that starts where the setting `drivers` names it, and not for "*" */
};

/* "depth","u32","64","1..1024","ops in flight". type: bool i32 i64 u32 u64 f64 string list (strings, commas between).
 * range: "a..b" (either end may be missing), "x|y|z" or NULL. param() answers decimal numbers, "true" or "false". */
typedef struct consort_param { const char *key, *type, *dflt, *range, *help; } consort_param;
CONSORT_FROZEN(consort_param, 40);

typedef struct consort_plugin {
  uint32_t size;
  uint32_t kind;                  /* CONSORT_KIND_* */
  uint16_t abi_major, abi_minor;  /* of the family header this was compiled with */
  uint32_t flags;                 /* CONSORT_PF_*, same as in the note */
  const char *name, *version, *summary, *license; /* static strings */
  const consort_param *params;
  uint32_t nparams, reserved;
  const void *ops;                /* consort_driver_ops | consort_interface_ops | … */
  consort_status (*init)(const consort_host *, void **self);   /* [control] NULL = stateless */
  consort_status (*quiesce)(void *self, uint64_t deadline_ns); /* [control] after OK: no thread, callback or op of ours is live */
  void (*fini)(void *self);                                    /* [control] */
  const void *(*get)(void *self, const char *id);              /* [control] the host asks for an extension: table or NULL, unknown ids too */
} consort_plugin;

typedef struct consort_module { uint32_t size, nplugins; const consort_plugin *const *plugins; } consort_module;

/* The one exported symbol. Must not start threads, touch hardware or load libraries. */
typedef const consort_module *consort_entry_fn(const consort_host *);

/* The same identity as an ELF note, so discovery never dlopens what it will not use.
 * Elsewhere than ELF there is no note and discovery loads the module. */
typedef struct consort_note {
  uint32_t namesz, descsz, type;
  char owner[8];                                /* "Consort" */
  uint16_t host_major, host_minor;              /* compiled against */
  uint16_t kind, abi_major, abi_minor, flags;   /* CONSORT_PF_* */
  uint32_t sanitizer;                           /* CONSORT_SAN: 0 none, 1 asan, 2 tsan, 3 msan; a mismatch is refused */
  char name[32], version[16];
} consort_note;
CONSORT_FROZEN(consort_note, 84);

#if defined(CONSORT_STATIC_PLUGIN) /* same source, linked into the kernel (network-FS sites, LTO, sanitizers) */
#define CONSORT_ENTRY_NAME(id) consort_plugin_entry_##id
#else
#define CONSORT_ENTRY_NAME(id) consort_plugin_entry
#endif
#if defined(__has_feature)
#define CONSORT_FEATURE(x) __has_feature(x)
#else
#define CONSORT_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || CONSORT_FEATURE(address_sanitizer)
#define CONSORT_SAN 1u
#elif defined(__SANITIZE_THREAD__) || CONSORT_FEATURE(thread_sanitizer)
#define CONSORT_SAN 2u
#elif CONSORT_FEATURE(memory_sanitizer)
#define CONSORT_SAN 3u
#else
#define CONSORT_SAN 0u
#endif
#if defined(_WIN32)
#define CONSORT_EXPORT __declspec(dllexport)
#else
#define CONSORT_EXPORT __attribute__((visibility("default")))
#endif
#if defined(__ELF__)
#define CONSORT_NOTE __attribute__((section(".note.consort"), used, aligned(4)))
#elif defined(__GNUC__)
#define CONSORT_NOTE __attribute__((used))
#else
#define CONSORT_NOTE
#endif
#define CONSORT_STR_(x) #x
#define CONSORT_STR(x) CONSORT_STR_(x)
#define CONSORT_REFUSAL(nm) /* says what to do, without varargs */                                       \
  "plugin '" nm "' was built for host ABI " CONSORT_STR(CONSORT_HOST_MAJOR) "." CONSORT_STR(CONSORT_HOST_MINOR) \
  " (0.x: exact minor): rebuild it with this host's SDK, install its build for this host, or leave it out of CONSORT_PLUGINS"
/* Authors write one line; version negotiation is generated, never hand-written.
 *   CONSORT_MODULE(mydrv, DRIVER, CONSORT_PF_VIRTUAL, "mydrv", "1.2.0", mydrv_plugin);
 * Works in C and C++ at file scope; flags repeat plug.flags because a note must be a constant. */
#define CONSORT_MODULE(id, K, fl, nm, ver, plug)                                                         \
  CONSORT_NOTE static const consort_note consort_note_##id = {                                           \
      8, sizeof(consort_note) - 20, 1, "Consort", CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR,                \
      CONSORT_KIND_##K, CONSORT_##K##_MAJOR, CONSORT_##K##_MINOR, (fl), CONSORT_SAN, nm, ver};           \
  CONSORT_EXTERN_C CONSORT_EXPORT const consort_module *CONSORT_ENTRY_NAME(id)(const consort_host *h);   \
  const consort_module *CONSORT_ENTRY_NAME(id)(const consort_host *h) {                                  \
    static const consort_plugin *const list[] = {&(plug)};                                               \
    static const consort_module mod = {sizeof(consort_module), 1, list};                                 \
    if (CONSORT_ABI_OK(CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR, h->major, h->minor)) return &mod;         \
    h->fail(h, CONSORT_E_ABI, CONSORT_REFUSAL(nm));                                                      \
    return NULL;                                                                                         \
  }                                                                                                      \
  CONSORT_STATIC_ASSERT(sizeof(nm) <= 32 && sizeof(ver) <= 16, "name or version too long for the note")

#ifdef __cplusplus
}
#endif
#endif
