#include "task/portable.hpp"

#include <algorithm>
#include <new>

#include "base/last_error.hpp"
#include "machine/topology.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"
#include "task/data.hpp"

namespace consort {
namespace {

// Appends the arguments that a layout derives from one view. < 0: error text set.
consort_status give(const DataTable &data, const Datum &d, const void *view, std::vector<consort_arg> &out) {
  const consort_interface_ops &ops = *d.layout->ops;
  if (ops.flags & CONSORT_IF_PACK_ONLY)
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "datum '%s' has no flat layout (interface '%s'): a kernel cannot be given it",
                      data.name(d).c_str(), d.layout->name.c_str());
  constexpr uint32_t kUsual = 8;
  const size_t had = out.size();
  out.resize(had + kUsual);
  const uint32_t n = ops.args(d.shape(), view, out.data() + had, kUsual);
  out.resize(had + n);
  if (n > kUsual) ops.args(d.shape(), view, out.data() + had, n);
  if (!d.pub.bytes)  // without memory: its view holds the program's own address
    for (size_t i = had; i < out.size(); ++i)
      if (out[i].kind == CONSORT_ARG_ADDR) out[i].addr = {0, 0}, out[i].extent = 0;
  return CONSORT_OK;
}

const Datum &datum(const Task &t, uint32_t i) noexcept { return *Datum::of(t.pub.access[i].datum); }

}  // namespace

Portable::Portable(const consort_impl &impl, size_t devices)
    : format_(impl.format ? impl.format : ""),
      text_(impl.text_bytes ? std::string(impl.text, impl.text_bytes) : std::string(impl.text)),
      entry_(impl.entry ? impl.entry : ""),
      has_entry_(impl.entry),
      loaded_(new Loaded[devices]) {
  if (impl.user) how_ = *static_cast<const consort_portable *>(impl.user);
  if (how_.args) passed_.assign(how_.args, how_.args + how_.nargs);
}

Result<std::unique_ptr<Portable>> Portable::make(const consort_impl &impl, size_t devices) {
  if (const auto *how = static_cast<const consort_portable *>(impl.user)) {
    if (how->size < sizeof *how)
      return error(CONSORT_E_INVAL, "the consort_portable in its `user` has size " + std::to_string(how->size) +
                                        ": set it to sizeof(consort_portable)");
    if (how->flags)
      return error(CONSORT_E_INVAL, "the consort_portable in its `user` has flags " + std::to_string(how->flags) +
                                        ": there are none yet, set 0");
    if (how->nargs && !how->args)
      return error(CONSORT_E_INVAL, "the consort_portable in its `user` has nargs " + std::to_string(how->nargs) +
                                        " and no args: set both or neither");
  }
  return std::unique_ptr<Portable>(new Portable(impl, devices));
}

consort_status Portable::stand_in(const consort_call *) noexcept {
  return set_error(CONSORT_E_UNSUPPORTED,
                   "this implementation is text, which no function call runs: give one with a function for this class");
}

Portable::Loaded &Portable::on(const Device &device) const noexcept { return loaded_[device.number]; }

bool Portable::is_loaded(const Device &device) const noexcept {
  return on(device).state.load(std::memory_order_acquire) == kLoaded;
}
bool Portable::was_refused(const Device &device) const noexcept {
  return on(device).state.load(std::memory_order_acquire) == kRefused;
}
bool Portable::warn_once(const Device &device) noexcept {
  return !on(device).warned.exchange(true, std::memory_order_relaxed);
}

void Portable::try_on(const Device &device, Loaded &l) noexcept {
  std::lock_guard one_at_a_time(device.loading);
  if (l.state.load(std::memory_order_relaxed) != kUntried) return;
  clear_error();
  l.status = plugin_status(device.ops->load_impl(device.dev, format_.c_str(), text_.data(), text_.size(),
                                                 has_entry_ ? entry_.c_str() : nullptr, &l.code),
                           device.plugin->manifest->name, "load_impl()");
  if (l.status < 0) try {
      l.why = error_text();
      if (l.why.empty())
        l.why = "driver '" + std::string(device.plugin->manifest->name) + "' does not take kernels of format '" +
                format_ + "', and gives no reason";
    } catch (const std::bad_alloc &) {  // refused without a text
    }
  l.state.store(l.status < 0 ? kRefused : kLoaded, std::memory_order_release);
}

consort_status Portable::load(const Device &device) noexcept {
  Loaded &l = on(device);
  if (l.state.load(std::memory_order_acquire) == kUntried) try_on(device, l);
  return l.status < 0 ? set_error(l.status, l.why) : CONSORT_OK;
}

