// host.hpp — the host that a plugin under judgement lives in: it writes down what it is asked, and can be made to fail.
//
// One Host per plugin that is loaded; it outlives the plugin. Any thread may call into its table. What a plugin may not
// do (release what it was not given, ask for parameters on a hot path) is found here and told by complaints().
#pragma once
#include <consort/plugin.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace conform {

enum class Tag { kControl, kWorker, kQueue, kAny, kPure, kLoad };
const char *tag_name(Tag);

// While one lives, this thread is inside a function of the plugin that carries this tag.
class Inside {
 public:
  // Of this thread: it is the kit's, so what is called outside of all functions is called by a [control] one. A thread of
  // which nobody said so was started by the plugin, or by a library beneath it.
  static void this_is_ours();
  static bool is_ours();
  Inside(Tag, const char *function);
  ~Inside();
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;

  static Tag tag();              // of the innermost; control outside of all
  static const char *function();
  // Called with true behind the constructor's other work, with false before the destructor's; nullptr: nothing is called.
  static thread_local void (*watch)(bool begins);
  static bool may_block() { return tag() == Tag::kControl || tag() == Tag::kLoad; }

 private:
  Tag tag_;
  const char *function_;
};

class Host {
 public:
  struct Event { uint32_t what; uint64_t object; int64_t detail; };
  struct Completion { uint64_t token; consort_done done; };

  Host();
  ~Host();
  Host(const Host &) = delete;
  Host &operator=(const Host &) = delete;

  const consort_host *table() const { return table_; }
  static Host &of(const consort_host *);

  // -- what it is like; before the plugin starts ------------------------------------------------------------------
  void set_param(const std::string &key, const std::string &value) { params_[key] = value; }
  void declare(const consort_param *params, uint32_t n);   // what is not set has its default
  void serve(const std::string &id, const void *table) { services_[id] = table; }
  void set_version(uint16_t major, uint16_t minor);
  void set_size(uint32_t bytes);         // of the table; behind it is memory that cannot be read
  void *user = nullptr;                  // of whoever serves tables: Host::of(h).user

  // -- time ---------------------------------------------------------------------------------------------------------
  void set_virtual(uint64_t ns) { clock_ = ns, virtual_ = true; }   // stands still until it is set again
  bool is_virtual() const { return virtual_; }
  uint64_t now() const;

  // -- failures: the k-th call that may fail (get, param, alloc) fails; 0: none --------------------------------------
  void fail_at(uint64_t k) { fail_at_ = k, failable_ = 0; }
  uint64_t failable_calls() const { return failable_; }
  bool has_failed() const { return fail_at_ && failable_ >= fail_at_; }

  // -- what it was told ----------------------------------------------------------------------------------------------
  std::string failure() const;           // the last fail() of any thread
  consort_status failure_code() const;
  void forget_failure();
  std::string log() const;
  std::vector<Event> events() const;
  std::vector<Completion> completions() const;
  std::vector<std::string> asked() const;            // ids that were asked by get
  size_t live_blocks() const;                        // of alloc, not released
  std::vector<std::string> complaints() const;       // what a plugin must not do; checks guards of all blocks, too

 private:
  struct Block {     // guard bytes before and behind what the plugin may touch
    char *begin;     // of the whole
    size_t front, bytes;  // before the plugin's; the plugin's
  };
  static void on_log(const consort_host *, int32_t, const char *);
  static consort_status on_fail(const consort_host *, consort_status, const char *);
  static const void *on_get(const consort_host *, const char *);
  static const char *on_param(const consort_host *, const char *);
  static void *on_alloc(const consort_host *, size_t, size_t);
  static void on_release(const consort_host *, void *);
  static uint64_t on_now(const consort_host *);
  static void on_complete(const consort_host *, uint64_t, const consort_done *, uint32_t);
  static void on_event(const consort_host *, uint32_t, uint64_t, int64_t);
  bool fails_now() { return ++failable_ == fail_at_; }
  void complain(std::string what);                   // under the mutex

  char *pages_ = nullptr;                // the table ends where its second half, which cannot be touched, begins
  consort_host *table_ = nullptr;
  std::map<std::string, std::string> params_, defaults_;
  std::map<std::string, const void *> services_;
  std::atomic<uint64_t> clock_{0};
  std::atomic<bool> virtual_{false};
  std::atomic<uint64_t> fail_at_{0}, failable_{0};
  mutable std::mutex mutex_;             // guards what follows
  std::string failure_, log_;
  consort_status failure_code_ = CONSORT_OK;
  std::vector<Event> events_;
  std::vector<Completion> completions_;
  std::vector<std::string> asked_, complaints_;
  std::map<void *, Block> blocks_;
};

}  // namespace conform
