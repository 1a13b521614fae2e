// consort/cpp/submission.hpp — Submission: what submit() would send, kept until it is sent with others.
//
// Part of consort.hpp; include that. Made by Runtime::prepare(), sent by Runtime::submit_list(), as often as one likes.
// A value: copies share the bytes of large arguments. Codelet, data and what the options refer to (a name, a span of
// ids, a callback by reference) stay the caller's until it is sent.
#ifndef CONSORT_CPP_SUBMISSION_HPP
#define CONSORT_CPP_SUBMISSION_HPP
#include <consort/cpp/order.hpp>

#include <cstring>
#include <memory>
#include <vector>

namespace consort::inline face {

namespace detail {

// What few tasks have, on its way into the kernel. The hooks are ours again where the submission is refused.
struct InOrder {
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  bool sent = false;

  InOrder() noexcept = default;
  InOrder(const InOrder &) = delete;
  ~InOrder() {
    if (sent) return;
    for (const consort_hook &h : {more.ready, more.begin})
      if (h.drop) h.drop(h.arg);
  }
  void take(consort_runtime *rt, const Options &o) {
    more.flags = o.tag ? CONSORT_MORE_TAG : 0;
    more.tag = o.tag.number();
    more.end_after = o.end_after.data();
    more.nend_after = o.end_after.size();
    more.end_holds = o.end_holds;
    more.bundle = o.bundle.id();
    more.ready = o.ready.taken(rt);
    more.begin = o.begin.taken(rt);
  }
  void put(consort_task_desc &d, const Options &o) const noexcept {
    d.more = &more;
    d.flags = o.repeat ? CONSORT_TASK_REPEAT : 0;
  }
};

}  // namespace detail

// What Runtime::submit() would send: a copy of uses, arguments and options. Made by Runtime::prepare().
class Submission {
 public:
  Submission() noexcept = default;  // of no runtime: submit_list() refuses it

 private:
  friend class Runtime;
  void keep(const consort_use *uses, uint32_t nuses, const consort_arg *args, uint32_t nargs) {
    uses_.assign(uses, uses + nuses);
    args_.assign(args, args + nargs);
    for (consort_arg &a : args_) {
      if (a.kind != CONSORT_ARG_BYTES) continue;
      const std::shared_ptr<unsigned char[]> copy(new unsigned char[a.bytes]);
      std::memcpy(copy.get(), reinterpret_cast<const void *>(static_cast<uintptr_t>(a.scalar)), a.bytes);
      a.scalar = reinterpret_cast<uintptr_t>(copy.get());
      bytes_.push_back(copy);
    }
  }

  const detail::Control *home_ = nullptr;
  consort_codelet_id codelet_{};
  std::vector<consort_use> uses_;
  std::vector<consort_arg> args_;
  std::vector<std::shared_ptr<unsigned char[]>> bytes_;
  Options options_;
};

}  // namespace consort::inline face
#endif
