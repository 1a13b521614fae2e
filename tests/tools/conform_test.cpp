// `consort conform`: its command line, its files and its answers. tests/conform shows that its cases find the faults
// that they are for.
#include <regex>
#include <vector>

#include "tools/command.hpp"

namespace consort_test {
namespace {

const std::string kEager = CONSORT_PLUGIN_DIR "/eager.so", kLws = CONSORT_PLUGIN_DIR "/lws.so",
                  kCpu = CONSORT_PLUGIN_DIR "/cpu.so";
const std::string kWrong = CONSORT_TEST_PLUGIN_DIR "/layers/scheduler_drain_forgets.so";  // breaks S-6

struct Conform : Tools {
  ToolAnswer conform(const std::string &words) const { return run("conform " + words); }
  void refuses(const std::string &words, std::vector<std::string> parts) const {
    const ToolAnswer a = conform(words);
    EXPECT_EQ(a.status, 2) << words << ": " << a.out;
    for (const std::string &part : parts) EXPECT_TRUE(a.has(part)) << words << ": " << a.out;
    EXPECT_FALSE(a.has("conforms: ") || a.has("does not conform: ")) << "judged nevertheless: " << a.out;
  }
  std::string file(const char *name, const std::string &text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  static int python(const std::string &words) {  // 0 too where there is none
    return std::system(("command -v python3 >/dev/null || exit 0; python3 " + words + " >/dev/null").c_str());
  }
};

TEST_F(Conform, ChecksParametersOfThePlugin) {
  refuses(kLws + " --set lws.dpeth=4",
          {"--set \"lws.dpeth=4\"", "scheduler \"lws\" has no parameter \"dpeth\" (did you mean \"depth\"?)",
           "it has depth, patience, seed"});
  refuses(kLws + " --set lws.depth=4", {"\"depth\" expects u32 in 64..1048576, not \"4\""});
  refuses(kEager + " --set eager.depth=4", {"scheduler \"eager\" has no parameter \"depth\"; it has none"});
  refuses(kCpu + " --set cpu.smt=maybe", {"\"smt\" expects true or false, not \"maybe\""});
  refuses(kCpu + " --set cpu.worker=2", {"driver \"cpu\"", "\"worker\" (did you mean \"workers\"?)", "topology"});
  refuses(kCpu + " --set cpu.workers=many", {"--set \"cpu.workers=many\"", "\"workers\" expects", "not \"many\""});
  refuses(kCpu + " --set cpu.workers=-1", {"\"workers\" expects", "not \"-1\""});
  refuses(kCpu + " --set cpuu.workers=2", {"no plugin \"cpuu\" is checked (did you mean \"cpu\"?)"});
  refuses(kCpu + " " + kEager + " --set lws.seed=1", {"no plugin \"lws\" is checked", "cpu, eager"});
  for (const char *shapeless : {"workers=2", "cpu.workers", "cpu.=2", ".workers=2", "=", "''", "cpu=2.5"})
    refuses(kCpu + " --set " + shapeless, {"--set", "NAME.KEY=VALUE"});
  refuses(kCpu + " --set", {"--set"});
  const ToolAnswer fine = conform(kEager + " " + kCpu + " --only P-7/ --set cpu.workers=2");
  EXPECT_EQ(fine.status, 0) << fine.out;
  for (const char *yes : {"yes", "on", "1", "true"})
    EXPECT_EQ(conform(kCpu + " --only P-7/ --set cpu.units=" + yes).status, 0) << "as a setting takes it: " << yes;
  const ToolAnswer before = run("--set cpu.workers=2 conform " + kCpu + " --only P-7/");
  EXPECT_EQ(before.status, 0) << "ahead of the command, too: " << before.out;
  EXPECT_EQ(run("--set cpu.wrkers=2 conform " + kCpu + " --only P-7/").status, 2);
}

TEST_F(Conform, HelpNamesEveryOption) {
  const ToolAnswer a = conform("--help");
  EXPECT_EQ(a.status, 0);
  for (const char *option : {"--level", "--only", "--seed", "--jobs", "--seconds", "--budget", "--set NAME.KEY=VALUE", "--xfail", "--json",
                             "--junit", "--in-process", "--verbose", "--list"})
    EXPECT_TRUE(a.has(option)) << option << "\n" << a.out;
}

TEST_F(Conform, RefusesBadInput) {
  refuses("", {"FILE.so"});
  refuses(folder_ / "none.so", {"none.so cannot be read: No such file"});
  refuses(file("text.so", "no plugin"), {"text.so is no ELF file"});
  refuses(file("cut.so", read_file(kEager).substr(0, 3000)), {"cut.so is cut short: it has 3000 bytes"});
  refuses(file("cut.so", read_file(kEager).substr(0, 80)), {"cut.so is damaged"});
  refuses(kEager + " --only '('", {"--only \"(\"", "no regular expression"});
  refuses(kEager + " --only NOTHING", {"no case", "NOTHING", "--list"});
  refuses(kEager + " --level 11", {"11"});
  refuses(kEager + " --level many", {"many"});
  refuses(kEager + " --seed some", {"some"});
  refuses(kEager + " --seed -1", {"\"-1\" is not a whole number"});
  refuses(kEager + " --seed 99999999999999999999", {"not a whole number of 64 bits"});
  for (const char *odd : {"-1", "65", "two"}) refuses(kEager + " --jobs " + odd, {"--jobs", odd});
  for (const char *odd : {"-3", "nan", "inf", "long"})
    refuses(kEager + " --seconds " + odd, {odd, "not a number of seconds"}), refuses(kEager + " --budget " + odd, {odd, "not a number of seconds"});
  refuses(folder_ / "", {"is a folder"});
  refuses(kEager + " --xfail " + (folder_ / ""), {"is not a plain file"});
  refuses(kEager + " --json=" + (folder_ / "no/such/folder.json"), {"folder.json cannot be written"});
  refuses(kEager + " --json --junit -", {"--json", "--junit"});
  refuses(kEager + " --xfail " + (folder_ / "none"), {"none cannot be read: No such file"});
  refuses(kEager + " --xfail " + file("xfail", "# known\nCONSORT-S-999 why\n"),
          {"xfail:2: \"CONSORT-S-999\" is no rule"});
  refuses(kEager + " --xfail " + file("xfail", "CONSORT-S-6\n"), {"xfail:1: ", "why it is expected to fail"});
  refuses(kEager + " --levle 3", {"--levle"});
  const ToolAnswer config = run("--config x.toml conform " + kEager);
  EXPECT_EQ(config.status, 2);
  EXPECT_TRUE(config.has("--config is for runtimes")) << config.out;
}

TEST_F(Conform, DistinguishesExpectedFailures) {
  const std::string all = kWrong + " --only 'S-(2|6)/'";
  const ToolAnswer plain = conform(all);
  EXPECT_EQ(plain.status, 1);
  for (const char *part :
       {"FAIL ", "CONSORT-S-6/", "rule ", "seen ", "why ", "fix ", "again ", "does not conform: wrong "})
    EXPECT_TRUE(plain.has(part)) << part << "\n" << plain.out;
  const ToolAnswer known = conform(all + " --xfail " + file("known", "CONSORT-S-6  to be mended\n"));
  EXPECT_EQ(known.status, 0) << known.out;
  EXPECT_TRUE(known.has("expected failure") && known.has("to be mended") && known.has("1 expected to fail"))
      << known.out;
  const ToolAnswer fine = conform(all + " --xfail " + file("fine", "CONSORT-S-6 a\nCONSORT-S-2 was wrong once\n"));
  EXPECT_EQ(fine.status, 0) << fine.out;
  EXPECT_TRUE(fine.has("unexpected pass") && fine.has("was wrong once") && fine.has("unexpectedly passing)"))
      << fine.out;
}

TEST_F(Conform, WritesJsonAndJunit) {
  const std::string json = folder_ / "a.json", junit = folder_ / "a.xml";
  const ToolAnswer a = conform(kWrong + " " + kEager + " --only 'S-(2|6)/' --json=" + json + " --junit " + junit);
  EXPECT_EQ(a.status, 1) << a.out;
  EXPECT_TRUE(a.has("does not conform: wrong ") && a.has("\nconforms: eager ")) << a.out;
  std::ofstream(folder_ / "read.py")
      << "import json, sys\n"
         "a, b = json.load(open(sys.argv[1]))['plugins']\n"
         "assert a['conforms'] is False and b['conforms'] is True and b['kind'] == 'scheduler'\n"
         "bad = [c for c in a['cases'] if c['result'] == 'failed']\n"
         "assert [c['rule'] for c in bad] == ['CONSORT-S-6'] and bad[0]['seen']\n";
  EXPECT_EQ(python(folder_ / "read.py " + json), 0) << read_file(json);
  const std::string xml = read_file(junit);
  for (const char *part :
       {"<testsuite name=\"wrong\"", "failures=\"1\"", "failures=\"0\"", "<failure message=", "</testsuites>"})
    EXPECT_NE(xml.find(part), xml.npos) << part << "\n" << xml;
  const std::string odd = folder_ / "od\xff\xc3\xb6\xed\xa0\x80.so";  // of the bytes behind od only two are a letter
  std::filesystem::copy_file(kEager, odd);
  EXPECT_EQ(conform(odd + " --only S-6/ --json=" + json + " --junit " + junit).status, 0);
  std::ofstream(folder_ / "odd.py")
      << "import json, sys, xml.dom.minidom\n"
         "assert json.load(open(sys.argv[1], "
         "encoding='utf-8'))['plugins'][0]['file'].endswith('/od\\ufffd\\u00f6\\ufffd\\ufffd\\ufffd.so')\n"
         "xml.dom.minidom.parse(sys.argv[2])\n";
  EXPECT_EQ(python(folder_ / "odd.py " + json + " " + junit), 0) << read_file(json);
  for (const std::string &call : {kEager + " --json --only S-6/", "--json " + kEager + " --only S-6/"}) {
    const ToolAnswer out = conform(call);
    EXPECT_EQ(out.status, 0) << call << out.out;
    EXPECT_EQ(python("-m json.tool " + file("out.json", out.out)), 0)
        << call << ": nothing beside it on standard output: " << out.out;
  }
}

TEST_F(Conform, StopsWhenItsBudgetIsSpent) {
  const std::string json = folder_ / "a.json", junit = folder_ / "a.xml";
  const ToolAnswer a = conform(kEager + " --budget 0.2 --jobs 1 --json=" + json + " --junit " + junit);
  EXPECT_EQ(a.status, 1) << a.out;
  EXPECT_TRUE(a.has("not run  ") && a.has("not judged to the end: eager ") && a.has("not run: out of time)")) << a.out;
  EXPECT_FALSE(a.has("conforms: ") || a.has("does not conform: ")) << a.out;
  std::ofstream(folder_ / "read.py")
      << "import json, sys\n"
         "a, = json.load(open(sys.argv[1]))['plugins']\n"
         "results = [c['result'] for c in a['cases']]\n"
         "first = results.index('not-run')\n"
         "assert a['conforms'] is False and 'failed' not in results and first > 0\n"
         "assert set(results[first:]) == {'not-run'} and 'out of time' in a['cases'][-1]['reason']\n";
  EXPECT_EQ(python(folder_ / "read.py " + json), 0) << read_file(json);
  EXPECT_NE(read_file(junit).find("<error message=\"not run, out of time"), std::string::npos);
  const ToolAnswer whole = conform(kEager + " --budget 1000");
  EXPECT_EQ(whole.status, 0) << whole.out;
  EXPECT_FALSE(whole.has("not run")) << whole.out;
}

TEST_F(Conform, JudgesAlikeWithSeveralCasesAtATime) {
  // Each case with its result, in the order of the file. Threads of a wrong plugin may meet or not: their results differ.
  const auto verdicts = [&](const std::string &jobs) {
    const std::string json = folder_ / "jobs.json";
    const ToolAnswer a = conform(kWrong + " --jobs " + jobs + " --json=" + json);
    EXPECT_EQ(a.status, 1) << a.out;
    const std::string text = read_file(json);
    const std::regex row("\"case\": *\"([^\"]+)\", *\"group\": *\"([^\"]+)\", *\"result\": *\"([^\"]+)\"");
    std::vector<std::string> all;
    for (std::sregex_iterator i(text.begin(), text.end(), row), end; i != end; ++i)
      all.push_back((*i)[1].str() + ((*i)[2] == "threads" ? "" : ": " + (*i)[3].str()));
    return all;
  };
  const std::vector<std::string> one = verdicts("1");
  EXPECT_GT(one.size(), 80u);
  EXPECT_GT(std::count_if(one.begin(), one.end(), [](const std::string &c) { return c.ends_with(": failed"); }), 3);
  EXPECT_EQ(verdicts("4"), one);
}

TEST_F(Conform, RunsInOneProcess) {
  const ToolAnswer a = conform(kEager + " --only S-6/ --in-process -v");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("conforms: eager ")) << a.out;
}

}  // namespace
}  // namespace consort_test
