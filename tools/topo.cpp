// topo.cpp — `consort topo`: spaces, units and links, as the drivers of this machine report them.
//
// Starts a runtime that nobody pumps, asks it, stops it: no thread is bound, no task runs.
#include <cstdio>

#include "commands.hpp"

namespace tool {
namespace {

std::string numa(int32_t node) { return node < 0 ? "-" : std::to_string(node); }

std::string space_flags(uint32_t flags) {
  std::string text;
  if (flags & CONSORT_SP_CPU) text += " load/store";
  if (flags & CONSORT_SP_OPAQUE) text += " copies only";
  if (flags & CONSORT_SP_PERSISTENT) text += " persistent";
  if (flags & CONSORT_SP_COHERENT) text += " coherent";
  return text.empty() ? "-" : text.substr(1);
}

std::string link_flags(uint32_t flags) {
  std::string text;
  if (flags & CONSORT_LK_LOADSTORE) text += " in place";
  if (flags & CONSORT_LK_2D) text += " 2D";
  if (flags & CONSORT_LK_3D) text += " 3D";
  if (flags & CONSORT_LK_MANY) text += " many";
  if (flags & CONSORT_LK_ASYNC) text += " async";
  return text.empty() ? "-" : text.substr(1);
}

bool print_spaces(consort_runtime *rt, const consort_info &info) {
  Table table({"SPACE", "NAME", "DRIVER", "DOMAIN", "CAPACITY", "NUMA", "ACCESS"});
  table.right(4);
  for (uint32_t i = 0; i < info.nspaces; ++i) {
    consort_space_info s = {};
    s.size = sizeof s;
    if (consort_get_space(rt, i, &s) < 0) return false;
    table.add({std::to_string(s.id), s.name, s.driver, s.domain, s.capacity ? bytes(s.capacity) : "?", numa(s.numa),
               space_flags(s.flags)});
  }
  table.print();
  return true;
}

bool print_units(consort_runtime *rt, const consort_info &info) {
  Table table({"UNIT", "NAME", "CLASS", "ARCH", "SPACE", "NUMA", "OS CPU"});
  for (uint32_t i = 0; i < info.nworkers; ++i) {
    consort_worker_info w = {};
    w.size = sizeof w;
    if (consort_get_worker(rt, i, &w) < 0) return false;
    table.add({std::to_string(w.id), w.name, w.klass, w.arch ? w.arch : "-",
               w.space == CONSORT_NONE ? "-" : std::to_string(w.space), numa(w.numa),
               w.os_cpu < 0 ? "-" : std::to_string(w.os_cpu)});
  }
  table.print();
  return true;
}

bool print_links(consort_runtime *rt, const consort_info &info) {
  Table table({"LINK", "DRIVER", "GB/s", "LATENCY", "CAN"});
  table.right(2);
  table.right(3);
  for (uint32_t from = 0; from < info.nspaces; ++from)
    for (uint32_t to = 0; to < info.nspaces; ++to) {
      consort_link_info l = {};
      l.size = sizeof l;
      const consort_status status = consort_get_link(rt, from, to, &l);
      if (status < 0) return false;
      if (status == CONSORT_AGAIN) continue;
      char speed[32];
      std::snprintf(speed, sizeof speed, "%.1f", static_cast<double>(l.bytes_per_s) * 1e-9);
      table.add({std::to_string(from) + " -> " + std::to_string(to), l.driver, l.bytes_per_s ? speed : "?",
                 std::to_string(l.latency_ns) + " ns", link_flags(l.flags)});
    }
  if (!table.empty()) std::puts(""), table.print();
  return true;
}

}  // namespace

int run_topo(Settings &settings) {
  consort_settings s;
  if (!settings.resolve(&s, {{"pump", "manual"}, {"cores", "share"}})) return 2;
  consort_runtime *rt = nullptr;
  if (consort_start(&s, &rt) < 0) return failed();
  consort_info info = {};
  info.size = sizeof info;
  bool good = consort_get_info(rt, &info) >= 0 && print_spaces(rt, info);
  if (good) std::puts("");
  good = good && print_units(rt, info) && print_links(rt, info);
  const int status = good ? 0 : failed();
  return consort_stop(rt) < 0 && good ? failed() : status;
}

}  // namespace tool
