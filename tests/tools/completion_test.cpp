// `consort completion`: the scripts complete commands, options, values and names in the shells that are here.
#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer;

class Completion : public consort_test::Tools {
 protected:
  // The completions of bash for this line, one a line. It completes its last word, which may be empty.
  std::string in_bash(const std::string &line) const {
    std::ofstream(folder_ / "ask.bash") << "PATH=" CONSORT_BIN_DIR ":$PATH\nsource <(consort completion bash)\ncd " << folder_.path()
                                        << "\nread -ra COMP_WORDS <<<'consort " << line << "'\n"
                                        << (line.empty() || line.back() == ' ' ? "COMP_WORDS+=('')\n" : "")
                                        << "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_consort\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    return output("bash " + folder_ / "ask.bash");
  }
  static std::string output(const std::string &command) {
    std::string out;
    FILE *pipe = popen((command + " 2>&1").c_str(), "r");
    char buffer[4096];
    for (size_t n; pipe && (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    if (pipe) pclose(pipe);
    return "\n" + out;
  }
  static bool is_there(const char *shell) { return std::system((std::string("command -v ") + shell + " >/dev/null").c_str()) == 0; }
};

#define EXPECT_OFFERS(all, word) EXPECT_NE((all).find("\n" word "\n"), std::string::npos) << (all)
#define EXPECT_OFFERS_NOT(all, word) EXPECT_EQ((all).find("\n" word "\n"), std::string::npos) << (all)

TEST_F(Completion, BashCompletesCommandsOptionsAndValues) {
  if (!is_there("bash")) GTEST_SKIP() << "no bash";
  std::string all = in_bash("");
  for (const char *command : {"\nplugins\n", "\ntopo\n", "\ndoctor\n", "\nwhy-not\n", "\ncompletion\n"}) EXPECT_NE(all.find(command), all.npos) << all;
  EXPECT_OFFERS(in_bash("to"), "topo");
  EXPECT_OFFERS(in_bash("model "), "show");
  all = in_bash("plugins -");
  EXPECT_OFFERS(all, "--verbose");
  EXPECT_OFFERS(all, "--json");
  EXPECT_OFFERS(all, "--set");
  EXPECT_OFFERS_NOT(all, "--svg");
  EXPECT_EQ(in_bash("bound --kind "), "\narea\ndeps\ntransfers\n");
  EXPECT_EQ(in_bash("--color al"), "\nalways\n");
  EXPECT_EQ(in_bash("new dr"), "\ndriver\n");
  EXPECT_OFFERS(in_bash("--set scheduler=prio why-not lw"), "lws");
  EXPECT_OFFERS(in_bash("topo --set cpu.to"), "cpu.topology=");
  std::ofstream(folder_ / "run.trace") << "x";
  EXPECT_EQ(in_bash("trace show ru"), "\nrun.trace\n");
  EXPECT_EQ(in_bash("topo --svg ru"), "\nrun.trace\n");
}

TEST_F(Completion, ZshAndFishReadTheirScripts) {
  for (const char *shell : {"zsh", "fish"}) {
    const ToolAnswer a = run(std::string("completion ") + shell);
    EXPECT_EQ(a.status, 0);
    for (const char *part : {"why-not", "trace show", "deps", "plugins"}) EXPECT_TRUE(a.has(part)) << shell << part;
    std::ofstream(folder_ / shell) << a.out;
    if (!is_there(shell)) continue;
    EXPECT_EQ(output(std::string(shell) + " -n " + folder_ / shell), "\n") << shell << " finds no fault in it";
  }
  if (!is_there("fish")) return;
  const std::string ask = "PATH=" CONSORT_BIN_DIR ":$PATH fish -N -c 'consort completion fish | source; complete -C \"";
  EXPECT_NE(output(ask + "consort bound --kind \"'").find("\ndeps\t"), std::string::npos);
  EXPECT_NE(output(ask + "consort why-not lw\"'").find("\nlws\n"), std::string::npos);
  EXPECT_NE(output(ask + "consort mod\"'").find("\nmodel\t"), std::string::npos);
  EXPECT_NE(output(ask + "consort model sh\"'").find("\nshow\t"), std::string::npos);
}

TEST_F(Completion, ZshCompletesOnATerminal) {
  if (!is_there("zsh")) GTEST_SKIP() << "no zsh";
  std::ofstream(folder_ / "ask.zsh")
      << "PATH=" CONSORT_BIN_DIR ":$PATH\nzmodload zsh/zpty\nzpty -b z zsh -f -i\n"
         "put() { zpty -w z \"$1\"; }\n"
         "put 'PS1=; unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -d " << folder_ / "dump" << "; source <(consort completion zsh); print READY'\n"
         "zpty -r -m z line '*READY*READY*'\n"
         "zpty -w -n z $'consort bound --kind tr\\t'\n"
         "for i in {1..300}; do zpty -r -t z part && line+=$part; [[ $line == *transfers* ]] && { print FOUND; break; }; sleep 0.05; done\n"
         "zpty -d z\n";
  EXPECT_NE(output("timeout 60 zsh -f " + folder_ / "ask.zsh").find("FOUND"), std::string::npos);
}

TEST_F(Completion, RefusesUnknownShells) {
  const ToolAnswer a = run("completion fihs");
  EXPECT_EQ(a.status, 2);
  EXPECT_TRUE(a.has("consort: there is no completion for \"fihs\" (did you mean \"fish\"?): bash, zsh, fish")) << a.out;
  EXPECT_TRUE(run("completion plugins").has("lws\n"));
}

}  // namespace
