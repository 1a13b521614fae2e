// Loading the file and calling its entry.
#include <dlfcn.h>
#include <link.h>

#include <chrono>
#include <cstring>
#include <fstream>

#include "conform/case.hpp"
#include "conform/plugin.hpp"

namespace conform {
namespace {

size_t count_libraries() {
  size_t n = 0;
  dl_iterate_phdr([](dl_phdr_info *, size_t, void *count) { return ++*static_cast<size_t *>(count), 0; }, &n);
  return n;
}

bool is_mapped(const std::string &path) {
  char real[4096];
  const std::string whole = realpath(path.c_str(), real) ? real : path;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.size() >= whole.size() && line.compare(line.size() - whole.size(), whole.size(), whole) == 0) return true;
  return false;
}

}  // namespace

CONFORM_CASE(P, 20, load, loads_by_itself) {
  t.doing("dlopen");
  const Library library(t.subject().path);
  t.check(library.error().empty(), "%s", library.error().c_str());
}

CONFORM_CASE(P, 21, load, entry_does_nothing) {
  const Host host;
  count_threads(), count_descriptors();
  const size_t threads = count_threads(), descriptors = count_descriptors();
  t.doing("dlopen");
  const Library library(t.subject().path);
  t.need(library.error().empty(), "%s", library.error().c_str());
  t.check(count_threads() == threads, "loading it started %zu threads", count_threads() - threads);
  t.check(count_descriptors() == descriptors, "loading it left %zu descriptors open", count_descriptors() - descriptors);
  const size_t libraries = count_libraries();
  t.doing("the entry");
  double least = 1e9;
  for (int k = 0; k < 3; ++k) {
    const auto began = std::chrono::steady_clock::now();
    const consort_module *module = library.entry()(host.table());
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    t.need(module, "the entry refuses a host of its own version: %s", host.failure().c_str());
  }
  t.check(count_threads() == threads, "the entry started %zu threads", count_threads() - threads);
  t.check(count_descriptors() == descriptors, "the entry left %zu descriptors open", count_descriptors() - descriptors);
  t.check(count_libraries() == libraries, "the entry loaded %zu libraries", count_libraries() - libraries);
  t.check(least < 0.01, "the entry took %.0f ms", least * 1e3);
  t.check(host.live_blocks() == 0 && host.asked() == 0, "the entry asked the host for memory or services");
}

CONFORM_CASE(P, 22, load, entry_answers_the_same_again) {
  const Plugin p(t, false);
  Host other;
  const Library again(t.subject().path);  // loaded a second time
  t.need(again.error().empty(), "%s", again.error().c_str());
  t.doing("the entry, for a second host");
  const consort_plugin *theirs = find_plugin(again.entry()(other.table()), t.subject().name());
  t.need(theirs, "the entry names no such plugin the second time");
  t.check(theirs == p.theirs(), "the entry answers another table the second time");
  t.check(theirs->ops == p.manifest().ops && theirs->flags == p.manifest().flags, "the plugin's table has changed");
  Plugin started(t, other);
  t.check(!std::memcmp(p.theirs(), &p.manifest(), CONSORT_END(consort_plugin, ops)), "the plugin's table changes when it starts");
}

CONFORM_CASE(P, 23, load, unloads_if_it_says_so) {
  if (!(t.subject().note.flags & CONSORT_PF_UNLOADABLE)) t.skip("it does not say CONSORT_PF_UNLOADABLE, so it is never unloaded");
  for (int round = 0; round < 3; ++round) {
    Host host;
    Library library(t.subject().path);
    t.need(library.error().empty(), "%s", library.error().c_str());
    const consort_plugin *theirs = find_plugin(library.entry()(host.table()), t.subject().name());
    t.need(theirs, "the entry names no such plugin");
    {
      const consort_plugin m = copy_manifest(theirs);
      host.declare(m.params, m.nparams);
      for (const auto &[key, value] : t.subject().params) host.set_param(key, value);
      void *self = nullptr;
      t.doing("init");
      if (m.init(host.table(), &self) >= 0) m.quiesce(self, host.now() + 1'000'000'000), m.fini(self);
    }
    t.doing("dlclose");
    t.need(library.unload(), "dlclose refuses it");
    t.need(!is_mapped(t.subject().path), "is still mapped after dlclose");
  }
}

}  // namespace conform
