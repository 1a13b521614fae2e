// A folder of 200 plugins is listed from their notes: none is loaded, and it takes some milliseconds.
#include <consort/consort.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <string>

#include "support/folder.hpp"
#include "support/read_file.hpp"

namespace consort_test {
namespace {

TEST(Discovery, ListsTwoHundredPluginsWithoutLoading) {
  const Folder folder("discovery");
  const std::string plugin = read_file(CONSORT_PLUGIN_DIR "/eager.so"), old = std::string("eager\0", 6);
  ASSERT_FALSE(plugin.empty());
  std::set<std::string> expected;
  for (int i = 0; i < 200; ++i) {  // the same plugin under other names, in its note and wherever else it stands
    std::string name = "p" + std::to_string(1000 + i), file = plugin;
    expected.insert(name);
    for (size_t at = 0; (at = file.find(old, at)) != file.npos;) file.replace(at, name.size(), name);
    std::ofstream(folder / (name + ".so"), std::ios::binary) << file;
  }
  const consort_setting set[] = {{"plugin_path", folder.path().c_str()}};
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set;
  settings.nset = 1;
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    std::set<std::string> found;
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(consort_list_plugins(
                  &settings, 0,
                  [](void *user, const consort_plugin_row *row) {
                    if (row->usable && row->name[0] == 'p' && row->name[1] == '1')
                      static_cast<std::set<std::string> *>(user)->insert(row->name);
                  },
                  &found),
              CONSORT_OK);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    ASSERT_EQ(found, expected);
  }
  EXPECT_EQ(read_file("/proc/self/maps").find(folder.path()), std::string::npos);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(best, 20) << "milliseconds";
#endif
  RecordProperty("milliseconds", std::to_string(best));
}

}  // namespace
}  // namespace consort_test
