// The layer "traces": a line for each call of any kind, unchanged results, filters, a file that cannot be written.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "layers/program.hpp"

namespace consort_test {
namespace {

// "plugin.function" -> lines; each line looked at.
std::map<std::string, int> calls_of(const std::string &path) {
  std::map<std::string, int> calls;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t one = line.find('\t'), two = line.find('\t', one + 1), three = line.rfind('\t');
    if (one == line.npos || two == line.npos || three == two || !line.ends_with(" ns") || line[one + 1] != 't') {
      ADD_FAILURE() << "not a line of a trace: " << line;
      continue;
    }
    EXPECT_EQ(line.find_first_not_of("0123456789"), one) << line;
    const std::string what = line.substr(two + 1, three - two - 1);
    const std::string function = what.substr(0, what.find('('));
    EXPECT_NE(function.find('.'), function.npos) << line;
    ++calls[function];
  }
  return calls;
}

TEST(TracesLayer, RecordsEveryKindOfCall) {
  for (const Place &place : places()) {
    SCOPED_TRACE(text_of(place));
    const Folder folder("traces");
    const std::string path = folder / "calls";
    Lines bare, lines;
    const Outcome without = run_program(place, {}, &bare);
    const Outcome with = run_program(place, {{"layers", "traces"}, {"traces.file", path.c_str()}}, &lines);
    ASSERT_FALSE(without.numbers.empty()) << without.error;
    EXPECT_EQ(with.numbers, without.numbers) << with.error << lines.all();
    EXPECT_EQ(with.stopped, CONSORT_OK);
    auto calls = calls_of(path);
    const std::string s = place.scheduler;
    EXPECT_GE(calls[s + ".push"], 1);
    EXPECT_GE(calls[s + ".pop"], 1);
    EXPECT_EQ(calls[s + ".create"], 1);
    EXPECT_EQ(calls[s + ".destroy"], 1);
    for (const char *once : {".init", ".fini"})
      for (const std::string &p : {s, std::string("vector"), std::string("matrix")})
        EXPECT_EQ(calls[p + once], 1) << p << once;
    EXPECT_GE(calls["vector.shape"], 2);
    EXPECT_GE(calls["matrix.shape"], 1);
    EXPECT_GE(calls["vector/blocks.count"], 1);
    EXPECT_GE(calls["vector/blocks.shape"], 4);
    EXPECT_GE(calls["matrix/tiles.alias"], 1);
    EXPECT_EQ(calls["vector/tiles.count"], 0);
    if (place.on == On::kCores) continue;
    const std::string d = place.on == On::kStream ? "stream" : "sim";
    EXPECT_GE(calls[d + ".open"], 1);
    EXPECT_EQ(calls[d + ".open"], calls[d + ".close"]);
    EXPECT_GE(calls[d + ".queue_open"], 1);
    EXPECT_EQ(calls[d + ".queue_open"], calls[d + ".queue_close"]);
    EXPECT_GE(calls[d + ".submit"], 1);
    EXPECT_GE(calls[d + ".poll"], 1);
  }
}

TEST(TracesLayer, FiltersByPluginAndFunction) {
  const Folder folder("traces");
  const std::string path = folder / "calls";
  Lines lines;
  const Outcome o = run_program({On::kCores, "eager"},
                                {{"layers", "traces"},
                                 {"traces.file", path.c_str()},
                                 {"traces.plugins", "eager,cpu"},
                                 {"traces.functions", "pop,open,host_now"}},
                                &lines);
  ASSERT_FALSE(o.numbers.empty()) << o.error;
  auto calls = calls_of(path);
  EXPECT_GE(calls["eager.pop"], 1);
  EXPECT_GE(calls["cpu.open"], 1);
  for (const auto &[name, n] : calls)
    EXPECT_TRUE(name == "eager.pop" || name == "cpu.open" || name.ends_with(".host_now")) << name;
}

TEST(TracesLayer, FileNameMayHoldTheProcessId) {
  const Folder folder("traces");
  const std::string pattern = folder / "calls.%p", path = folder / ("calls." + std::to_string(getpid()));
  Lines lines;
  const Outcome o = run_program({On::kCores, "lws"}, {{"layers", "traces"}, {"traces.file", pattern.c_str()}}, &lines);
  ASSERT_FALSE(o.numbers.empty()) << o.error;
  EXPECT_GE(calls_of(path)["lws.pop"], 1);
}

TEST(TracesLayer, UnwritableFileIsRefusedAtStart) {
  Lines lines;
  const Outcome o =
      run_program({On::kCores, "lws"}, {{"layers", "traces"}, {"traces.file", "/nowhere/at/all"}}, &lines);
  EXPECT_EQ(o.started, CONSORT_E_IO);
  for (const char *part : {"traces", "/nowhere/at/all", "No such file"})
    EXPECT_NE(o.error.find(part), std::string::npos) << o.error;
}

// Several runtimes at once, each with a file; one thread calls into two of them. Repeated.
TEST(TracesLayer, RecordsConcurrentRuntimes) {
  const Folder folder("traces");
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&, i] {
        const std::string path = folder / ("calls" + std::to_string(i));
        Lines lines;
        const Outcome o = run_program({i ? On::kCores : On::kVirtual, "eager"},
                                      {{"layers", "traces"}, {"traces.file", path.c_str()}}, &lines);
        EXPECT_FALSE(o.numbers.empty()) << o.error;
        EXPECT_EQ(calls_of(path)["eager.create"], 1);
      });
    for (auto &t : threads) t.join();
  }
}

}  // namespace
}  // namespace consort_test
