#include "machine.hpp"

#include <consort/shared/plain_file.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "allowance.hpp"

namespace cpu {
namespace {

enum { kWarn = 1, kInfo = 2, kDebug = 3 };

__attribute__((format(printf, 1, 2))) std::string format(const char *f, ...) {
  char text[512];
  va_list ap;
  va_start(ap, f);
  std::vsnprintf(text, sizeof text, f, ap);
  va_end(ap);
  return text;
}

consort_status refuse(const consort_host *host, const std::string &text) {
  return host->fail(host, CONSORT_E_INVAL, text.c_str());
}

std::vector<uint64_t> words(hwloc_const_bitmap_t set) {
  std::vector<uint64_t> out;
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) {
    if (static_cast<size_t>(i) / 64 >= out.size()) out.resize(i / 64 + 1);
    out[i / 64] |= uint64_t{1} << i % 64;
  }
  return out;
}

struct Set {  // of OS cpus
  hwloc_bitmap_t bits;
  Set() : bits(hwloc_bitmap_alloc()) {}
  explicit Set(hwloc_const_bitmap_t other) : bits(hwloc_bitmap_dup(other)) {}
  Set(const Set &) = delete;
  Set &operator=(const Set &) = delete;
  ~Set() { hwloc_bitmap_free(bits); }
  void add(const std::vector<uint64_t> &cpuset, bool but_the_first = false) {
    for (size_t i = 0; i < cpuset.size() * 64; ++i) {
      if (!(cpuset[i / 64] >> i % 64 & 1)) continue;
      if (!but_the_first) hwloc_bitmap_set(bits, static_cast<unsigned>(i));
      but_the_first = false;
    }
  }
  bool is_empty() const { return hwloc_bitmap_iszero(bits); }
};

// `consort why-not` parses this line.
void tell_unused(const consort_host *host, const Set &cpus, const std::string &why) {
  char list[256];
  if (cpus.is_empty()) return;
  hwloc_bitmap_list_snprintf(list, sizeof list, cpus.bits);
  host->log(host, kDebug, ("os cpus " + std::string(list) + " not used: " + why).c_str());
}

// Twice what a runtime takes. hwloc's cost grows with the third power: 0.2 s for so many, 15 s for four times as many.
constexpr uint64_t kMostThreads = 2048;

std::string too_many(const std::string &what) {
  return "cpu: topology " + what + " has more than " + std::to_string(kMostThreads) +
         " hardware threads, the limit: describe a smaller machine";
}

// Number of hardware threads of a synthetic description: the product of its numbers, without attributes in parentheses. Stops
// above the limit.
uint64_t synthetic_threads(const std::string &text) {
  uint64_t threads = 1;
  int depth = 0;
  for (size_t i = 0; i < text.size() && threads <= kMostThreads; ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    const bool begins = depth == 0 && std::isdigit(static_cast<unsigned char>(text[i])) &&
                        (i == 0 || text[i - 1] == ':' || text[i - 1] == ' ');
    if (!begins) continue;
    uint64_t n = 0;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) && n <= kMostThreads; ++i)
      n = n * 10 + static_cast<uint64_t>(text[i] - '0');
    threads *= n;
    --i;
  }
  return threads;
}

}  // namespace

Machine::~Machine() {
  if (topology_) hwloc_topology_destroy(topology_);
}

consort_status Machine::open(const Settings &settings, const consort_host *host) {
  consort_status status = load(settings, host);
  if (status < 0) return status;
  list_nodes(settings);
  status = choose_cores(settings, host);
  if (status < 0) return status;
  name_arch();
  return CONSORT_OK;
}

