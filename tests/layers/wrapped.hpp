// wrapped.hpp — a plugin below layers, its tables driven by the test; no runtime.
#pragma once
#include <algorithm>
#include <string_view>

#include "plugin/loader_support.hpp"

namespace consort_test {

// file: of tests/plugins/layers; "": it is one of the tree's own.
struct Wrapped {
  Wrapped(const std::string &file, uint32_t kind, const char *name, std::vector<consort_setting> more = {},
          const char *layers = "checks", const consort::HostHooks &hooks = {}) {
    plugins = "+" CONSORT_TEST_PLUGIN_DIR "/layers/" + file + ".so";
    if (!file.empty()) more.push_back({"plugins", plugins.c_str()});
    more.push_back({"layers", layers});
    const auto is_of_faults = [](const consort_setting &s) { return std::string_view(s.key).starts_with("faults."); };
    if (std::string_view(layers).find("faults") != std::string_view::npos &&
        std::none_of(more.begin(), more.end(), is_of_faults))
      more.push_back({"faults.function", "alloc"});  // which is never called: no fault strikes
    auto r = consort::open_registry(CONSORT_PLUGIN_DIR, &lines, more, hooks);
    EXPECT_TRUE(r) << r.error().text;
    registry = std::move(*r);
    auto p = registry->load(kind, name);
    EXPECT_TRUE(p) << p.error().text;
    if (p) plugin = *p;
  }
  size_t told(const std::string &rule) const { return lines.count("(" + rule + ")"); }
  std::string plugins;
  consort::Lines lines;
  std::unique_ptr<consort::Registry> registry;
  consort::Plugin *plugin = nullptr;
};

}  // namespace consort_test
