// The `consort` command as a user calls it, and the calls beneath it. It finds the plugins beside its own library.
#include <consort/consort.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer;
using consort_test::read_file;
using consort_test::Tools;

TEST_F(Tools, PluginsListsAll) {
  const ToolAnswer a = run("plugins");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_EQ(a.out.find("KIND "), 0u);
  for (const char *name : {"cpu", "vector", "matrix", "lws", "prio", "eager", "ws", "random", "dm",
                           "dmda", "dmdar", "dmdas", "dmdasd", "heft", "graph-lookahead"}) EXPECT_TRUE(a.has(name)) << a.out;
  EXPECT_FALSE(a.has("not used:")) << a.out;
}

TEST_F(Tools, PluginsVerboseListsParameters) {
  const ToolAnswer a = run("plugins -v");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("lws.depth = ")) << a.out;
  EXPECT_TRUE(a.has("host ABI 0.")) << a.out;
  EXPECT_TRUE(a.has("licence ")) << a.out;
}

TEST_F(Tools, PluginsExplainsUnusedPlugins) {
  for (const char *name : {"good", "good_newer", "foreign", "bad_no_ops"})
    std::filesystem::copy_file(std::string(CONSORT_TEST_PLUGIN_DIR "/loader/") + name + ".so",
                               folder_ / name + ".so");
  std::ofstream(folder_ / "cut.so") << "\x7f" "ELF";
  const std::string path = "CONSORT_PLUGIN_PATH=" + folder_.path();
  const ToolAnswer a = run("plugins", path);
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("good 1.10.0 (" + folder_ / "good_newer.so) is taken instead of 1.2.0")) << a.out;
  EXPECT_TRUE(a.has(folder_ / "foreign.so has no note of a Consort plugin")) << a.out;
  EXPECT_TRUE(a.has(folder_ / "cut.so is no ELF file")) << a.out;
  EXPECT_FALSE(a.has("has no function table")) << "only its code tells: " << a.out;
  const ToolAnswer v = run("plugins -v", path);
  EXPECT_EQ(v.status, 0) << v.out;
  EXPECT_TRUE(v.has("plugin \"bad_no_ops\" (" + folder_ / "bad_no_ops.so) has no function table")) << v.out;
  const ToolAnswer excluded = run("plugins", path + " CONSORT_PLUGINS=^good");
  EXPECT_TRUE(excluded.has("left out by environment CONSORT_PLUGINS: \"^good\"")) << excluded.out;
  const ToolAnswer missing = run("plugins", path + " CONSORT_PLUGINS=godo");
  EXPECT_EQ(missing.status, 1);
  EXPECT_TRUE(missing.has("consort: environment CONSORT_PLUGINS: plugin \"godo\" not found (did you mean \"good\"?)"))
      << missing.out;
  EXPECT_TRUE(missing.has("KIND ")) << "what there is, all the same";
}

TEST_F(Tools, ConfigNamesTheOriginOfEachValue) {
  const std::string file = folder_ / "x.toml";
  std::ofstream(file) << "window = 7\n[lws]\ndepth = 100\n";
  const ToolAnswer a = run("config --changed --config " + file + " --set bypass=3", "CONSORT_SPIN_US=9");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("window = 7  # file " + file + ":1\n")) << a.out;
  EXPECT_TRUE(a.has("bypass = 3  # code\n")) << a.out;
  EXPECT_TRUE(a.has("spin_us = 9  # environment CONSORT_SPIN_US\n")) << a.out;
  EXPECT_TRUE(a.has("[lws]\n")) << a.out;
  EXPECT_TRUE(a.has("depth = 100  # file " + file + ":3\n")) << a.out;
  EXPECT_FALSE(a.has("pump")) << a.out;
}

TEST_F(Tools, ConfigPrintsAFileThatReadsBack) {
  const std::string file = folder_ / "all.toml";
  const std::string quoted = folder_ / "a \"b\"";
  std::filesystem::create_directory(quoted);
  const ToolAnswer a = run("config --set plugin_path='" + quoted + "' --set seed=18446744073709551615 --set drivers=cpu");
  EXPECT_EQ(a.status, 0) << a.out;
  std::ofstream(file) << a.out;
  const ToolAnswer b = run("config --config " + file);
  EXPECT_EQ(b.status, 0) << b.out;
  const auto values = [](const std::string &text) {  // without comments
    std::string kept;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      if (!line.starts_with('#')) kept += line.substr(0, line.find("  # ")) + "\n";
      at = end + 1;
    }
    return kept;
  };
  EXPECT_EQ(values(a.out), values(b.out));
  EXPECT_NE(values(a.out).find("window = 2048\n"), std::string::npos);
}

