// loader_support.hpp — folders of plugins made for one test, and a log that can be looked at.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

#include "plugin/config.hpp"
#include "plugin/registry.hpp"
#include "support/folder.hpp"
#include "support/read_file.hpp"

namespace consort {

using consort_test::read_file;

inline const std::string kFixtures = CONSORT_TEST_PLUGIN_DIR "/loader/";

inline void write_all(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// With plugins of tests/plugins/loader in it.
class Folder : public consort_test::Folder {
 public:
  Folder() : consort_test::Folder("loader") {}
  void add(const std::string &fixture, std::string as = {}) const {
    std::filesystem::copy_file(kFixtures + fixture + ".so", *this / ((as.empty() ? fixture : as) + ".so"));
  }
};

// The logged lines, by level. Any thread may log.
class Lines {
 public:
  static void write(void *user, int32_t level, const char *utf8) {
    auto *me = static_cast<Lines *>(user);
    const std::lock_guard lock(me->mutex_);
    me->lines_.push_back(std::to_string(level) + " " + utf8);
  }
  bool has(const std::string &part) const { return count(part) > 0; }
  size_t count(const std::string &part) const {
    const std::lock_guard lock(mutex_);
    size_t n = 0;
    for (const auto &l : lines_) n += l.find(part) != l.npos;
    return n;
  }
  std::string all() const {
    const std::lock_guard lock(mutex_);
    std::string s;
    for (const auto &l : lines_) s += l + "\n";
    return s;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

using Pairs = std::vector<consort_setting>;

inline std::shared_ptr<Config> config_of(const Pairs &set) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = set.data(), s.nset = static_cast<uint32_t>(set.size());
  auto c = Config::load(&s);
  EXPECT_TRUE(c) << c.error().text;
  return c ? *c : nullptr;
}

// A registry over one folder, logging everything.
inline Result<std::unique_ptr<Registry>> open_registry(const std::string &folder, Lines *lines, Pairs set = {},
                                                       const HostHooks &hooks = {}) {
  set.push_back({"plugin_path", folder.c_str()});
  set.push_back({"log", "debug"});
  return Registry::open(config_of(set), hooks, Lines::write, lines, nullptr, 0);
}

inline const Registry::Found *find(const Registry &r, const std::string &name, const std::string &version = {}) {
  for (const auto &f : r.found())
    if (f.name == name && (version.empty() || f.version == version)) return &f;
  return nullptr;
}

// Where the note's field of a fixture lies in its file.
inline size_t note_at(const std::string &file) { return file.find(std::string("Consort\0", 8)) - 12; }

}  // namespace consort
