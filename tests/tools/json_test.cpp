// --json of each command that prints data: one object of the shape that docs/command-json.md names, and nothing beside it.
#include <consort/consort.h>
#include <nlohmann/json.hpp>

#include <set>
#include <sstream>

#include "support/glpk.hpp"
#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::read_file;
using Json = nlohmann::json;

class JsonTool : public consort_test::Tools {
 protected:
  // Standard output alone.
  Json object(const std::string &command, int status = 0) const {
    const ToolAnswer a = run(command + " --json");
    EXPECT_EQ(a.status, status) << command << a.out;
    Json j = Json::parse(a.out, nullptr, false);
    EXPECT_TRUE(j.is_object()) << command << ": " << a.out;
    if (!j.is_object()) return Json::object();
    EXPECT_EQ(j.value("format", 0), 1);
    EXPECT_EQ(j.value("consort", ""), CONSORT_VERSION);
    return j;
  }
  // Every object of the list has these members and no others.
  static void expect_members(const Json &list, std::vector<std::string> names) {
    ASSERT_TRUE(list.is_array() && !list.empty()) << list;
    std::sort(names.begin(), names.end());
    for (const Json &each : list) {
      std::vector<std::string> found;
      for (const auto &[key, value] : each.items()) found.push_back(key);
      EXPECT_EQ(found, names);
    }
  }
  std::string trace() const {
    std::ofstream(folder_ / "run.trace")
        << "consort trace 1\nclock\tvirtual\nscheduler\tdmda\nworker\t0\tcpu0\tcpu\nworker\t1\tgpu0\tgpu\nspace\t0\tram\nspace\t1\tcard\nhome\t0\nat\t0\t0\n"
           "at\t1\t1\nlink\t0\t1\t1000000000\t0\ncodelet\t0\tgemm\nkind\t0\twork\tab\t4000000\ntime\t0\t0\t4000000\ntime\t0\t1\t1000000\n"
           "datum\td1\t4000000\t0\t0\ntask\ta0\t0\t0\trd1\t\ntask\ta1\t0\t0\trd1\t\nsubmitted\t0\t0\n"
           "run\t1\t4000000\t5000000\t0\ta0\t0\t1000000\t0\nrun\t1\t5000000\t6000000\t0\ta1\t0\t1000000\t0\n"
           "copy\t0\t1\t0\t4000000\t4000000\td1\t0\nend\t0\n";
    return folder_ / "run.trace";
  }
};

TEST_F(JsonTool, DescribesPluginsAndSettings) {
  const Json plugins = object("plugins");
  expect_members(plugins["plugins"], {"kind", "name", "version", "file", "usable", "reason", "host_abi", "abi", "flags", "summary", "licence", "parameters"});
  const auto lws = std::find_if(plugins["plugins"].begin(), plugins["plugins"].end(), [](const Json &p) { return p["name"] == "lws"; });
  ASSERT_NE(lws, plugins["plugins"].end());
  EXPECT_EQ((*lws)["kind"], "scheduler");
  expect_members((*lws)["parameters"], {"key", "type", "default", "range", "help"});
  EXPECT_TRUE(plugins["warnings"].is_array());
  const Json config = object("config --set window=7");
  expect_members(config["settings"], {"key", "value", "origin", "type", "default", "range", "help"});
  const Json changed = object("config --changed --set window=7");
  ASSERT_EQ(changed["settings"].size(), 1u);
  EXPECT_EQ(changed["settings"][0]["value"], "7");
  EXPECT_EQ(changed["settings"][0]["origin"], "code");
}