TEST_F(Tools, BadSettingsAreOneLineAndStatusOne) {
  const struct { const char *arguments, *text;
  } cases[] = {
      {"config --set windw=3", "consort: code: unknown key \"windw\" (did you mean \"window\"?)"},
      {"config --set window=x", "consort: code: \"window\" expects u32 in 0..1048576, not \"x\""},
      {"config --set lws.dept=3", "consort: code: plugin \"lws\" has no key \"dept\" (did you mean \"depth\"?)"},
      {"config --set lsw.depth=3",
       "consort: code: key \"lsw.depth\" is for a plugin \"lsw\", which was not found (did you mean \"lws\"?)"},
      {"topo --set scheduler=prioo",
       "consort: code: scheduler \"prioo\" not found (did you mean \"prio\"?); consort plugins lists what there is"},
      {"config --set scheduler=nosuch", "consort: code: scheduler \"nosuch\" not found; consort plugins lists"},
      {"plugins --set scheduler=prioo", "consort: code: scheduler \"prioo\" not found (did you mean \"prio\"?)"},
      {"config --set drivers=cpu,cqu", "consort: code: driver \"cqu\" not found (did you mean \"cpu\"?)"},
      {"plugins --config /no/such.toml", "consort: config file \"/no/such.toml\" cannot be read: No such file or directory"}};
  for (const auto &c : cases) {
    const ToolAnswer a = run(c.arguments);
    EXPECT_EQ(a.status, 1) << c.arguments << a.out;
    EXPECT_TRUE(a.has(c.text)) << c.arguments << "\n" << a.out;
  }
}

TEST_F(Tools, BadValueInAFileNamesItsLine) {
  const std::string file = folder_ / "x.toml";
  const auto said = [&](const char *text, const char *command, const std::string &part) {
    std::ofstream(file) << text;
    const ToolAnswer a = run(std::string(command) + " --config " + file);
    EXPECT_EQ(a.status, 1) << a.out;
    EXPECT_TRUE(a.has("consort: file " + file + part)) << a.out;
  };
  said("[cpu]\ncores = \"0-99\"\n", "topo", ":2: driver 'cpu' failed while opening its device: cpu: cores = \"0-99\" names core");
  said("# 1\nscheduler = 3\n", "config", ":2: \"scheduler\" expects string, not the integer 3");
  said("# 1\nscheduler = \"nosuch\"\n", "config", ":2: scheduler \"nosuch\" not found");
}

TEST_F(Tools, UnknownCommandSuggestsTheNearest) {
  const struct { const char *arguments, *text;
  } cases[] = {{"foo", "consort: \"foo\" is not a command; consort help lists all commands\n"},
               {"plugns", "consort: \"plugns\" is not a command (did you mean \"plugins\"?); consort help lists"},
               {"--set window=3 tpo", "consort: \"tpo\" is not a command (did you mean \"topo\"?)"},
               {"help cnfig", "consort: \"cnfig\" is not a command (did you mean \"config\"?)"}};
  for (const auto &c : cases) {
    const ToolAnswer a = run(c.arguments);
    EXPECT_EQ(a.status, 2) << c.arguments;
    EXPECT_EQ(a.out.find(c.text), 0u) << c.arguments << "\n" << a.out;
  }
  const ToolAnswer all = run("help"), one = run("help topo");
  EXPECT_EQ(all.status, 0) << all.out;
  for (const char *command : {"plugins", "config", "topo", "why-not", "help"}) EXPECT_TRUE(all.has(command)) << all.out;
  EXPECT_EQ(one.status, 0) << one.out;
  EXPECT_TRUE(one.has("memory spaces")) << one.out;
  EXPECT_TRUE(one.has("Usage: consort topo")) << one.out;
}

