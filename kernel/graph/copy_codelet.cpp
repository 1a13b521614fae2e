#include "graph/copy_codelet.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "base/last_error.hpp"
#include "graph/submit.hpp"
#include "plugin/status.hpp"

namespace consort {
namespace {

void copy_run(const consort_run &r) noexcept {
  for (uint64_t i = 0; i < r.n[1]; ++i)
    for (uint64_t k = 0; k < r.n[0]; ++k) {
      const auto step = [&](const consort_addr &a, const int64_t *steps) {
        return reinterpret_cast<char *>(static_cast<uintptr_t>(a.base + a.off)) + static_cast<int64_t>(k) * steps[0] +
               static_cast<int64_t>(i) * steps[1];
      };
      std::memcpy(step(r.dst, r.dst_step), step(r.src, r.src_step), r.run);
    }
}

consort_status copy_contents(const consort_interface_ops &ops, const void *shape, void *dst, const void *src) {
  if (ops.runs && !(ops.flags & CONSORT_IF_PACK_ONLY)) {
    consort_run few[4];
    uint32_t n = ops.runs(shape, src, dst, few, 4);
    std::vector<consort_run> many;
    const consort_run *runs = few;
    if (n > 4) {
      many.resize(n);
      n = ops.runs(shape, src, dst, many.data(), n);
      runs = many.data();
    }
    for (uint32_t i = 0; i < n; ++i) copy_run(runs[i]);
    return CONSORT_OK;
  }
  const uint64_t bytes = ops.packed_bytes(shape, src);
  const std::unique_ptr<std::byte[]> packed(new std::byte[bytes]);
  if (const consort_status s = ops.pack(shape, src, packed.get(), bytes); s < 0) return s;
  return ops.unpack(shape, dst, packed.get(), bytes);
}

// The function of a task: its caller handles exceptions.
consort_status copy_task(const consort_call *call) {
  const Task *t = static_cast<TaskGraph *>(call->user)->this_thread()->task;
  const Datum &src = *Datum::of(t->pub.access[1].datum);
  if (!src.pub.bytes) return CONSORT_OK;
  clear_error();
  const consort_status s =
      plugin_status(copy_contents(*src.layout->ops, src.shape(), const_cast<void *>(call->views[0]), call->views[1]),
                    src.layout->name.c_str(), "pack() or unpack()");
  if (s < 0 && !*error_text())
    return set_errorf(s, "interface '%s' could not pack or unpack the contents", src.layout->name.c_str());
  return s;
}

}  // namespace

Result<consort_codelet_id> CopyCodelets::codelet() {
  std::lock_guard lock(mutex_);
  if (codelet_.v) return codelet_;
  std::vector<consort_impl> impls;
  std::vector<bool> seen(rt_.topology->classes().size());
  for (const Unit &u : rt_.topology->units()) {
    if (!(u.desc.flags & CONSORT_UNIT_INLINE) || seen[u.klass]) continue;
    seen[u.klass] = true;
    impls.push_back({u.desc.klass, copy_task, &rt_, nullptr, nullptr, nullptr, nullptr, 0});
  }
  if (impls.empty())
    return error(CONSORT_E_UNSUPPORTED,
                 "no unit here runs host functions in place, none could copy: add its driver to `drivers`");
  static constexpr uint32_t kModes[] = {CONSORT_M_W, CONSORT_M_R};
  consort_codelet d = CONSORT_CODELET_INIT;
  d.name = "copy";
  d.impls = impls.data();
  d.nimpls = static_cast<uint32_t>(impls.size());
  d.nmodes = 2;
  d.modes = kModes;
  auto c = rt_.codelets.add(d, *rt_.topology);
  if (!c) return c.error();
  return codelet_ = Codelets::id(**c);
}

consort_status CopyCodelets::submit(consort_data_id dst, consort_data_id src, consort_group_id group,
                                    consort_task_id *out) {
  ThreadState *thread = rt_.this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  Datum *d[2] = {rt_.data.find(dst), rt_.data.find(src)};
  if (d[0] && d[0] == d[1]) return set_error(CONSORT_E_INVAL, "dst and src are the same datum");
  const auto good = [&](uint32_t i) { return d[i] && DataTable::is(*d[i], i ? src : dst); };
  if (good(0) && good(1)) {  // else the submission reports it
    Claim claims[2] = {{d[0], CONSORT_M_W}, {d[1], CONSORT_M_R}};
    const SubmissionRight right(rt_, *thread, claims, 2);  // so that neither is removed meanwhile
    if (good(0) && good(1)) {
      if (d[0]->layout != d[1]->layout)
        return set_errorf(CONSORT_E_INVAL, "dst is of interface '%s', src of '%s': contents are copied between equals",
                          d[0]->layout->name.c_str(), d[1]->layout->name.c_str());
      if (std::memcmp(d[0]->shape(), d[1]->shape(), d[0]->layout->ops->shape_size) != 0)
        return set_errorf(CONSORT_E_INVAL, "data '%s' and '%s' differ in their sizes: %llu and %llu bytes of payload",
                          rt_.data.name(*d[0]).c_str(), rt_.data.name(*d[1]).c_str(),
                          static_cast<unsigned long long>(d[0]->pub.bytes),
                          static_cast<unsigned long long>(d[1]->pub.bytes));
    }
  }
  auto c = codelet();
  if (!c) return set_error(c.error());
  const consort_use uses[] = {{dst, CONSORT_M_W, 0}, {src, CONSORT_M_R, 0}};
  consort_task_desc t = CONSORT_TASK_INIT;
  t.size = CONSORT_TASK_BRIEF;
  t.codelet = *c;
  t.uses = uses;
  t.nuses = 2;
  t.group = group;
  return consort::submit(rt_, t, out);
}

}  // namespace consort