TEST_F(JsonTool, DescribesTheMachine) {
  const Json topo = object("topo --set 'cpu.topology=numa:2 l3:1 core:2 pu:2'");
  expect_members(topo["spaces"], {"id", "name", "driver", "domain", "capacity", "numa", "access"});
  expect_members(topo["units"], {"id", "name", "class", "arch", "space", "numa", "os_cpu"});
  expect_members(topo["links"], {"from", "to", "driver", "bytes_per_s", "latency_ns", "measured", "can"});
  EXPECT_EQ(topo["units"].size(), 4u);
  EXPECT_EQ(topo["host"]["kind"], "machine");
  EXPECT_TRUE(object("topo --set drivers=sim --set time=virtual --set sim.cores=1")["host"].is_null()) << "nothing of the host is used";
  const Json doctor = object("doctor");
  expect_members(doctor["findings"], {"section", "name", "state", "value", "advice", "package"});
  EXPECT_EQ(doctor["good"], true);
  EXPECT_TRUE(doctor["install"].is_string());
  const Json used = object("why-not cpu");
  EXPECT_EQ(used["used"], true);
  expect_members(used["answers"], {"subject", "used", "text"});
  EXPECT_EQ(object("why-not prio", 1)["used"], false);
  const Json sched = object("sched explain --set drivers=cpu");
  EXPECT_EQ(sched["scheduler"], "auto");
  EXPECT_EQ(sched["origin"], "default");
  EXPECT_EQ(sched["current"], "lws");
  EXPECT_NE(sched["reason"].get<std::string>().find("like unit"), std::string::npos) << sched;
  EXPECT_TRUE(sched["warnings"].is_array() && !sched.contains("left_out")) << sched;
  EXPECT_TRUE(object("sched explain --set scheduler=prio")["reason"].is_null());
}

TEST_F(JsonTool, DescribesRuns) {
  const Json trace = object("trace show " + this->trace());
  EXPECT_EQ(trace["tasks"], 2);
  EXPECT_EQ(trace["span_ns"], 6000000);
  expect_members(trace["workers"], {"name", "class", "tasks", "busy_ns"});
  expect_members(trace["codelets"], {"codelet", "class", "tasks", "failed", "mean_ns", "estimates_off_by"});
  expect_members(trace["links"], {"from", "to", "copies", "bytes", "busy_ns"});
  const Json report = object("report " + this->trace());
  EXPECT_EQ(report["tasks"], 2);
  expect_members(report["workers"], {"name", "class", "memory", "tasks", "busy_ns", "asleep_ns", "idle"});
  expect_members(report["codelets"], {"codelet", "class", "tasks", "failed", "sum_ns", "least_ns", "median_ns", "p90_ns", "most_ns", "measured_to_expected", "histogram"});
  expect_members(report["links"], {"from", "to", "copies", "failed", "bytes", "demand_bytes", "prefetch_bytes", "save_bytes", "busy_ns", "bytes_per_s"});
}

TEST_F(JsonTool, DescribesBounds) {
  if (!consort_test::kHasGlpk) GTEST_SKIP() << "the report bound was built without GLPK";
  const Json bound = object("bound " + this->trace());
  EXPECT_EQ(bound["counted"], "area");
  EXPECT_EQ(bound["tasks"], 2);
  EXPECT_NEAR(bound["bound_ns"].get<double>(), 1.6e6, 1);
  EXPECT_NEAR(bound["took_ns"].get<double>(), 6e6, 1);
  expect_members(bound["kinds"], {"kind", "units", "each_ns", "ran", "best"});
  EXPECT_NEAR(object("report " + this->trace())["bound"]["bound_ns"].get<double>(), 1.6e6, 1e5);
  std::ofstream(folder_ / "empty.trace") << "consort trace 1\nworker\t0\tcpu0\tcpu\nspace\t0\tram\nend\t0\n";
  const Json none = object("bound " + folder_ / "empty.trace");
  EXPECT_EQ(none.size(), 4u) << none;
  expect_members(Json::array({{{"notes", none["notes"]}}}), {"notes"});
}

TEST_F(JsonTool, DescribesModels) {
  const std::string folder = " --set model_folder=" + folder_ / "models";
  EXPECT_EQ(object("model list" + folder)["models"].size(), 0u);
  std::ofstream(folder_ / "table") << "performance model for cpu\n# hash size mean dev n\na 1000 10 1 12\nb 2000 20 1 12\nc 4000 40 1 12\n";
  ASSERT_EQ(run("model import " + folder_ / "table --name gemm" + folder).status, 0);
  expect_members(object("model list" + folder)["models"], {"name", "of", "file", "here", "machine", "problem", "rows", "measurements"});
  const Json show = object("model show gemm --fit linear" + folder);
  expect_members(show["models"][0]["sizes"], {"class", "arch", "implementation", "footprint", "bytes", "median", "spread", "measured", "set_apart"});
  EXPECT_EQ(show["models"][0]["unit"], "ns");
  ASSERT_EQ(show["models"][0]["curves"].size(), 1u);
  const Json check = object("model check" + folder);
  EXPECT_EQ(check["sizes"], 3);
  EXPECT_EQ(check["doubts"].size(), 0u);
}