// Loads only the used object types: cores, packages (their model), NUMA nodes, hardware threads, caches shared by several
// cores. No I/O.
consort_status Machine::load(const Settings &settings, const consort_host *host) {
  if (hwloc_topology_init(&topology_) != 0)
    return host->fail(host, CONSORT_E_NOMEM, "cpu: hwloc could not be initialised: out of memory");
  hwloc_topology_set_all_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology_, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(topology_, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  for (const hwloc_obj_type_t cache : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE})
    hwloc_topology_set_type_filter(topology_, cache, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  hwloc_topology_set_type_filter(topology_, HWLOC_OBJ_GROUP,
                                 HWLOC_TYPE_FILTER_KEEP_STRUCTURE);  // NUMA nodes are attached to them
  // The x86 backend adds nothing to Linux's data, and it moves this thread over all cores.
  hwloc_topology_set_components(topology_, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  unsigned long flags = HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
#if HWLOC_API_VERSION >= 0x00020800
  flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
  hwloc_topology_set_flags(topology_, flags);
  const std::string &t = settings.topology;
  if (!t.empty()) {
    const bool file = t[0] == '/' || t[0] == '.' || (t.size() > 4 && t.compare(t.size() - 4, 4, ".xml") == 0);
    if (!file && synthetic_threads(t) > kMostThreads) return refuse(host, too_many("\"" + t + "\""));
    constexpr uint64_t kLargestXml = 64 << 20;
    if (file)  // hwloc opens it by name
      if (const consort::shared::PlainFile xml(t, kLargestXml); !xml)
        return refuse(host, "cpu: topology file \"" + t + "\" " + xml.why());
    if ((file ? hwloc_topology_set_xml(topology_, t.c_str()) : hwloc_topology_set_synthetic(topology_, t.c_str())) != 0)
      return refuse(
          host, file ? "cpu: topology file \"" + t + "\" cannot be read as hwloc XML; write one with lstopo file.xml"
                     : "cpu: topology \"" + t + "\" is not a synthetic description; try \"numa:2 core:4 pu:1\"");
  }
  if (hwloc_topology_load(topology_) != 0)
    return host->fail(
        host, CONSORT_E_IO,
        t.empty() ? "cpu: hwloc cannot read this machine's topology; check HWLOC_SYNTHETIC and HWLOC_XMLFILE, or set "
                    "cpu.topology"
                  : ("cpu: topology \"" + t + "\" cannot be loaded; lstopo -i shows how hwloc reads it").c_str());
  if (const int n = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_PU); n > static_cast<int>(kMostThreads))
    return refuse(host, too_many(t.empty() ? "of this machine" : "\"" + t + "\""));
  here_ = hwloc_topology_is_thissystem(topology_) != 0;
  return CONSORT_OK;
}

void Machine::list_nodes(const Settings &settings) {
  const int n = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_NUMANODE);
  uint64_t total = 0;
  for (int i = 0; i < n; ++i) {
    const hwloc_obj_t o = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, i);
    const uint64_t bytes = o->attr->numanode.local_memory;
    total += bytes;
    if (bytes == 0 && n > 1) continue;  // a node without memory
    nodes_.push_back({nodes_.empty() ? "ram" : "ram:" + std::to_string(nodes_.size()), i, bytes, o});
  }
  if (!settings.numa || nodes_.size() <= 1) {
    if (total == 0) total = memory_total(settings.root);
    nodes_ = {{"ram", n > 1 ? -1 : 0, total, nullptr}};
  }
}

uint32_t Machine::node_of(hwloc_obj_t core) const {
  for (uint32_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].object && hwloc_bitmap_isincluded(core->cpuset, nodes_[i].object->cpuset)) return i;
  return 0;
}

