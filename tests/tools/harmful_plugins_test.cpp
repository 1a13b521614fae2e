// Plugins whose code ends the process, or does not return: the command names them, says where, and goes on. Texts of
// plugins and files cannot steer the terminal.
#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer;

class HarmfulPlugins : public consort_test::Tools {
 protected:
  std::string add(const std::string &name) const {
    std::filesystem::copy_file(CONSORT_TEST_PLUGIN_DIR "/loader/" + name + ".so", folder_ / name + ".so");
    return folder_ / name + ".so";
  }
  std::string path() const { return "CONSORT_PLUGIN_PATH=" + folder_.path(); }
};

TEST_F(HarmfulPlugins, AreNamedWhileOthersAreListed) {
  const std::string abort = add("deadly_abort"), exit = add("deadly_exit"), segv = add("deadly_segv"), end = add("deadly_end");
  for (const char *command : {"plugins -v", "plugins --json"}) {
    const ToolAnswer a = run(command, path());
    EXPECT_EQ(a.status, 0) << a.out;
    EXPECT_TRUE(a.has(abort + " ends the process in its constructor (signal 6, SIGABRT)")) << a.out;
    EXPECT_TRUE(a.has(exit + " ends the process in its constructor (exit status 3)")) << a.out;
    EXPECT_TRUE(a.has(segv + " ends the process in its constructor (")) << "by a signal, or as a sanitizer ends it: " << a.out;
    EXPECT_TRUE(a.has(end + " ends the process in its destructor (signal 6, SIGABRT)")) << a.out;
    EXPECT_TRUE(a.has("lws.depth")) << "the others are whole: " << a.out;
  }
  const ToolAnswer config = run("config", path());
  EXPECT_EQ(config.status, 0) << config.out;
  EXPECT_TRUE(config.has("[lws]\n") && config.has("[ws]\n")) << config.out;
  EXPECT_TRUE(config.has("consort: warning: " + abort + " ends the process in its constructor (signal 6, SIGABRT)")) << config.out;
  EXPECT_TRUE(run("plugins", path()).has("deadly_abort")) << "nothing is loaded without -v";
}

TEST_F(HarmfulPlugins, SchedulerIsExplainedBesideWhatIsLeftOut) {
  const std::string abort = add("deadly_abort"), end = " ends the process in its constructor (signal 6, SIGABRT)";
  const ToolAnswer text = run("sched explain --set drivers=cpu >/dev/null", path());
  EXPECT_EQ(text.status, 0) << text.out;
  EXPECT_EQ(text.out, "consort: warning: " + abort + end + ": it is left out\n");
  const ToolAnswer json = run("sched explain --json --set drivers=cpu", path());
  EXPECT_EQ(json.status, 0) << json.out;
  EXPECT_TRUE(json.has("\"file\": \"" + abort + "\"") && json.has("\"reason\": \"" + end.substr(1) + "\"")) << json.out;
  EXPECT_FALSE(json.has("consort: warning")) << "it is a member of the object: " << json.out;
  std::filesystem::remove(abort);
  const ToolAnswer none = run("sched explain --set drivers=cpu");
  EXPECT_FALSE(none.has("left out")) << none.out;
}

TEST_F(HarmfulPlugins, WhyNotNamesWhereTheProcessEnds) {
  const std::string abort = add("deadly_abort");
  const ToolAnswer a = run("why-not deadly_abort", path());
  EXPECT_EQ(a.status, 1) << a.out;
  EXPECT_TRUE(a.has("driver \"deadly_abort\" is not used: " + abort + " ends the process in its constructor (signal 6, SIGABRT)")) << a.out;
  EXPECT_EQ(run("why-not cpu0", path()).status, 0) << "and all else is answered as ever";
}

TEST_F(HarmfulPlugins, WhyNotFindsDriversThatEndTheProcess) {
  add("deadly_init");
  const ToolAnswer a = run("why-not deadly_init", path());
  EXPECT_EQ(a.status, 1) << a.out;
  EXPECT_TRUE(a.has("driver \"deadly_init\" is not used: it ends the process (signal 6, SIGABRT) when it starts")) << a.out;
  const ToolAnswer other = run("why-not auto", path());
  EXPECT_TRUE(other.has("no runtime starts here: driver \"deadly_init\" ends the process")) << other.out;
  const ToolAnswer topo = run("topo", path());
  EXPECT_EQ(topo.status, 1) << topo.out;
  EXPECT_TRUE(topo.has("consort: driver \"deadly_init\" ends the process (signal 6, SIGABRT) when a runtime starts; drivers = \"^deadly_init\"")) << topo.out;
  EXPECT_EQ(run("topo --set drivers=^deadly_init", path()).status, 0);
}

