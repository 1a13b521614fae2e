// `consort trace export`: Chrome's JSON, Paje and CSV, each read back by a reader of its own.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tools/command.hpp"
#include "tools/planted_run.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::PlantedRun, consort_test::read_file;
using Json = nlohmann::json;

class TraceExport : public consort_test::Tools {
 protected:
  void SetUp() override {
    Tools::SetUp();
    PlantedRun r;
    r.cores(2);
    r.cards(1);
    r.limit = 3 << 20;
    r.expected = 0.5;
    const uint32_t host = r.kind("host, \"part\"", {{"cpu", 90000}}), card = r.kind("card", {{"gpu", 40000}});
    for (uint32_t i = 0; i < 12; ++i) {
      const uint32_t d = r.datum(1 << 20);
      r.task(card, {{d, 'u'}});
      r.task(host, {{d, 'r'}}).priority = 3;
    }
    r.write(folder_ / "run.trace");
  }
  std::string exported(const std::string &form) const {
    const ToolAnswer a = run("trace export " + folder_ / "run.trace" + " -o " + folder_ / "out" + " --format " + form);
    EXPECT_EQ(a.status, 0) << a.out;
    EXPECT_TRUE(a.has("24 tasks and ")) << a.out;
    return read_file(folder_ / "out");
  }
};

TEST_F(TraceExport, ChromeHasTasksCopiesAndFlows) {
  const Json all = Json::parse(exported("chrome"), nullptr, false);
  ASSERT_TRUE(all.is_object());
  std::map<std::string, uint32_t> phases;
  std::map<uint64_t, double> begun, ended;
  std::set<std::string> names;
  uint32_t copies = 0;
  for (const Json &e : all["traceEvents"]) {
    const std::string phase = e["ph"];
    ++phases[phase];
    if (phase == "M") names.insert(e["args"]["name"].get<std::string>());
    if (phase == "X") {
      EXPECT_GE(e["dur"].get<double>(), 0);
      copies += e["cat"] == "copy";
      if (e["cat"] == "task") {
        EXPECT_TRUE(e["args"].contains("expected_ns"));
      }
    }
    if (phase == "s") begun[e["id"]] = e["ts"];
    if (phase == "f") ended[e["id"]] = e["ts"];
  }
  for (const char *name : {"cpu0", "gpu0", "ram to card0", "workers", "links"}) EXPECT_TRUE(names.count(name)) << name;
  EXPECT_EQ(phases["X"], 24 + copies);
  EXPECT_GE(copies, 12u);
  EXPECT_GT(phases["C"], 0u);
  EXPECT_EQ(phases["s"], 12u) << "each host task comes after its card task";
  ASSERT_EQ(begun.size(), ended.size());
  for (const auto &[id, at] : begun) EXPECT_LE(at, ended.at(id)) << "a flow goes forward in time";
}

// Splits a line of Paje: fields between blanks, or in double quotes.
std::vector<std::string> fields_of(const std::string &line) {
  std::vector<std::string> all;
  for (size_t at = 0; at < line.size();) {
    const bool quoted = line[at] == '"';
    const size_t from = at + quoted, end = std::min(line.find(quoted ? '"' : ' ', from), line.size());
    all.push_back(line.substr(from, end - from));
    at = end + quoted;
    while (at < line.size() && line[at] == ' ') ++at;
  }
  return all;
}

TEST_F(TraceExport, PajeIsReadBack) {
  std::istringstream in(exported("paje"));
  std::map<std::string, std::vector<std::string>> definitions;  // by number: the event's name, then its fields
  std::map<std::string, std::string> types, containers;         // by alias: what it is; its type
  std::map<std::string, std::vector<std::string>> stack;        // of states, by container
  std::map<std::string, double> keys;
  std::string line, number;
  double now = 0;
  uint32_t states = 0, links = 0, variables = 0;
  while (std::getline(in, line)) {
    std::vector<std::string> f = fields_of(line);
    if (f[0] == "%EventDef") {
      definitions[number = f[2]] = {f[1]};
      continue;
    }
    if (f[0] == "%EndEventDef") continue;
    if (f[0] == "%") {
      definitions[number].push_back(f[1]);
      continue;
    }
    const auto &d = definitions.at(f[0]);
    ASSERT_EQ(f.size(), d.size()) << line << " has the fields of " << d[0];
    std::map<std::string, std::string> v;
    for (size_t i = 1; i < f.size(); ++i) v[d[i]] = f[i];
    if (v.count("Time")) {
      EXPECT_GE(std::stod(v["Time"]), now) << line;
      now = std::stod(v["Time"]);
    }
    if (d[0].starts_with("PajeDefine")) {
      EXPECT_TRUE(v["Type"] == "0" || types.count(v["Type"])) << line;
      types[v["Alias"]] = d[0];
    } else if (d[0] == "PajeCreateContainer") {
      EXPECT_EQ(types.at(v["Type"]), "PajeDefineContainerType");
      EXPECT_TRUE(v["Container"] == "0" || containers.count(v["Container"])) << line;
      containers[v["Alias"]] = v["Type"];
    } else if (d[0] == "PajeDestroyContainer") {
      EXPECT_EQ(containers.erase(v["Name"]), 1u) << line;
    } else if (d[0] == "PajePushState") {
      ASSERT_TRUE(containers.count(v["Container"]));
      stack[v["Container"]].push_back(v["Value"]);
      ++states;
    } else if (d[0] == "PajePopState") {
      ASSERT_FALSE(stack[v["Container"]].empty()) << line;
      stack[v["Container"]].pop_back();
    } else if (d[0] == "PajeSetVariable") {
      EXPECT_TRUE(containers.count(v["Container"]));
      ++variables;
    } else if (d[0] == "PajeStartLink") {
      EXPECT_TRUE(containers.count(v["StartContainer"]));
      keys[v["Key"]] = now;
    } else if (d[0] == "PajeEndLink") {
      EXPECT_TRUE(containers.count(v["EndContainer"]) && keys.count(v["Key"])) << line;
      keys.erase(v["Key"]);
      ++links;
    }
  }
  EXPECT_EQ(states, 24u);
  EXPECT_GE(links, 12u);
  EXPECT_GT(variables, 0u);
  EXPECT_TRUE(keys.empty()) << "each link ends";
  EXPECT_TRUE(containers.empty()) << "each container is destroyed";
  for (const auto &[container, left] : stack) EXPECT_TRUE(left.empty()) << container;
}

TEST_F(TraceExport, CsvHasALineForEachTask) {
  std::istringstream in(exported("csv"));
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "task,codelet,worker,class,submitted_ns,ready_ns,fetch_ns,begin_ns,end_ns,expected_ns,priority,status\r");
  uint32_t n = 0, quoted = 0;
  for (; std::getline(in, line); ++n) {
    quoted += line.find(",\"host, \"\"part\"\"\",") != line.npos;
    EXPECT_TRUE(line.ends_with(",0\r")) << line;
  }
  EXPECT_EQ(n, 24u);
  EXPECT_EQ(quoted, 12u);
}

TEST_F(TraceExport, RefusesOtherForms) {
  const std::string file = folder_ / "run.trace";
  EXPECT_EQ(Json::parse(run("trace export " + file + " -o " + folder_ / "out" + " --json").out, nullptr, false).value("tasks", 0), 24);
  EXPECT_EQ(run("trace export " + file + " -o " + folder_ / "out" + " --format otf2").status, 2);
  EXPECT_EQ(run("trace export " + file).status, 2);
  EXPECT_TRUE(run("trace export " + file + " -o " + folder_ / "no/such").has("cannot be written"));
}

}  // namespace
