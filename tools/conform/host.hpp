// host.hpp — the host of the plugin under test: records the plugin's calls, and can make them fail.
//
// One Host for each loaded plugin; it outlives the plugin. Any thread may call through its table. Forbidden actions of
// a plugin (releasing an unknown block, asking for parameters on a hot path) are detected here and reported by
// complaints().
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

// Scope of a call of the plugin's function with this tag, on this thread.
class Inside {
 public:
  // Marks this thread as the kit's: calls outside of the plugin's functions then count as [control]. An unmarked thread
  // was started by the plugin, or by a library that it uses.
  static void this_is_ours();
  static bool is_ours();
  Inside(Tag, const char *function);
  ~Inside();
  Inside(const Inside &) = delete;
  Inside &operator=(const Inside &) = delete;

  static Tag tag();              // of the innermost call; control outside of all
  static const char *function();
  // Called with true at the end of the constructor, with false at the start of the destructor; nullptr: not called.
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

  // -- configuration, before the plugin starts -----------------------------------------------------------------------
  void set_param(const std::string &key, const std::string &value) { params_[key] = value; }
  void declare(const consort_param *params, uint32_t n);   // parameters that are not set have their defaults
  void serve(const std::string &id, const void *table) { services_[id] = table; }
  void set_version(uint16_t major, uint16_t minor);
  void set_size(uint32_t bytes);         // of the table; memory behind it cannot be read
  void *user = nullptr;                  // for services: Host::of(h).user

  // -- time ---------------------------------------------------------------------------------------------------------
  void set_virtual(uint64_t ns) { clock_ = ns, virtual_ = true; }   // the clock stands still until the next call
  bool is_virtual() const { return virtual_; }
  uint64_t now() const;

  // -- failures: the k-th call that may fail (get, param, alloc) fails; 0: none --------------------------------------
  void fail_at(uint64_t k) { fail_at_ = k, failable_ = 0; }
  uint64_t failable_calls() const { return failable_; }
  bool has_failed() const { return fail_at_ && failable_ >= fail_at_; }

  // -- recorded calls ---------------------------------------------------------------------------------------------
  std::string failure() const;           // the latest fail() of any thread
  consort_status failure_code() const;
  void forget_failure();
  std::string log() const;
  std::vector<Event> events() const;
  std::vector<Completion> completions() const;
  size_t asked() const;                              // calls of get with an id
  size_t live_blocks() const;                        // from alloc, not released
  std::vector<std::string> complaints() const;       // forbidden actions; also checks the guards of all blocks

 private:
  struct Block {     // a block with guard bytes before and behind it
    char *begin;     // of the whole allocation
    size_t front, bytes;  // bytes before the plugin's part; bytes of that part
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
  void complain(std::string what);                   // precondition: the mutex is held

  char *pages_ = nullptr;                // the table ends at its second half, which cannot be accessed
  consort_host *table_ = nullptr;
  std::map<std::string, std::string> params_, defaults_;
  std::map<std::string, const void *> services_;
  std::atomic<uint64_t> clock_{0};
  std::atomic<bool> virtual_{false};
  std::atomic<uint64_t> fail_at_{0}, failable_{0};
  mutable std::mutex mutex_;             // guards the members below
  std::string failure_, log_;
  consort_status failure_code_ = CONSORT_OK;
  std::vector<Event> events_;
  std::vector<Completion> completions_;
  size_t asked_ = 0;
  std::vector<std::string> complaints_;
  std::map<void *, Block> blocks_;
};

}  // namespace conform
