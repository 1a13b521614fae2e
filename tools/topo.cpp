// topo.cpp — `consort topo`: spaces, units and links, as the drivers of this machine report them.
//
// Starts a runtime that nobody pumps, asks it, stops it: no thread is bound, no task runs. --links has it measure.
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

template <class F>
int look(consort_settings &s, F print) {
  consort_runtime *rt = nullptr;
  if (consort_start(&s, &rt) < 0) return failed();
  consort_info info = {};
  info.size = sizeof info;
  const bool good = consort_get_info(rt, &info) >= 0 && print(rt, info);
  const int status = good ? 0 : failed();
  return consort_stop(rt) < 0 && good ? failed() : status;
}

// Rows are where bytes come from.
bool print_link_table(consort_runtime *rt, const consort_info &info) {
  std::vector<std::string> head{"FROM \\ TO"};
  for (uint32_t i = 0; i < info.nspaces; ++i) head.push_back(std::to_string(i));
  Table table(head);
  bool told = false;
  for (uint32_t from = 0; from < info.nspaces; ++from) {
    consort_space_info s = {};
    s.size = sizeof s;
    if (consort_get_space(rt, from, &s) < 0) return false;
    std::vector<std::string> row{std::to_string(from) + " " + s.name};
    for (uint32_t to = 0; to < info.nspaces; ++to) {
      consort_link_info l = {};
      l.size = sizeof l;
      const consort_status status = from == to ? CONSORT_AGAIN : consort_get_link(rt, from, to, &l);
      if (status < 0) return false;
      char text[64] = "-";
      if (status == CONSORT_OK)
        std::snprintf(text, sizeof text, "%.2f GB/s %.1f us%s", static_cast<double>(l.bytes_per_s) * 1e-9,
                      l.latency_ns * 1e-3, l.source == CONSORT_LINK_TOLD ? " ?" : "");
      told |= status == CONSORT_OK && l.source == CONSORT_LINK_TOLD;
      row.push_back(text);
    }
    table.add(std::move(row));
  }
  table.print();
  if (told) std::puts("?: the driver's word; all others were measured");
  return true;
}

}  // namespace

int run_topo(Settings &settings) {
  consort_settings s;
  if (!settings.resolve(&s, {{"pump", "manual"}, {"cores", "share"}})) return 2;
  return look(s, [](consort_runtime *rt, const consort_info &info) {
    if (!print_spaces(rt, info)) return false;
    std::puts("");
    return print_units(rt, info) && print_links(rt, info);
  });
}

int run_links(Settings &settings, bool measure) {
  consort_settings s;
  const char *links = measure ? "again" : "measure";
  if (!settings.resolve(&s, {{"pump", "manual"}, {"cores", "share"}, {"links", links}})) return 2;
  if (!settings.loud)  // what is wrong with a figure
    s.log = [](void *, int32_t level, const char *text) {
      if (level <= 1) std::fprintf(stderr, "consort: %s\n", text);
    };
  return look(s, print_link_table);
}

}  // namespace tool
