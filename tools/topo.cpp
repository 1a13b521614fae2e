// topo.cpp — `consort topo`: the machine as a tree, as tables, as a picture, as JSON; --links measures.
#include "topo.hpp"

#include <algorithm>
#include <cstdio>

#include "drawing.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

std::string joined(const std::vector<std::string> &words, const char *between = " ") {
  std::string text;
  for (const std::string &w : words) text += (text.empty() ? "" : between) + w;
  return text;
}

// -- tables ---------------------------------------------------------------------------------------------------

std::string numa(int32_t node) { return node < 0 ? "-" : std::to_string(node); }

void print_tables(const Inventory &all) {
  Table spaces({"SPACE", "NAME", "DRIVER", "DOMAIN", "CAPACITY", "NUMA", "ACCESS"});
  spaces.right(4);
  for (const Space &s : all.spaces) {
    const std::string access = joined(space_flags(s.flags));
    spaces.add({std::to_string(s.id), s.name, s.driver, s.domain, s.capacity ? bytes(s.capacity) : "?", numa(s.numa),
                access.empty() ? "-" : access});
  }
  spaces.print();
  std::puts("");
  Table units({"UNIT", "NAME", "CLASS", "ARCH", "SPACE", "NUMA", "OS CPU"});
  for (const Unit &w : all.units)
    units.add({std::to_string(w.id), w.name, w.klass, w.arch.empty() ? "-" : w.arch,
               w.space == CONSORT_NONE ? "-" : std::to_string(w.space), numa(w.numa), w.os_cpu < 0 ? "-" : std::to_string(w.os_cpu)});
  units.print();
  Table links({"LINK", "DRIVER", "GB/s", "LATENCY", "CAN"});
  links.right(2);
  links.right(3);
  for (const Link &l : all.links) {
    char speed[32];
    std::snprintf(speed, sizeof speed, "%.1f", static_cast<double>(l.bytes_per_s) * 1e-9);
    const std::string can = joined(link_flags(l.flags));
    links.add({std::to_string(l.from) + " -> " + std::to_string(l.to), l.driver, l.bytes_per_s ? speed : "?",
               std::to_string(l.latency_ns) + " ns", can.empty() ? "-" : can});
  }
  if (!links.empty()) std::puts(""), links.print();
}

// Rows are sources.
void print_link_table(const Inventory &all) {
  std::vector<std::string> head{"FROM \\ TO"};
  for (const Space &s : all.spaces) head.push_back(std::to_string(s.id));
  Table table(head);
  bool told = false;
  for (const Space &from : all.spaces) {
    std::vector<std::string> row{std::to_string(from.id) + " " + from.name};
    for (const Space &to : all.spaces) {
      const auto l = std::find_if(all.links.begin(), all.links.end(), [&](const Link &x) { return x.from == from.id && x.to == to.id; });
      char text[64] = "-";
      if (l != all.links.end())
        std::snprintf(text, sizeof text, "%.2f GB/s %.1f us%s", static_cast<double>(l->bytes_per_s) * 1e-9,
                      static_cast<double>(l->latency_ns) * 1e-3, l->measured ? "" : " ?");
      told |= l != all.links.end() && !l->measured;
      row.push_back(text);
    }
    table.add(std::move(row));
  }
  table.print();
  if (told) std::puts("?: declared by the driver; all others were measured");
}

// -- the tree -------------------------------------------------------------------------------------------------

struct Branch {
  std::string text;
  std::vector<Branch> below;
};

void print_branches(const std::vector<Branch> &branches, const std::string &indent) {
  for (const Branch &b : branches) {
    const bool last = &b == &branches.back();
    std::printf("%s%s\n", dim(indent + (last ? "└─ " : "├─ ")).c_str(), b.text.c_str());
    print_branches(b.below, indent + (last ? "   " : "│  "));
  }
}

std::string title_of(const Part &p) {
  std::string text = printable(p.name) + (p.bytes ? " " + bytes(p.bytes) : "");
  if (p.kind == "package" || p.kind == "machine") text = bold(text);
  return text;
}

std::string worker_text(const std::vector<const Unit *> &units) {
  if (units.empty()) return dim(" no worker");
  std::string text = units.size() == 1 ? " worker " : " workers ";
  for (const Unit *u : units) text += (u == units.front() ? "" : ", ") + green(printable(u->name));
  return text;
}

std::string memory_text(const Picture &m, const Part &memory) {
  const Space *s = m.host_memory(memory.numa);
  return title_of(memory) + (s ? ": space " + std::to_string(s->id) + " " + green(printable(s->name)) : "");
}

// Nested parts with one child each share a line: "L2 1.0 MiB + L1d 32.0 KiB + core 0".
Branch branch_of(const Picture &m, const Part &top) {
  Branch b;
  const Part *p = &top;
  for (;; p = &p->parts.front()) {
    b.text += (b.text.empty() ? "" : " + ") + title_of(*p);
    for (const Part &memory : p->memories) b.below.push_back({memory_text(m, memory), {}});
    if (p->parts.size() != 1 || p->kind == "machine" || p->kind == "package") break;
  }
  if (p->kind == "core") {
    std::vector<std::string> cpus;
    for (const int c : p->cpus) cpus.push_back(std::to_string(c));
    b.text += " (os cpu " + joined(cpus, ",") + ")" + (m.found.topology.empty() ? worker_text(m.units_at(*p)) : "");
  }
  for (const Part &below : p->parts) b.below.push_back(branch_of(m, below));
  return b;
}

