#include "allowance.hpp"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cpu {
namespace {

// Reads the first `max` bytes; files of /proc and /sys report no size.
std::string read(const std::string &path, size_t max = 65536) {
  std::string text(max, 0);  // allocated before the file is opened, so that a failure leaves nothing open
  FILE *f = std::fopen(path.c_str(), "re");
  text.resize(f ? std::fread(text.data(), 1, max, f) : 0);
  if (f) std::fclose(f);
  return text;
}

void tighten(double &quota, double cpus) {
  if (cpus > 0 && (quota == 0 || cpus < quota)) quota = cpus;
}

// "max 100000", "150000 100000"
void read_v2(const std::string &folder, double &quota) {
  double max = 0, period = 0;
  if (std::sscanf(read(folder + "/cpu.max", 128).c_str(), "%lf %lf", &max, &period) == 2 && period > 0)
    tighten(quota, max / period);
}

// "-1" means no limit
void read_v1(const std::string &folder, double &quota) {
  const std::string us = read(folder + "/cpu.cfs_quota_us", 64), period = read(folder + "/cpu.cfs_period_us", 64);
  if (us.empty() || period.empty()) return;
  const double q = std::atof(us.c_str()), p = std::atof(period.c_str());
  if (q > 0 && p > 0) tighten(quota, q / p);
}

// A group's limit applies to all groups below it: reads from `path` up to the mount. In a container the path may name a
// folder that is not visible there; then the mount itself is the group.
void walk(const std::string &mount, std::string path, void (*look)(const std::string &, double &), double &quota) {
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    look(mount + path, quota);
    if (path.empty()) return;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

}  // namespace

double cgroup_quota(const std::string &root) {
  double quota = 0;
  const std::string base = root + "/sys/fs/cgroup";
  const std::string groups = read(root + "/proc/self/cgroup");
  for (size_t at = 0; at < groups.size();) {  // "0::/user.slice", "4:cpu,cpuacct:/docker/ab12"
    size_t end = groups.find('\n', at);
    if (end == std::string::npos) end = groups.size();
    const std::string line = groups.substr(at, end - at);
    at = end + 1;
    const size_t first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      walk(base, path, read_v2, quota);
      walk(base + "/unified", path, read_v2, quota);
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      walk(base + "/" + controllers, path, read_v1, quota);
      walk(base + "/cpu", path, read_v1, quota);
    }
  }
  return quota;
}

std::vector<uint64_t> thread_affinity() {
  for (size_t cpus = 1024; cpus <= (size_t{1} << 20); cpus *= 2) {  // the system refuses a mask shorter than the kernel's
    std::vector<uint64_t> words(cpus / 64);
    if (sched_getaffinity(0, words.size() * 8, reinterpret_cast<cpu_set_t *>(words.data())) == 0) return words;
  }
  return {};
}

uint64_t memory_total(const std::string &root) {
  const std::string text = read(root + "/proc/meminfo", 4096);
  const size_t at = text.find("MemTotal:");
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + 9, nullptr, 10) * 1024;
}

bool parse_list(const std::string &text, std::vector<uint32_t> &out) {
  constexpr unsigned long kMost = 1 << 20;
  out.clear();
  const char *p = text.c_str();
  const auto number = [&](unsigned long &n) {
    while (*p == ' ') ++p;
    if (!std::isdigit(static_cast<unsigned char>(*p))) return false;
    char *end;
    n = std::strtoul(p, &end, 10);
    for (p = end; *p == ' ';) ++p;
    return n < kMost;
  };
  for (;;) {
    unsigned long low, high;
    if (!number(low)) return false;
    high = low;
    if (*p == '-') {
      ++p;
      if (!number(high) || high < low) return false;
    }
    for (; low <= high; ++low) out.push_back(static_cast<uint32_t>(low));
    if (*p == 0) break;
    if (*p++ != ',') return false;
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return true;
}

}  // namespace cpu
