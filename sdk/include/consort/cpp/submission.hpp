// consort/cpp/submission.hpp — Submission: what submit() would send, kept until it is sent with others.
//
// Part of consort.hpp; include that. Made by Runtime::prepare(), sent by Runtime::submit_list(), as often as one likes.
// A value: copies share the bytes of large arguments. Codelet, data and what the options refer to (a name, a span of
// ids, a callback by reference) stay the caller's until it is sent.
#ifndef CONSORT_CPP_SUBMISSION_HPP
#define CONSORT_CPP_SUBMISSION_HPP
#include <consort/cpp/claims.hpp>
#include <consort/cpp/order.hpp>

#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace consort::inline face {

namespace detail {

class Submitter;
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
  friend class detail::Submitter;
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

  static void send(const detail::Ref &home, std::span<const Submission> list, std::vector<Task> &sent) {  // submit_list()
    consort_runtime *rt = home.need();
    std::vector<consort_task_desc> tasks(list.size());
    std::vector<const consort_task_desc *> pointers(list.size());
    std::vector<consort_task_id> ids(list.size());
    std::vector<detail::InOrder> in_order(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Submission &s = list[i];
      if (s.home_ != home.get())
        detail::raise(CONSORT_E_INVAL, "a submission of another runtime (or of none) is given to submit_list(); prepare it with the "
                                       "runtime that runs the task");
      consort_task_desc &d = tasks[i] = CONSORT_TASK_INIT;
      d.codelet = s.codelet_;
      d.uses = s.uses_.data();
      d.args = s.args_.data();
      d.nuses = static_cast<uint32_t>(s.uses_.size());
      d.nargs = static_cast<uint32_t>(s.args_.size());
      detail::fill(d, s.options_);
      if (s.options_.in_order()) in_order[i].take(rt, s.options_), in_order[i].put(d, s.options_);
      pointers[i] = &d;
    }
    sent.reserve(sent.size() + list.size());
    uint32_t n = 0;
    const consort_status status = consort_submit_list(rt, pointers.data(), static_cast<uint32_t>(list.size()), ids.data(), &n);
    for (uint32_t i = 0; i < n; ++i) in_order[i].sent = true, sent.push_back({rt, ids[i]});
    detail::check(status);
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
