// traces.cpp — the layer that writes a line for each call of a plugin: time, thread, arguments, result.
//
// Each thread writes to its own buffer, which is flushed to the file when full and at the end; lines of one
// thread are in order, and `sort -n` orders all lines. Only its thread locks a buffer's mutex, except at the end.
#include <consort/layer.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "../text.hpp"
#include "../wrap.hpp"

namespace layers {
namespace {

constexpr consort_param params[] = {
    {"file", "string", "", nullptr, "output file, %p is the process id; empty: stderr"},
    {"plugins", "list", "", nullptr, "plugins to trace; empty: all"},
    {"functions", "list", "", nullptr, "functions to trace, such as push,pop; empty: all but host_now, host_param and similar ones"},
};
constexpr size_t kFull = 1 << 16;  // buffer size of a thread in bytes
constexpr uint32_t kShown = 8;     // elements of an array that are printed

class File {
 public:
  explicit File(const std::string &path) : path_(path) {
    if (const size_t at = path_.find("%p"); at != path_.npos) path_.replace(at, 2, std::to_string(::getpid()));
    // NONBLOCK: opening a pipe without a reader fails instead of blocking. A pipe with a reader is written like a file.
    constexpr int kHow = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    fd_ = path_.empty() ? STDERR_FILENO
                        : ::open(path_.c_str(), kHow, 0666);
    if (fd_ > STDERR_FILENO) ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) & ~O_NONBLOCK);
  }
  File(const File &) = delete;
  ~File() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  bool good() const { return fd_ >= 0; }
  const std::string &path() const { return path_; }
  bool write(std::string_view bytes) {  // whole lines, not interleaved
    const std::lock_guard lock(mutex_);
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno != EINTR) return false;
      if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

 private:
  std::string path_;
  std::mutex mutex_;  // locked last
  int fd_ = -1;
};

struct Buffer {
  uint32_t thread = 0;
  std::thread::id id;
  std::mutex mutex;  // locked before the file's
  std::string text;
};

// The buffer that this thread used last, and its instance's number: instances may reuse an address.
struct Last {
  uint64_t owner;
  Buffer *buffer;
};
alignas(64) thread_local constinit Last last{};  // aligned: tests/checks/thread_locals.py
constinit std::atomic<uint64_t> instances{0};  // relaxed: numbers only have to be distinct

// -- formatting of values ---------------------------------------------------------------------------------

void put(Text &t, std::integral auto number) { t << number; }
void put(Text &t, const char *text) {
  if (!text)
    t << "NULL";
  else
    t << "\"" << std::string_view(text).substr(0, 80) << "\"";
}
void put(Text &t, consort_addr a) { t.hex(a.base) << "+" << a.off; }
template <class T>
void put(Text &t, const T *p) {
  if (p)
    t.hex(p);
  else
    t << "NULL";
}
void put(Text &t, const consort_push *p) {
  t << "{epoch " << p->epoch << ", from " << static_cast<int32_t>(p->from) << ", flags " << p->flags << ", n " << p->n
    << "}";
}

template <class F>
void list(Text &t, uint32_t n, F &&element) {
  t << " [";
  for (uint32_t i = 0; i < n && i < kShown; ++i) {
    if (i) t << " ";
    element(i);
  }
  t << (n > kShown ? " ...]" : "]");
}
void put_done(Text &t, const consort_done &d) {
  t << d.cookie;
  if (d.status) t << ":" << d.status;
}

// Contents of input and output arrays.
template <auto kFn, class R, class... A>
void contents(Text &t, [[maybe_unused]] R result, [[maybe_unused]] A... a) {
  using D = consort_driver_ops;
  using S = consort_scheduler_ops;
  using T = consort_transport_ops;
  if constexpr (same<kFn, &D::submit>) {
    [&](const consort_op *ops, uint32_t n) {
      list(t, n, [&](uint32_t i) { t << ops[i].kind << ":" << ops[i].cookie; });
    }(a...);
  } else if constexpr (same<kFn, &T::post>) {
    [&](const consort_msg *m, uint32_t n) {
      list(t, n, [&](uint32_t i) { t << m[i].kind << ":" << m[i].cookie; });
    }(a...);
  } else if constexpr (same<kFn, &D::poll> || same<kFn, &T::poll>) {
    [&](const consort_done *out, uint32_t max) {
      list(t, std::min(result, max), [&](uint32_t i) { put_done(t, out[i]); });
    }(a...);
  } else if constexpr (same<kFn, &S::push>) {
    [&](const consort_push *p) {  // refused: the tasks may be reused, but only their addresses are printed
      list(t, p->n, [&](uint32_t i) { t.hex(p->ready[i]); });
    }(a...);
  } else if constexpr (same<kFn, &S::pop>) {
    [&](uint32_t, const consort_pick *out, uint32_t max) {
      list(t, std::min(result, max), [&](uint32_t i) { t.hex(out[i].task); });
    }(a...);
  } else if constexpr (same<kFn, &S::drain>) {
    [&](uint64_t, consort_task *const *out, uint32_t max) {
      list(t, std::min(result, max), [&](uint32_t i) { t.hex(out[i]); });
    }(a...);
  } else if constexpr (same<kFn, &consort_host::complete>) {
    [&](uint64_t, const consort_done *d, uint32_t n) { list(t, n, [&](uint32_t i) { put_done(t, d[i]); }); }(a...);
  }
}