Branch device_branch(const Picture &m, const Space &s) {
  Branch b{"space " + std::to_string(s.id) + " " + bold(printable(s.name)) + " of driver " + printable(s.driver), {}};
  b.text += s.capacity ? ": " + bytes(s.capacity) : "";
  if (s.numa >= 0) b.text += ", at NUMA node " + std::to_string(s.numa);
  if (const std::string access = joined(space_flags(s.flags), ", "); !access.empty()) b.text += dim(" (" + access + ")");
  for (const Unit *u : m.units_in(s))
    b.below.push_back({"unit " + std::to_string(u->id) + " " + green(printable(u->name)) + dim(" (class " + printable(u->klass + (u->arch.empty() ? "" : ", " + u->arch)) + ")"), {}});
  return b;
}

void print_tree(const Picture &m) {
  std::vector<Branch> devices, links, units;
  if (m.has_host) {
    const Branch host = branch_of(m, m.host);
    const std::string given = m.found.topology.empty() ? "" : " of cpu.topology \"" + printable(m.found.topology) + "\"";
    std::printf("%s%s: %u cores, %u hardware threads\n", bold("machine").c_str(), given.c_str(), count_of(m.host, "core"), threads_of(m.host));
    print_branches(host.below, "");
  }
  for (const Space &s : m.found.spaces) {
    if (m.is_host(s) && m.has_host)
      for (const Unit *u : m.units_in(s)) units.push_back({"unit " + std::to_string(u->id) + " " + green(printable(u->name)) + " on space " + std::to_string(s.id), {}});
    else devices.push_back(device_branch(m, s));
  }
  for (const Link &l : m.found.links)
    links.push_back({std::to_string(l.from) + " " + printable(m.space(l.from)->name) + " → " + std::to_string(l.to) + " " + printable(m.space(l.to)->name) +
                         ": " + speed_text(l) + dim(l.measured ? " (measured)" : " (driver " + printable(l.driver) + " declares it)"), {}});
  const auto section = [](const char *title, const std::vector<Branch> &all) {
    if (!all.empty()) std::printf("%s\n", bold(title).c_str()), print_branches(all, "");
  };
  section(m.found.topology.empty() ? "units at no core" : "units, bound to no core of a given machine", units);
  section("devices", devices);
  section("links", links);
}

Json json_of_picture(const Picture &m) {
  Json all = document("topo");
  all["host"] = m.has_host ? json_of(m.host) : Json();
  all.update(json_of(m.found));
  return all;
}

}  // namespace

std::string speed_text(const Link &l) {
  char text[64];
  if (!l.bytes_per_s) return "speed unknown";
  std::snprintf(text, sizeof text, "%.1f GB/s, %.1f us", static_cast<double>(l.bytes_per_s) * 1e-9, static_cast<double>(l.latency_ns) * 1e-3);
  return text;
}

const Space *Picture::space(uint32_t id) const {
  const auto s = std::find_if(found.spaces.begin(), found.spaces.end(), [&](const Space &x) { return x.id == id; });
  return s == found.spaces.end() ? nullptr : &*s;
}

bool Picture::is_host(const Space &s) const { return s.driver == "cpu"; }

const Space *Picture::host_memory(int32_t node) const {
  const Space *any = nullptr;
  for (const Space &s : found.spaces) {
    if (!is_host(s)) continue;
    if (s.numa == node) return &s;
    if (s.numa < 0) any = &s;
  }
  return any;
}

std::vector<const Unit *> Picture::units_at(const Part &core) const {
  std::vector<const Unit *> all;
  for (const Unit &u : found.units) {
    const Space *s = space(u.space);
    if (s && is_host(*s) && std::find(core.cpus.begin(), core.cpus.end(), u.os_cpu) != core.cpus.end()) all.push_back(&u);
  }
  return all;
}

std::vector<const Unit *> Picture::units_in(const Space &s) const {
  std::vector<const Unit *> all;
  for (const Unit &u : found.units)
    if (u.space == s.id && !(has_host && is_host(s) && u.os_cpu >= 0)) all.push_back(&u);
  return all;
}

int run_topo(Settings &settings, const TopoOptions &o) {
  const bool links = o.links || o.measure;
  std::vector<consort_setting> extra;
  if (links) extra.push_back({"links", o.measure ? "again" : "measure"});
  Picture m;
  Examination examination;
  {
    const Progress progress(links ? "measuring links" : "starting a runtime to query it");
    m.found = take_inventory(settings, examination, extra, links ? 600 : 30);
  }
  if (links || settings.loud)
    for (const LogLine &l : m.found.log)
      if (l.level <= 1 || settings.loud) complain(l.text);  // problems with figures
  if (!m.found.error.empty()) return complain(m.found.error);
  const auto &spaces = m.found.spaces;
  m.has_host = std::any_of(spaces.begin(), spaces.end(), [&](const Space &s) { return m.is_host(s); });
  if (m.has_host) m.host = read_hardware(m.found.topology);
  if (!o.svg.empty()) {
    write_drawing(o.svg, topo_svg(m));
    std::printf("%s: %zu spaces, %zu units, %zu links\n", printable(o.svg).c_str(), spaces.size(), m.found.units.size(), m.found.links.size());
  } else if (o.json) {
    print(json_of_picture(m));
  } else if (links) {
    print_link_table(m.found);
  } else if (o.table) {
    print_tables(m.found);
  } else {
    print_tree(m);
  }
  return 0;
}

}  // namespace tool
