// tools.cpp — consort.h: inventory of this machine, for tools.
//
// Lists are made for the call; nothing outlives it. [any] thread.
#include <algorithm>
#include <cstring>

#include "api/entry.hpp"
#include "plugin/config.hpp"
#include "plugin/registry.hpp"

using namespace consort;

namespace consort {
namespace {

Result<std::unique_ptr<Registry>> open_registry(const consort_settings *s, std::shared_ptr<Config> *config) {
  auto loaded = Config::load(s);
  if (!loaded) return loaded.error();
  *config = *loaded;
  const bool sink = s && CONSORT_HAS(s, consort_settings, log_user),
             linked = s && CONSORT_HAS(s, consort_settings, nmodules),
             asked = s && CONSORT_HAS(s, consort_settings, admit_user);
  return Registry::open(*loaded, {}, sink ? s->log : nullptr, sink ? s->log_user : nullptr,
                        linked ? s->modules : nullptr, linked ? s->nmodules : 0,
                        asked ? Registry::Admission{s->admit, s->admit_user} : Registry::Admission{nullptr, nullptr});
}

consort_status list_plugins(const consort_settings *settings, uint32_t flags,
                            void (*each)(void *, const consort_plugin_row *), void *user) {
  std::shared_ptr<Config> config;
  auto registry = open_registry(settings, &config);
  if (!registry) return set_error(registry.error());
  for (const Registry::Found &f : (*registry)->found()) {
    consort_plugin_row row = {};
    row.size = sizeof row, row.kind = f.kind, row.usable = f.usable;
    row.name = f.name.c_str(), row.version = f.version.c_str();
    row.path = f.path.c_str(), row.reason = f.reason.c_str();
    row.host_major = f.host_major, row.host_minor = f.host_minor;
    row.abi_major = f.abi_major, row.abi_minor = f.abi_minor;
    row.flags = f.flags, row.sanitizer = f.sanitizer;
    row.summary = row.license = "";
    std::string problem;
    if (f.usable && flags & CONSORT_LIST_LOAD) {
      if (auto m = (*registry)->inspect(f.kind, f.name); m) {
        row.summary = (*m)->summary, row.license = (*m)->license;
        row.params = (*m)->params, row.nparams = (*m)->nparams;
      } else {
        problem = m.error().text;
        row.usable = 0, row.reason = problem.c_str();
      }
    }
    each(user, &row);
  }
  clear_error();
  auto fine = (*registry)->check_choices();
  if (fine) fine = (*registry)->check_names();
  return fine ? CONSORT_OK : set_error(fine.error());
}

consort_status list_config(const consort_settings *settings, void (*each)(void *, const consort_config_row *),
                           void *user) {
  std::shared_ptr<Config> config;
  auto registry = open_registry(settings, &config);
  if (!registry) return set_error(registry.error());
  Result<void> fine;  // the first fault; the valid rest is listed all the same
  for (const Registry::Found &f : (*registry)->found()) {
    if (!f.usable) continue;
    // A plugin that cannot be loaded is no fault of the settings: consort plugins reports it.
    if (auto m = (*registry)->inspect(f.kind, f.name); !m && m.error().status == CONSORT_E_INVAL && fine)
      fine = m.error();
  }
  if (fine) fine = (*registry)->check_choices();
  if (fine) fine = (*registry)->check_names();
  for (const Config::Entry &e : config->entries()) {
    const consort_config_row row = {sizeof row, 0, e.key.c_str(), e.type.c_str(), e.value.c_str(), e.dflt.c_str(),
                                    e.range.c_str(), e.help.c_str(), e.origin.c_str()};
    each(user, &row);
  }
  clear_error();
  return fine ? CONSORT_OK : set_error(fine.error());
}

const char *driver_of(const Device *d) { return d ? d->plugin->manifest->name : ""; }

}  // namespace
}  // namespace consort

extern "C" {

consort_status consort_list_plugins(const consort_settings *settings, uint32_t flags,
                                    void (*each)(void *, const consort_plugin_row *), void *user) {
  if (!each) return set_error(CONSORT_E_INVAL, "each is NULL: give the function to be called for each");
  if (const uint32_t unknown = flags & ~uint32_t{CONSORT_LIST_LOAD})
    return refuse_bits("flags", unknown, "CONSORT_LIST_LOAD is what there is");
  return guarded([&] { return list_plugins(settings, flags, each, user); });
}

consort_status consort_list_config(const consort_settings *settings, void (*each)(void *, const consort_config_row *),
                                   void *user) {
  if (!each) return set_error(CONSORT_E_INVAL, "each is NULL: give the function to be called for each");
  return guarded([&] { return list_config(settings, each, user); });
}

consort_status consort_get_space(consort_runtime *shell, uint32_t space, consort_space_info *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_space_info)");
  if (const consort_status s = check_space(*rt, space); s < 0) return s;
  const auto &spaces = rt->topology->spaces();
  const consort_space_desc &d = spaces[space].desc;
  *out = {out->size, space, d.name ? d.name : "", d.domain ? d.domain : "", driver_of(spaces[space].device), d.capacity,
          d.flags,   d.numa};
  return CONSORT_OK;
}

consort_status consort_get_link(consort_runtime *shell, uint32_t from, uint32_t to, consort_link_info *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out || out->size < offsetof(consort_link_info, told_bytes_per_s))
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_link_info)");
  for (const uint32_t s : {from, to})
    if (const consort_status bad = check_space(*rt, s); bad < 0) return bad;
  const Link &link = rt->topology->link(from, to);
  if (!link.device) return CONSORT_AGAIN;
  const consort_link_info all = {out->size,
                                 link.desc.flags,
                                 driver_of(link.device),
                                 link.desc.bytes_per_s,
                                 link.desc.latency_ns,
                                 link.desc.engines,
                                 link.told_bytes_per_s,
                                 link.told_latency_ns,
                                 link.source};
  std::memcpy(out, &all, std::min<size_t>(out->size, sizeof all));
  return CONSORT_OK;
}

}  // extern "C"
