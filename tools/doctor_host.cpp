// doctor_host.cpp — host part of `consort doctor`: hardware, limits, libraries. Queries the system, changes nothing.
#include <dlfcn.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "doctor.hpp"
#include "hardware.hpp"
#include "isolated_run.hpp"

namespace tool {
namespace {

std::string first_line(const std::string &path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string meminfo(const char *key) {             // "MemAvailable:   123 kB" → "120.1 KiB"
  std::ifstream in("/proc/meminfo");
  uint64_t kib = 0;
  for (std::string line, word; std::getline(in, line);) {
    std::istringstream words(line);
    if (words >> word >> kib && word == std::string(key) + ":") return bytes(kib * 1024);
  }
  return "?";
}

std::string limit_text(int which, bool memory) {
  rlimit l;
  if (getrlimit(static_cast<__rlimit_resource>(which), &l) != 0) return "?";
  if (l.rlim_cur == RLIM_INFINITY) return "unlimited";
  return memory ? bytes(l.rlim_cur) : std::to_string(l.rlim_cur);
}
bool below(int which, rlim_t least) {
  rlimit l;
  return getrlimit(static_cast<__rlimit_resource>(which), &l) == 0 && l.rlim_cur != RLIM_INFINITY && l.rlim_cur < least;
}

// The file of this process's control group (version 2), "" if there is none.
std::string group_file(const char *name) {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("0::")) {
      const std::string own = first_line("/sys/fs/cgroup" + line.substr(3) + "/" + name);
      return own.empty() ? first_line(std::string("/sys/fs/cgroup/") + name) : own;
    }
  return {};
}

bool is_program(const std::string &name) {
  const char *path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

// RTLD_NOLOAD would find only loaded libraries. A process of its own opens it: some install handlers of signals.
bool is_library(const char *name) {
  return ask_apart(kPluginSeconds, [&](const Teller &out) {
           if (dlopen(name, RTLD_LAZY | RTLD_LOCAL)) out.tell("there");
         }).text.starts_with("there");
}

}  // namespace

void look_at_host(Findings *out) {
  cpu_set_t set;
  const int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
  try {
    const Part host = read_hardware("");
    const uint32_t cores = count_of(host, "core"), threads = threads_of(host);
    out->add("machine", "cores", State::kGood, std::to_string(cores) + ", " + std::to_string(threads) + " hardware threads, " +
             std::to_string(allowed) + " allowed to this process");
    out->add("machine", "NUMA nodes", State::kGood, std::to_string(count_of(host, "numa")));
  } catch (const std::runtime_error &e) {
    out->add("machine", "cores", State::kBad, e.what());
  }
  out->add("machine", "memory", State::kGood, meminfo("MemTotal") + ", " + meminfo("MemAvailable") + " available");
}

void look_at_limits(Findings *out) {
  const auto limit = [&](const char *name, int which, bool memory, rlim_t least, const char *advice) {
    const bool low = least && below(which, least);
    out->add("limits", name, low ? State::kNote : State::kGood, limit_text(which, memory), low ? advice : "");
  };
  limit("threads (nproc)", RLIMIT_NPROC, false, 256, "each worker is a thread: ulimit -u raises it");
  limit("open files", RLIMIT_NOFILE, false, 256, "ulimit -n raises it");
  limit("locked memory", RLIMIT_MEMLOCK, true, 64 << 20, "pinned buffers of io_uring count: ulimit -l raises it");
  limit("address space", RLIMIT_AS, true, rlim_t{1} << 36, "records reserve address space: ulimit -v unlimited");
  if (const std::string cpu = group_file("cpu.max"); !cpu.empty()) {
    const bool open = cpu.starts_with("max");
    out->add("limits", "control group, cpu", State::kGood, open ? "unlimited" : cpu + " (microseconds in a period)");
  }
  if (const std::string memory = group_file("memory.max"); !memory.empty())
    out->add("limits", "control group, memory", State::kGood, memory == "max" ? "unlimited" : bytes(std::strtoull(memory.c_str(), nullptr, 10)));
  const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  const bool barrier = commands >= 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  out->add("limits", "membarrier", barrier ? State::kGood : State::kNote, barrier ? "there" : "not there",
           barrier ? "" : "workers use full fences instead, which cost a little");
  const std::string huge = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  out->add("limits", "huge pages", State::kGood, huge.empty() ? "not there" : huge);
  const std::string uring = first_line("/proc/sys/kernel/io_uring_disabled");
  if (!uring.empty()) out->add("limits", "io_uring", uring == "0" ? State::kGood : State::kNote, uring == "0" ? "allowed" : "switched off",
                               uring == "0" ? "" : "the driver disk_posix works without it");
  const bool rapl = access("/sys/class/powercap/intel-rapl:0/energy_uj", R_OK) == 0;
  out->add("limits", "energy counters", rapl ? State::kGood : State::kNote, rapl ? "readable" : "not readable");
}

void look_at_libraries(Findings *out) {
  constexpr struct { const char *file, *name, *use, *package; } libraries[] = {
      {"libOpenCL.so.1", "OpenCL", "the driver opencl", "ocl-icd-libopencl1"},
      {"libcuda.so.1", "CUDA driver", "the driver cuda", ""},
      {"libamdhip64.so", "HIP runtime", "the driver hip", ""},
      {"libze_loader.so.1", "Level Zero loader", "the driver level_zero", ""},
      {"libfabric.so.1", "libfabric", "the transport ofi", "libfabric1"},
      {"libpmix.so.2", "PMIx", "ranks below Slurm and Open MPI", "libpmix2"},
      {"libmpi.so.40", "Open MPI", "the transport mpi", "libopenmpi3"},
      {"libmpich.so.12", "MPICH", "the transport mpi", "libmpich12"},
      {"librsvg-2.so.2", "librsvg", "pictures in PNG", "librsvg2-2"},
  };
  for (const auto &l : libraries) {
    const bool there = is_library(l.file);
    const std::string advice = there ? "" : *l.package ? "" : "comes with the vendor's driver";
    out->add("libraries", l.name, there ? State::kGood : State::kNote,
             std::string(there ? "there" : "not there") + ", for " + l.use, advice, there ? "" : l.package);
  }
  constexpr struct { const char *names[3]; const char *use, *package; } programs[] = {
      {{"c++", "g++", "clang++"}, "compiling plugins", "g++"},
      {{"cmake", nullptr, nullptr}, "building plugins", "cmake"},
      {{"ninja", "make", nullptr}, "building plugins", "ninja-build"},
      {{"ssh", nullptr, nullptr}, "ranks on other machines", "openssh-client"},
  };
  for (const auto &p : programs) {
    std::string found;
    for (const char *name : p.names)
      if (found.empty() && name && is_program(name)) found = name;
    out->add("libraries", p.names[0], found.empty() ? State::kNote : State::kGood, (found.empty() ? "not there" : found) + ", for " + p.use, "",
             found.empty() ? p.package : "");
  }
}

}  // namespace tool