TEST_F(Tools, WrongUseIsStatusTwo) {
  EXPECT_EQ(run("").status, 2);
  EXPECT_EQ(run("plugns").status, 2);
  EXPECT_EQ(run("plugins --nothing").status, 2);
  EXPECT_EQ(run("plugins --set x").status, 2);
  EXPECT_EQ(run("--help").status, 0);
  const ToolAnswer version = run("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out, "consort " CONSORT_VERSION "\n");
}

TEST_F(Tools, SchedExplainNamesTheChoiceAndItsReason) {
  const ToolAnswer alike = run("sched explain --set 'cpu.topology=core:3 pu:1' --set drivers=cpu");
  EXPECT_EQ(alike.status, 0) << alike.out;
  EXPECT_EQ(alike.out.find("scheduler = \"auto\" (default) selects lws: 3 like units\n"), 0u) << alike.out;
  const std::string sim = " --set drivers=sim --set time=virtual --set sim.cores=2 --set sim.devices=1";
  const ToolAnswer unlike = run("sched explain" + sim);
  EXPECT_TRUE(unlike.has("selects graph-lookahead: 3 units with memories of their own\n")) << unlike.out;
  const ToolAnswer named = run("sched explain --set scheduler=prio" + sim);
  EXPECT_EQ(named.out, "scheduler = \"prio\" (code) takes all tasks; scheduler = \"auto\" selects one by the machine and the tasks\n");
  const ToolAnswer wrong = run("sched explain --set drivers=cpu --set lws.dpeth=64");
  EXPECT_EQ(wrong.status, 1) << wrong.out;
  EXPECT_TRUE(wrong.has("plugin \"lws\" has no key \"dpeth\"") && wrong.has("did you mean \"depth\"?")) << wrong.out;
  EXPECT_EQ(run("sched").status, 2);
}

TEST_F(Tools, TopoPrintsSyntheticMachines) {
  const ToolAnswer a = run("topo --table --set 'cpu.topology=numa:2 core:2 pu:1'");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("SPACE ")) << a.out;
  EXPECT_TRUE(a.has("UNIT ")) << a.out;
  for (const char *unit : {"cpu0", "cpu1", "cpu2", "cpu3"}) EXPECT_TRUE(a.has(unit)) << a.out;
  EXPECT_FALSE(a.has("cpu4")) << a.out;
  EXPECT_TRUE(a.has("0 -> 1")) << a.out;
  EXPECT_TRUE(a.has("1 -> 0")) << a.out;
  const ToolAnswer one = run("topo --table --set workers=1 --set 'cpu.topology=numa:1 core:4 pu:1'");
  EXPECT_EQ(one.status, 0) << one.out;
  EXPECT_TRUE(one.has("cpu0")) << one.out;
  EXPECT_FALSE(one.has("cpu1")) << "workers speaks for the driver: " << one.out;
}

TEST_F(Tools, TopoMeasuresLinksOnce) {
  const std::string cache = "XDG_CACHE_HOME=" + folder_ / "cache", machine =
      " --set drivers=sim --set time=virtual --set sim.cores=1 --set sim.devices=2 --set sim.bandwidth=7G --set sim.latency=9us";
  const ToolAnswer a = run("topo --links" + machine, cache);
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_EQ(a.out.find("FROM \\ TO"), 0u) << a.out;
  size_t cells = 0;
  for (size_t at = 0; (at = a.out.find("7.00 GB/s 9.0 us", at)) != a.out.npos; ++at) ++cells;
  EXPECT_EQ(cells, 4u) << a.out;
  EXPECT_FALSE(a.has("?")) << "all are measured: " << a.out;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "cache/consort/links"), {}), 2);
  EXPECT_EQ(run("topo --links" + machine, cache).out, a.out);
  EXPECT_EQ(run("topo --links --measure" + machine, cache).out, a.out);
  for (const auto &f : std::filesystem::directory_iterator(folder_ / "cache/consort/links"))
    std::ofstream(f.path()) << "consort links 1\n";
  const ToolAnswer broken = run("topo --links" + machine, cache);
  EXPECT_EQ(broken.status, 0);
  EXPECT_TRUE(broken.has("cut short, or was changed: they are measured again")) << broken.out;
  EXPECT_TRUE(broken.has("7.00 GB/s 9.0 us")) << broken.out;
  EXPECT_EQ(run("topo --links" + machine, cache).out, a.out);
}

TEST_F(Tools, ConcurrentMeasurementsLeaveAWholeFile) {
  const std::string cache = "XDG_CACHE_HOME=" + folder_ / "cache", machine =
      " --set drivers=sim --set time=virtual --set sim.cores=1 --set sim.devices=2 --set sim.bandwidth=7G";
  const ToolAnswer a = run("topo --links --measure" + machine + " >" + folder_ / "other & env" + unset_ + " " + cache +
                           " " CONSORT_BIN_DIR "/consort topo --links --measure" + machine + "; wait",
                       cache);
  EXPECT_TRUE(a.has("7.00 GB/s")) << a.out;
  EXPECT_FALSE(a.has("consort: ")) << a.out;
  EXPECT_EQ(read_file(folder_ / "other"), a.out);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "cache/consort/links"), {}), 2);
  EXPECT_EQ(run("topo --links" + machine, cache).out, a.out) << "and the stored file is valid";
}

TEST(ToolCalls, RefusesBadArguments) {
  EXPECT_EQ(consort_list_plugins(nullptr, 0, nullptr, nullptr), CONSORT_E_INVAL);
  EXPECT_EQ(consort_list_config(nullptr, nullptr, nullptr), CONSORT_E_INVAL);
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.size = 2;
  EXPECT_EQ(consort_list_config(&s, [](void *, const consort_config_row *) {}, nullptr), CONSORT_E_INVAL);
  EXPECT_NE(std::string(consort_error()).find("size 2 is too small"), std::string::npos) << consort_error();
  consort_space_info space = {};
  consort_link_info link = {};
  EXPECT_LT(consort_get_space(nullptr, 0, &space), 0);
  EXPECT_LT(consort_get_link(nullptr, 0, 0, &link), 0);
}