TEST_F(JsonTool, NamesWrittenFiles) {
  const std::string folder = " --set model_folder=" + folder_ / "models";
  std::ofstream(folder_ / "table") << "performance model for cpu\n# hash size mean dev n\na 1000 10 1 12\nb 2000 20 1 12\n";
  const Json imported = object("model import " + folder_ / "table --name gemm" + folder);
  EXPECT_EQ(imported["name"], "gemm");
  EXPECT_EQ(imported["of"], "time");
  EXPECT_EQ(imported["sizes"], 2);
  EXPECT_TRUE(std::filesystem::exists(imported["file"].get<std::string>()));
  const Json plot = object("model plot gemm -o " + folder_ / "gemm.svg" + folder);
  EXPECT_EQ(plot["file"], folder_ / "gemm.svg");
  EXPECT_EQ(plot["sizes"], 2);
  const Json made = object("new scheduler mine --lang c -o " + folder_ / "mine");
  EXPECT_EQ(made["kind"], "scheduler");
  EXPECT_EQ(made["language"], "c");
  EXPECT_EQ(made["source"], folder_ / "mine" + "/mine.c");
  ASSERT_GE(made["files"].size(), 3u);
  for (const Json &file : made["files"]) EXPECT_TRUE(std::filesystem::exists(file.get<std::string>())) << file;
  EXPECT_NE(made["next"].get<std::string>().find("ctest"), std::string::npos);
  std::ofstream(folder_ / "platforms.json") << R"({"platforms": {"m": {"workers": {"cpu": 2}}}})";
  const ToolAnswer refused = run("machine import " + folder_ / "platforms.json none --json");
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(refused.has("has no platform \"none\"")) << refused.out;
}

TEST_F(JsonTool, ListsConformanceCases) {
  const Json j = object("conform --list");
  expect_members(j["cases"], {"case", "group", "level", "rule"});
  const std::string text = run("conform --list").out;
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), j["cases"].size());
  EXPECT_EQ(run("conform --list --json=" + folder_ / "cases.json").out, text) << "a file gets the object, the terminal the list";
  std::ifstream in(folder_ / "cases.json");
  EXPECT_EQ(Json::parse(in), j);
}

// The names below a command, as its help lists them.
std::vector<std::string> below(const std::string &help) {
  std::vector<std::string> names;
  const size_t at = help.find("\nSubcommands:");
  if (at == help.npos) return names;
  std::istringstream lines(help.substr(at + 1));
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line) && line.starts_with("  ");) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (line[2] != ' ') names.push_back(name);
  }
  return names;
}

// The commands come from the tool itself: a new one without --json fails here, unless it prints no data.
TEST_F(JsonTool, EveryDataCommandHasJson) {
  const std::set<std::string> no_data = {"completion", "help", "run"};  // a script, text for people, a program's own output
  std::vector<std::string> open = below(run("help").out);
  ASSERT_GE(open.size(), 14u);
  int found = 0;
  while (!open.empty()) {
    const std::string command = open.back();
    open.pop_back();
    const ToolAnswer help = run(command + " --help");
    ASSERT_EQ(help.status, 0) << command << help.out;
    const std::vector<std::string> inner = below(help.out);
    for (const std::string &name : inner) open.push_back(command + " " + name);
    if (!inner.empty() || no_data.count(command)) continue;
    EXPECT_TRUE(help.has("  --json")) << command << " prints data: it takes --json (docs/command-json.md)\n" << help.out;
    ++found;
    const std::string text = read_file(CONSORT_TEST_SOURCE_DIR "/../docs/command-json.md");
    EXPECT_NE(text.find("\n| `" + command + "`"), text.npos) << "docs/command-json.md has a row for " << command;
  }
  EXPECT_GE(found, 16);
}

TEST_F(JsonTool, ErrorsAreLinesOnStderr) {
  const ToolAnswer a = run("config --json --set windw=3 2>/dev/null");
  EXPECT_EQ(a.status, 1);
  EXPECT_EQ(run("topo --json --set scheduler=nosuch").out.find("consort: code: scheduler"), 0u);
}

}  // namespace