// Creates a unit per core on its allowed hardware threads (with smt: per hardware thread), within the limits of the settings,
// the affinity and the quota.
consort_status Machine::choose_cores(const Settings &settings, const consort_host *host) {
  const bool has_cores = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  const uint32_t ncores = static_cast<uint32_t>(hwloc_get_nbobjs_by_type(topology_, type));
  std::vector<uint32_t> chosen;
  if (!settings.cores.empty()) {
    if (!parse_list(settings.cores, chosen))
      return refuse(host, "cpu: cores = \"" + settings.cores + "\" is not a list of cores; write \"0-3,8\"");
    if (chosen.back() >= ncores)
      return refuse(host,
                    format("cpu: cores = \"%s\" names core %u, but there are %u, numbered from 0; lstopo shows them",
                           settings.cores.c_str(), chosen.back(), ncores));
  } else {
    for (uint32_t i = 0; i < ncores; ++i) chosen.push_back(i);
  }

  const Set online(hwloc_topology_get_allowed_cpuset(topology_)), allowed(online.bits);
  if (here_) {
    const std::vector<uint64_t> mask = thread_affinity();
    if (!mask.empty()) {
      Set own;
      own.add(mask);
      hwloc_bitmap_and(allowed.bits, allowed.bits, own.bits);
    }
  }
  const Set set, named;
  for (uint32_t i : chosen) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology_, type, i);
    hwloc_bitmap_or(named.bits, named.bits, core->cpuset);
    hwloc_bitmap_and(set.bits, core->cpuset, allowed.bits);
    if (set.is_empty()) {
      if (settings.cores.empty()) continue;
      return refuse(host, format("cpu: cores = \"%s\" names core %u, which this thread may not use; widen its affinity "
                                 "(taskset, cpuset) or leave it out",
                                 settings.cores.c_str(), i));
    }
    const uint32_t node = node_of(core);
    if (settings.smt) {
      for (int pu = hwloc_bitmap_first(set.bits); pu >= 0; pu = hwloc_bitmap_next(set.bits, pu)) {
        Core c{std::vector<uint64_t>(pu / 64 + 1), node};
        c.cpuset[pu / 64] = uint64_t{1} << pu % 64;
        cores_.push_back(std::move(c));
      }
    } else {
      cores_.push_back({words(set.bits), node});
    }
  }
  hwloc_bitmap_andnot(set.bits, hwloc_topology_get_complete_cpuset(topology_), online.bits);
  tell_unused(host, set, "offline, or outside the cpuset of this process's control group; widen cpuset.cpus");
  hwloc_bitmap_andnot(set.bits, online.bits, allowed.bits);
  tell_unused(host, set, "outside the affinity of the thread that starts the runtime; widen it (taskset -c)");
  hwloc_bitmap_andnot(set.bits, allowed.bits, named.bits);
  tell_unused(host, set, "their cores are not named by cpu.cores = \"" + settings.cores + "\"; add them there");
  if (cores_.empty())
    return refuse(host, "cpu: no core may be used by this thread; widen its affinity (taskset, cpuset)");

  const double quota = here_ ? cgroup_quota(settings.root) : 0;
  const uint32_t granted = quota > 0 ? static_cast<uint32_t>(std::ceil(quota)) : CONSORT_NONE;
  uint32_t workers = settings.workers;
  if (workers == 0) {
    workers = static_cast<uint32_t>(cores_.size());
    if (granted < workers) {
      host->log(host, kInfo,
                format("cpu: the cgroup grants %.2f cpus: %u workers on %u cores", quota, granted, workers).c_str());
      workers = granted;
    }
  } else if (workers > granted || workers > cores_.size()) {
    host->log(host, kWarn, format("cpu: workers = %u, but %zu cores may be used%s: workers share cores", workers,
                                  std::min<size_t>(cores_.size(), granted),
                                  granted < cores_.size() ? " (cgroup quota)" : "").c_str());
  }
  const size_t have = cores_.size();
  Set left, siblings;
  for (size_t i = workers; i < have; ++i) left.add(cores_[i].cpuset);
  tell_unused(host, left,
              settings.workers ? format("cpu.workers (or workers) = %u; raise it, or set 0 for all", workers)
                               : format("the control group grants %.2f cpus; raise its cpu.max", quota));
  for (size_t i = 0; i < std::min<size_t>(workers, have); ++i) siblings.add(cores_[i].cpuset, true);
  tell_unused(host, siblings, "further hardware threads of cores that have a worker; cpu.smt = true gives each its own");
  if (workers <= have) cores_.resize(workers);
  while (cores_.size() < workers) cores_.push_back(Core(cores_[cores_.size() % have]));
  find_nearby(settings.smt || !has_cores);
  if (!here_)
    for (Core &c : cores_) c.cpuset.clear();
  return CONSORT_OK;
}

// For every object above the units, collects the units below it (threads: units are hardware threads, so cores count as objects).
void Machine::find_nearby(bool threads) {
  const int depth = hwloc_topology_get_depth(topology_);
  for (int level = 0; level < depth; ++level) {
    const hwloc_obj_type_t type = hwloc_get_depth_type(topology_, level);
    if (type == HWLOC_OBJ_PU || (type == HWLOC_OBJ_CORE && !threads)) break;
    for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_depth(topology_, level, o));) {
      std::vector<uint32_t> units;
      for (uint32_t i = 0; i < cores_.size(); ++i) {
        Set own;
        own.add(cores_[i].cpuset);
        if (hwloc_bitmap_isincluded(own.bits, o->cpuset)) units.push_back(i);
      }
      if (units.size() > 1) nearby_.push_back(std::move(units));
    }
  }
  std::sort(nearby_.begin(), nearby_.end());
  nearby_.erase(std::unique(nearby_.begin(), nearby_.end()), nearby_.end());
}

// "AMD EPYC 9R14 96-Core Processor" → "cpu/amd-epyc-9r14"
void Machine::name_arch() {
  const char *model = nullptr;
  if (const hwloc_obj_t package = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, 0))
    model = hwloc_obj_get_info_by_name(package, "CPUModel");
  if (!model) model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology_), "Architecture");
  std::string text = model ? model : here_ ? "unknown" : "synthetic", word, out;
  for (const char *mark : {"(R)", "(TM)", "(r)", "(tm)"})
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, std::strlen(mark), 1, ' ');
  text.resize(std::min(text.find('@'), text.size()));
  text += ' ';
  for (char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    const bool noise = word.empty() || word == "cpu" || word == "processor" || word.find("-core") != std::string::npos;
    if (!noise) out += (out.empty() ? "" : "-") + word;
    word.clear();
  }
  arch_ = "cpu/" + (out.empty() ? "unknown" : out);
}

}  // namespace cpu