// -- the layer -----------------------------------------------------------------------------------------------

class Traces {
 public:
  struct Object {};
  static constexpr bool kRemembersClosed = false;

  explicit Traces(const consort_host *h)
      : host_(h),
        plugins_(text_param(h, "plugins")),
        functions_(text_param(h, "functions")),
        some_(*text_param(h, "functions") != 0),
        file_(text_param(h, "file")) {}
  ~Traces() { end(); }
  consort_status open() {
    if (file_.good()) return CONSORT_OK;
    const std::string why = std::strerror(errno);
    return host_->fail(host_, CONSORT_E_IO,
                       ("traces.file = \"" + file_.path() + "\" cannot be written: " + why).c_str());
  }
  bool wants(const consort_plugin &p) const { return plugins_.has(p.name); }
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    for (auto &b : buffers_) {
      const std::lock_guard inner(b->mutex);
      flush(*b);
    }
  }

  template <auto kFn, class Next, class... A>
  static auto call(Node<Traces> &n, const char *part, Next &&next, A... a) {
    return n.of.layer.template around<kFn>(n.of, "", part, next, a...);
  }
  template <auto kFn, class Next, class... A>
  static auto hosted(Wrapped<Traces> &w, Next &&next, A... a) {
    // Pure queries and library services are traced only if named.
    constexpr bool kTold =
        same<kFn, &consort_host::complete> || same<kFn, &consort_host::event> || same<kFn, &consort_host::fail>;
    if (!kTold && !w.layer.some_) return next(a...);
    return w.layer.template around<kFn>(w, "host_", nullptr, next, a...);
  }
  template <auto kFn, class... A>
  static void opened(Node<Traces> &, A...) {}

 private:
  template <auto kFn, class Next, class... A>
  auto around(Wrapped<Traces> &w, std::string_view prefix, const char *part, Next &next, A... a) {
    Text name;
    name << prefix << site<kFn>.function;
    if (!functions_.has(name.view())) return next(a...);
    const uint64_t begin = host_->now(host_);
    using R = decltype(next(a...));
    const auto told = [&](auto result) {
      const uint64_t end = host_->now(host_);
      Text t;
      t << w.inner->name << (part ? "/" : "") << std::string_view(part ? part : "") << "." << name.view() << "(";
      [[maybe_unused]] int i = 0;
      ((t << (i++ ? ", " : ""), put(t, a)), ...);
      t << ")";
      contents<kFn>(t, result, a...);
      if constexpr (!std::is_void_v<R>) {
        t << " = ";
        put(t, result);
        if constexpr (std::is_same_v<R, consort_status>)
          if (result < 0) t << " " << status_name(result);
      }
      add(begin, end, t.view());
    };
    if constexpr (std::is_void_v<R>) {
      next(a...);
      told(0);
    } else {
      const R result = next(a...);
      told(result);
      return result;
    }
  }

  void add(uint64_t begin, uint64_t end, std::string_view what) noexcept try {
    Buffer &b = mine();
    Text lead, tail;
    lead << begin << "\tt" << b.thread << "\t";
    tail << "\t" << end - begin << " ns\n";
    const std::lock_guard lock(b.mutex);
    b.text.append(lead.view()).append(what).append(tail.view());
    if (b.text.size() >= kFull) flush(b);
  } catch (const std::bad_alloc &) {  // drops the line
  }
  Buffer &mine() {
    if (last.owner == number_) return *last.buffer;
    const std::lock_guard lock(mutex_);
    const auto id = std::this_thread::get_id();
    Buffer *found = nullptr;
    for (auto &b : buffers_)
      if (b->id == id) found = b.get();
    if (!found) {
      found = buffers_.emplace_back(std::make_unique<Buffer>()).get();
      found->thread = static_cast<uint32_t>(buffers_.size());
      found->id = id;
    }
    last = {number_, found};
    return *found;
  }
  void flush(Buffer &b) noexcept {
    if (!b.text.empty() && !file_.write(b.text) && !failed_.exchange(true, std::memory_order_relaxed))
      host_->log(host_, 0, ("lines are lost: cannot write to \"" + file_.path() + "\"").c_str());
    b.text.clear();
  }

  const consort_host *const host_;
  const Names plugins_, functions_;
  const bool some_;  // functions are selected
  const uint64_t number_ = instances.fetch_add(1, std::memory_order_relaxed) + 1;
  File file_;
  std::atomic<bool> failed_{false};  // independent; relaxed: the first exchange reports
  std::mutex mutex_;                 // guards buffers_; locked before theirs
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

constexpr consort_plugin plugin = Plugin<Traces>::table("traces", "a line for each call of a plugin", params);

}  // namespace
}  // namespace layers

CONSORT_MODULE(traces, LAYER, 0, "traces", "0.1.0", layers::plugin);