consort_status Portable::arguments(const DataTable &data, const consort_call &call, const Task &t, Launch &out) const {
  out.args.clear();
  if (!how_.args) {
    for (uint32_t i = 0; i < t.pub.naccess; ++i)
      if (const consort_status s = give(data, datum(t, i), call.views[i], out.args); s < 0) return s;
    out.args.insert(out.args.end(), call.args, call.args + call.nargs);
  } else {
    std::vector<consort_arg> one;
    for (const consort_pass &p : passed_) {
      if (p.datum == CONSORT_NONE) {
        if (p.part >= call.nargs)
          return set_errorf(CONSORT_E_INVAL, "its kernel is to be given value %u of the task, which has %u", p.part,
                            call.nargs);
        out.args.push_back(call.args[p.part]);
        continue;
      }
      if (p.datum >= t.pub.naccess)
        return set_errorf(CONSORT_E_INVAL, "its kernel is to be given datum %u of the task, which has %u", p.datum,
                          t.pub.naccess);
      one.clear();
      const Datum &d = datum(t, p.datum);
      if (const consort_status s = give(data, d, call.views[p.datum], one); s < 0) return s;
      if (p.part != CONSORT_NONE && p.part >= one.size())
        return set_errorf(CONSORT_E_INVAL,
                          "its kernel is to be given part %u of datum '%s', of which interface '%s' gives %zu", p.part,
                          data.name(d).c_str(), d.layout->name.c_str(), one.size());
      if (p.part == CONSORT_NONE) out.args.insert(out.args.end(), one.begin(), one.end());
      else out.args.push_back(one[p.part]);
    }
  }
  out.what.args = out.args.data();
  out.what.nargs = static_cast<uint32_t>(out.args.size());
  return CONSORT_OK;
}

consort_status Portable::range(const DataTable &data, const consort_call &call, const Task &t, Launch &out) const {
  consort_range r{{0, 0, 0}, {how_.block[0], how_.block[1], how_.block[2]}, how_.shared_bytes};
  for (uint32_t &b : r.block) b = std::max(b, 1u);
  const Datum *d = how_.over < t.pub.naccess ? &datum(t, how_.over) : nullptr;
  uint64_t n[8] = {};
  const uint32_t dims = d && d->layout->ops->sizes ? std::min(d->layout->ops->sizes(d->shape(), n, 8), 8u) : 0;
  if (dims) {
    for (uint32_t k = dims; k < 3; ++k) n[k] = 1;
    for (uint32_t k = 3; k < dims; ++k) n[2] *= n[k];
    for (uint32_t k = 0; k < 3; ++k) r.grid[k] = n[k] / r.block[k] + (n[k] % r.block[k] != 0);
  }
  if (how_.range) {
    clear_error();
    if (const consort_status s = how_.range(how_.user, &call, &r); s < 0)
      return *error_text() ? s : set_error(s, "the function that computes its range failed");
    for (uint32_t &b : r.block) b = std::max(b, 1u);
  } else if (!d) {
    return set_errorf(CONSORT_E_INVAL,
                      "its kernel is to run over the elements of datum %u of the task, which has %u: give the "
                      "implementation a consort_portable with another `over`, or with a range",
                      how_.over, t.pub.naccess);
  } else if (!dims) {
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "interface '%s' of datum '%s' does not say how many elements there are: give the implementation "
                      "a consort_portable with a range",
                      d->layout->name.c_str(), data.name(*d).c_str());
  }
  std::copy_n(r.grid, 3, out.what.grid);
  std::copy_n(r.block, 3, out.what.block);
  out.what.shared_bytes = r.shared_bytes;
  out.what.reserved = 0;
  return CONSORT_OK;
}

consort_status Portable::prepare(const DataTable &data, const Device &device, const consort_call &call, const Task &t,
                                 Launch &out) noexcept try {
  if (const consort_status s = load(device); s < 0) return s;
  out.what.code = on(device).code;
  if (const consort_status s = arguments(data, call, t, out); s < 0) return s;
  return range(data, call, t, out);
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the launch of a kernel");
} catch (const std::exception &e) {
  return set_errorf(CONSORT_E_INTERNAL,
                    "an exception left the function that computes its range: %s", e.what());
} catch (...) {
  return set_error(CONSORT_E_INTERNAL,
                   "an exception of no standard type left the function that computes its range");
}

}  // namespace consort