TEST(ToolCalls, DescribeSpacesAndLinks) {
  const consort_setting set[] = {{"pump", "manual"}, {"cpu.topology", "numa:2 core:1 pu:1"}};
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = set, s.nset = 2;
  consort_runtime *rt = nullptr;
  ASSERT_EQ(consort_start(&s, &rt), CONSORT_OK) << consort_error();
  consort_space_info space = {};
  EXPECT_EQ(consort_get_space(rt, 0, &space), CONSORT_E_INVAL) << "no size";
  space.size = sizeof space;
  for (uint32_t i = 0; i < 2; ++i) {
    ASSERT_EQ(consort_get_space(rt, i, &space), CONSORT_OK) << consort_error();
    EXPECT_EQ(space.id, i);
    EXPECT_STREQ(space.driver, "cpu");
    EXPECT_NE(space.flags & CONSORT_SP_CPU, 0u);
  }
  EXPECT_EQ(consort_get_space(rt, 2, &space), CONSORT_E_INVAL);
  EXPECT_EQ(consort_get_space(rt, 0, nullptr), CONSORT_E_INVAL);
  consort_link_info link = {};
  link.size = sizeof link;
  EXPECT_EQ(consort_get_link(rt, 0, 1, &link), CONSORT_OK) << consort_error();
  EXPECT_STREQ(link.driver, "cpu");
  EXPECT_EQ(link.source, uint32_t{CONSORT_LINK_TOLD}) << "the manual pump goes by nothing stored";
  EXPECT_EQ(link.told_bytes_per_s, link.bytes_per_s);
  link.size = offsetof(consort_link_info, told_bytes_per_s);  // an older application's
  link.source = 77;
  EXPECT_EQ(consort_get_link(rt, 0, 1, &link), CONSORT_OK) << consort_error();
  EXPECT_EQ(link.source, 77u);
  EXPECT_EQ(consort_get_link(rt, 0, 2, &link), CONSORT_E_INVAL);
  EXPECT_EQ(consort_get_link(rt, 0, 1, nullptr), CONSORT_E_INVAL);
  EXPECT_EQ(consort_stop(rt), CONSORT_OK);
}

// IFC-13: an interface has a name in place of a number; those of the house are all there.
TEST(ToolCalls, ListInterfacesByName) {
  std::vector<std::string> names;
  ASSERT_EQ(consort_list_plugins(nullptr, 0, [](void *user, const consort_plugin_row *row) {
    if (row->kind == CONSORT_KIND_INTERFACE && row->usable) static_cast<std::vector<std::string> *>(user)->push_back(row->name);
  }, &names), CONSORT_OK) << consort_error();
  for (const char *one : {"void", "variable", "vector", "matrix", "block", "tensor", "ndim", "csr", "bcsr", "coo"})
    EXPECT_EQ(std::count(names.begin(), names.end(), one), 1) << one;
  consort_runtime *rt = nullptr;
  ASSERT_EQ(consort_start(nullptr, &rt), CONSORT_OK) << consort_error();
  const consort_data_desc d{sizeof d, 0, "multiformat", nullptr, 0, nullptr};
  consort_data_id x{0};
  EXPECT_LT(consort_register(rt, &d, &x), 0) << "one that is not there is refused by its name";
  EXPECT_NE(std::string(consort_error()).find("\"multiformat\""), std::string::npos) << consort_error();
  EXPECT_EQ(consort_stop(rt), CONSORT_OK);
}

TEST(ToolCalls, RowsAreComplete) {
  std::vector<std::string> names;
  ASSERT_EQ(consort_list_plugins(nullptr, CONSORT_LIST_LOAD, [](void *user, const consort_plugin_row *row) {
    EXPECT_EQ(row->size, sizeof *row);
    EXPECT_TRUE(row->name && row->version && row->path && row->reason && row->summary && row->license);
    if (row->usable) EXPECT_STREQ(row->reason, "");
    else EXPECT_STRNE(row->reason, "");
    EXPECT_EQ(row->nparams != 0, row->params != nullptr && row->nparams != 0);
    static_cast<std::vector<std::string> *>(user)->push_back(row->name);
  }, &names), CONSORT_OK) << consort_error();
  EXPECT_GE(names.size(), 8u);
  names.clear();
  ASSERT_EQ(consort_list_config(nullptr, [](void *user, const consort_config_row *row) {
    EXPECT_TRUE(row->key && row->type && row->value && row->dflt && row->range && row->help && row->origin);
    static_cast<std::vector<std::string> *>(user)->push_back(row->key);
  }, &names), CONSORT_OK) << consort_error();
  EXPECT_NE(std::find(names.begin(), names.end(), "lws.depth"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "window"), names.end());
}

}  // namespace