// A thread of the plugin ends the process some time after its constructor has returned: in another plugin's, or later.
TEST_F(HarmfulPlugins, DelayedEndsAreNamedByEachCommand) {
  for (const std::string name : {"deadly_soon", "deadly_later"}) {
    const std::string file = add(name);
    for (const std::string &command : {std::string("plugins -v"), std::string("config"), std::string("doctor"), "why-not " + name, std::string("sched explain")}) {
      const ToolAnswer a = run(command, path());
      EXPECT_TRUE(a.status == (command.starts_with("why-not") ? 1 : 0) || (command == "doctor" && a.status == 1)) << command << a.out;
      EXPECT_EQ(a.has("scheduler = "), command == "sched explain" || command == "config") << a.out;
      EXPECT_TRUE(a.has(file + " ends the process ") && a.has("(signal 6, SIGABRT)")) << command << a.out;
    }
    EXPECT_TRUE(run("plugins -v", path()).has("lws.depth")) << "the others are whole";
    std::filesystem::remove(file);
  }
}

TEST_F(HarmfulPlugins, UnhandledSignalsOfTimersAreNamedOrTooLate) {
  const std::string file = add("deadly_timer");
  for (const char *command : {"plugins -v", "config"}) {
    const ToolAnswer a = run(command, path());
    EXPECT_EQ(a.status, 0) << a.out;
    EXPECT_TRUE(a.has("lws")) << a.out;
    // In whatever step the machine's speed has the signal come.
    EXPECT_EQ(a.has(file + " ends the process "), a.has("(signal 14, SIGALRM)")) << a.out;
  }
}

TEST_F(HarmfulPlugins, HangsAreLimitedInTime) {
  const std::string sleep = add("deadly_sleep");
  const ToolAnswer a = run("plugins -v", path());
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has(sleep + " does not return from its constructor within 5 s")) << a.out;
  EXPECT_FALSE(a.has("loading plugins")) << "progress is for terminals";
  EXPECT_TRUE(a.has("lws.depth")) << a.out;
  // A hang and an end in one folder: each is named. The hang is waited for once where it is first by its name.
  const std::string exit = add("deadly_soon");
  const ToolAnswer both = run("plugins -v", path());
  EXPECT_TRUE(both.has(sleep + " does not return from its constructor within 5 s")) << both.out;
  EXPECT_TRUE(both.has(exit + " ends the process ")) << both.out;
  EXPECT_TRUE(both.has("lws.depth")) << both.out;
}

TEST_F(HarmfulPlugins, TextOfPluginsIsEscaped) {
  add("deadly_summary");
  const ToolAnswer a = run("plugins -v", path());
  EXPECT_TRUE(a.has("\\x1b[31mred\\n\\u202eand backwards")) << a.out;
  EXPECT_EQ(a.out.find('\x1b'), a.out.npos);
  EXPECT_EQ(run("plugins -v --color=always").out.find("\x1b[1m"), 0u);
  std::filesystem::copy_file(CONSORT_TEST_PLUGIN_DIR "/loader/good.so", folder_ / "a\x1b[2Jb.so");
  EXPECT_TRUE(run("plugins", path()).has("a\\x1b[2Jb.so"));
  std::ofstream(folder_ / "trace") << "consort trace 1\n\x1b[2J\n";
  const ToolAnswer trace = run("trace show " + folder_ / "trace");
  EXPECT_EQ(trace.status, 1);
  EXPECT_TRUE(trace.has("\\x1b[2J")) << trace.out;
  EXPECT_EQ(trace.out.find('\x1b'), trace.out.npos);
}

TEST_F(HarmfulPlugins, WorldWritablePlacesWarn) {
  add("good");
  EXPECT_FALSE(run("plugins", path()).has("warning"));
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0777));
  const ToolAnswer a = run("plugins", path());
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("consort: warning: plugin folder " + folder_.path() + " may be written by every user")) << a.out;
  const ToolAnswer settings = run("config", path());
  EXPECT_EQ(settings.status, 0) << settings.out;
  EXPECT_TRUE(settings.has("consort: warning: plugin folder " + folder_.path() + " may be written by every user"));
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  const std::string file = folder_ / "own.toml";
  std::ofstream(file) << "workers = 1\n";
  std::filesystem::permissions(file, std::filesystem::perms(0666));
  const std::string said = "config file \"" + file + "\" may be written by every user";
  EXPECT_TRUE(run("--config " + file + " config").has(said));
  EXPECT_TRUE(run("--config " + file + " config --json").has("\"warnings\": ["));
}

TEST_F(HarmfulPlugins, SpecialFilesAreNotOpened) {
  ASSERT_EQ(std::system(("mkfifo " + folder_ / "pipe").c_str()), 0);
  const std::string pipe = folder_ / "pipe";
  for (const std::string &command : {"trace show " + pipe, "bound " + pipe, "model import " + pipe + " --name a", "machine import " + pipe + " a"}) {
    const ToolAnswer a = run(command, "timeout 20");
    EXPECT_EQ(a.status, 1) << command << a.out;
    EXPECT_TRUE(a.has(pipe) && a.has("plain file")) << command << a.out;
  }
  EXPECT_EQ(run("conform " + pipe, "timeout 20").status, 2);
}

}  // namespace
