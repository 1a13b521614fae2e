#include "hardware.hpp"

#include <hwloc.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "plain_file.hpp"

namespace tool {
namespace {

std::string info_of(hwloc_obj_t o, const char *key) {
  const char *text = hwloc_obj_get_info_by_name(o, key);
  return text ? text : "";
}

std::pair<const char *, const char *> names_of(hwloc_obj_type_t type) {
  switch (type) {
    case HWLOC_OBJ_MACHINE: return {"machine", "machine"};
    case HWLOC_OBJ_PACKAGE: return {"package", "package"};
    case HWLOC_OBJ_NUMANODE: return {"numa", "NUMA node"};
    case HWLOC_OBJ_L3CACHE: return {"l3", "L3"};
    case HWLOC_OBJ_L2CACHE: return {"l2", "L2"};
    case HWLOC_OBJ_L1CACHE: return {"l1d", "L1d"};
    case HWLOC_OBJ_L1ICACHE: return {"l1i", "L1i"};
    case HWLOC_OBJ_CORE: return {"core", "core"};
    default: return {"group", "group"};
  }
}

void add_cpus(hwloc_obj_t o, std::vector<int> *cpus) {
  for (int i = hwloc_bitmap_first(o->cpuset); i >= 0; i = hwloc_bitmap_next(o->cpuset, i)) cpus->push_back(i);
}

Part part_of(hwloc_obj_t o) {
  const auto [kind, name] = names_of(o->type);
  Part p;
  p.kind = kind;
  p.name = name;
  const bool cache = hwloc_obj_type_is_cache(o->type);
  if (!cache && o->type != HWLOC_OBJ_MACHINE && o->type != HWLOC_OBJ_GROUP) p.name += " " + std::to_string(o->logical_index);
  if (o->type == HWLOC_OBJ_PACKAGE)
    if (const std::string model = info_of(o, "CPUModel"); !model.empty()) p.name += ": " + model;
  if (cache) p.bytes = o->attr->cache.size;
  if (o->type == HWLOC_OBJ_NUMANODE) p.bytes = o->attr->numanode.local_memory, p.numa = static_cast<int32_t>(o->logical_index);
  for (hwloc_obj_t m = o->memory_first_child; m; m = m->next_sibling)
    if (m->type == HWLOC_OBJ_NUMANODE) p.memories.push_back(part_of(m));
  if (o->type == HWLOC_OBJ_CORE) {
    add_cpus(o, &p.cpus);
  } else {
    for (unsigned i = 0; i < o->arity; ++i)
      if (o->children[i]->type == HWLOC_OBJ_PU) {  // a machine without reported cores
        Part core;
        core.kind = "core";
        core.name = "cpu " + std::to_string(o->children[i]->logical_index);
        add_cpus(o->children[i], &core.cpus);
        p.parts.push_back(std::move(core));
      } else {
        p.parts.push_back(part_of(o->children[i]));
      }
  }
  return p;
}

}  // namespace

Part read_hardware(const std::string &text) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw std::runtime_error("hwloc could not be initialised: out of memory");
  const std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)> topology(raw, hwloc_topology_destroy);
  hwloc_topology_set_cache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  // The x86 backend moves this thread over all cores, and adds nothing to Linux's data.
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  if (!text.empty()) {
    const bool file = text[0] == '/' || text[0] == '.' || text.ends_with(".xml");
    if (file)  // hwloc opens it by name
      if (const consort::shared::PlainFile xml(text, kLargestText); !xml)
        throw std::runtime_error("cpu.topology file \"" + text + "\" " + xml.why());
    if ((file ? hwloc_topology_set_xml(raw, text.c_str()) : hwloc_topology_set_synthetic(raw, text.c_str())) != 0)
      throw std::runtime_error("cpu.topology \"" + text + "\" cannot be read by hwloc");
  }
  if (hwloc_topology_load(raw) != 0) throw std::runtime_error("hwloc cannot read this machine's topology");
  return part_of(hwloc_get_root_obj(raw));
}

uint32_t count_of(const Part &p, const std::string &kind) {
  uint32_t n = p.kind == kind;
  for (const auto *list : {&p.memories, &p.parts})
    for (const Part &below : *list) n += count_of(below, kind);
  return n;
}

uint32_t threads_of(const Part &p) {
  auto n = static_cast<uint32_t>(p.cpus.size());
  for (const Part &below : p.parts) n += threads_of(below);
  return n;
}

Json json_of(const Part &p) {
  Json j = {{"kind", p.kind}, {"name", p.name}};
  if (p.bytes) j["bytes"] = p.bytes;
  if (!p.cpus.empty()) j["os_cpus"] = p.cpus;
  for (const Part &m : p.memories) j["memories"].push_back(json_of(m));
  for (const Part &below : p.parts) j["parts"].push_back(json_of(below));
  return j;
}

}  // namespace tool
