// `consort run`: ranks of a job, their environment, their ends. The program is a shell.
#include <csignal>

#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::read_file;
namespace fs = std::filesystem;

class Run : public consort_test::Tools {
 protected:
  ToolAnswer ranks(const std::string &n, const std::string &script, const std::string &options = {}) const {
    return run("run -n " + n + " " + options + " -- sh -c '" + script + "'", "TMPDIR=" + (folder_ / "") + " XDG_RUNTIME_DIR=");
  }
  // Nothing of the job is left.
  bool is_clean() const {
    for (const auto &e : fs::directory_iterator(folder_ / ""))
      if (e.path().filename().string().starts_with("consort-job-")) return false;
    return true;
  }
};

TEST_F(Run, RanksKnowTheirNumberAndTheFolder) {
  const std::string out = folder_ / "out";
  const ToolAnswer a = ranks("3", "echo $CONSORT_RANK of $CONSORT_RANKS $(stat -c %a $CONSORT_RENDEZVOUS $CONSORT_RENDEZVOUS/secret) "
                              "$(wc -c <$CONSORT_RENDEZVOUS/secret) > " + out + "$CONSORT_RANK");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_EQ(a.out, "");
  for (const std::string r : {"0", "1", "2"}) EXPECT_EQ(read_file(out + r), r + " of 3 700 600 32\n");
  EXPECT_TRUE(is_clean());
}

TEST_F(Run, StandardInputIsOfTheFirstRank) {
  std::ofstream(folder_ / "in") << "hello\n";
  const ToolAnswer a = run("run -n 2 -- sh -c 'read x; echo \"$CONSORT_RANK:$x\"' <" + (folder_ / "in") + " | sort");
  EXPECT_EQ(a.out, "0:hello\n1:\n");
}

TEST_F(Run, StatusIsThatOfTheFirstRankThatFailed) {
  const ToolAnswer a = ranks("3", "test $CONSORT_RANK = 1 && exit 7; test $CONSORT_RANK = 2 && while [ ! -e $CONSORT_RENDEZVOUS/1.ended ]; "
                              "do sleep 0.01; done; test $CONSORT_RANK != 2 || exit 9");
  EXPECT_EQ(a.status, 7) << a.out;
  EXPECT_TRUE(a.has("consort: rank 1 of 3 on host ")) << a.out;
  EXPECT_TRUE(a.has("has ended with status 7")) << a.out;
  EXPECT_TRUE(a.has("has ended with status 9")) << a.out;
  EXPECT_TRUE(is_clean());
}

TEST_F(Run, KilledRankIsNamedWithItsSignal) {
  const ToolAnswer a = ranks("2", "test $CONSORT_RANK = 1 && kill -9 $$; exit 0");
  EXPECT_EQ(a.status, 128 + SIGKILL) << a.out;
  EXPECT_TRUE(a.has("was killed by signal 9 (SIGKILL)")) << a.out;
}

// Rank 1 counts its starts, and kills itself in the first two.
TEST_F(Run, KilledJobStartsAgain) {
  const std::string turns = folder_ / "turns", kept = folder_ / "kept";
  const std::string script = "test $CONSORT_RANK = 1 && echo $CONSORT_CHECKPOINT >> " + turns + "; touch " + turns + "; "
                             "test $CONSORT_RANK = 1 && test $(wc -l < " + turns + ") -lt 3 && kill -9 $$; "
                             "while [ $(wc -l < " + turns + ") -lt 3 ]; do sleep 0.01; done";
  const ToolAnswer a = ranks("2", script, "--restarts 5 --checkpoint " + kept);
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("consort: rank 1 of 2 on host ") && a.has("was killed by signal 9 (SIGKILL)")) << a.out;
  EXPECT_TRUE(a.has("consort: the job starts again (restart 1 of 5)")) << a.out;
  EXPECT_TRUE(read_file(turns).starts_with(kept + "\n" + kept + "\n")) << read_file(turns);
  EXPECT_TRUE(is_clean());
}

TEST_F(Run, RestartsAreCounted) {
  const ToolAnswer a = ranks("2", "test $CONSORT_RANK = 1 && kill -9 $$; exec sleep 1", "--restarts 2 --checkpoint x");
  EXPECT_EQ(a.status, 128 + SIGKILL) << a.out;
  EXPECT_TRUE(a.has("(restart 2 of 2)")) << a.out;
  EXPECT_FALSE(a.has("(restart 3")) << a.out;
}

TEST_F(Run, ErrorsAndOwnEndsDoNotStartItAgain) {
  const ToolAnswer error = ranks("2", "exit 7", "--restarts 2 --checkpoint x");
  EXPECT_EQ(error.status, 7) << error.out;
  EXPECT_FALSE(error.has("starts again")) << error.out;
  const ToolAnswer told = ranks("1", "kill -TERM $PPID; exec sleep 10", "--restarts 2 --checkpoint x");
  EXPECT_EQ(told.status, 128 + SIGTERM) << told.out;
  EXPECT_FALSE(told.has("starts again")) << told.out;
  const ToolAnswer wrong = run("run -n 2 --restarts 2 -- true");
  EXPECT_EQ(wrong.status, 2) << wrong.out;
  EXPECT_TRUE(wrong.has("--checkpoint")) << wrong.out;
}

TEST_F(Run, SignalReachesAllRanks) {
  const ToolAnswer a = ranks("2", "trap \"exit 5\" TERM; test $CONSORT_RANK = 1 && : > $CONSORT_RENDEZVOUS/up; "
                              "while [ ! -e $CONSORT_RENDEZVOUS/up ]; do sleep 0.01; done; "
                              "test $CONSORT_RANK = 0 && kill -TERM $PPID; while :; do sleep 0.01; done");
  EXPECT_EQ(a.status, 5) << a.out;
  EXPECT_TRUE(a.has("rank 0 of 2") && a.has("rank 1 of 2")) << a.out;
  EXPECT_TRUE(is_clean());
}

TEST_F(Run, RankMayAskForTheEndOfTheJob) {
  const ToolAnswer a = ranks("2", "test $CONSORT_RANK = 0 && echo no sense > $CONSORT_RENDEZVOUS/x && "
                              "mv $CONSORT_RENDEZVOUS/x $CONSORT_RENDEZVOUS/abort; while :; do sleep 0.01; done");
  EXPECT_EQ(a.status, 1) << a.out;
  EXPECT_TRUE(a.has("the job is ended: no sense")) << a.out;
}

TEST_F(Run, ProgramThatIsMissing) {
  const ToolAnswer a = run("run -n 2 -- /no/such/program");
  EXPECT_EQ(a.status, 127) << a.out;
  EXPECT_TRUE(a.has("/no/such/program: No such file")) << a.out;
}

TEST_F(Run, RanksHaveSharesOfTheCores) {
  const ToolAnswer all = run("run -n 1 -- nproc"), many = run("run -n 2 --unbound -- nproc"), one = run("run -n 64 -- nproc | sort -u");
  EXPECT_EQ(many.out, all.out + all.out);
  EXPECT_EQ(one.out.substr(0, 2), "1\n") << "a rank of 64 has one core, or two where there are 128";
}

TEST_F(Run, SettingsReachTheRanks) {
  const ToolAnswer a = run("--set sim.usual=1ms --set workers=2 run -n 1 --transport inproc -- env");
  EXPECT_TRUE(a.has("CONSORT_SIM__USUAL=1ms\n") && a.has("CONSORT_WORKERS=2\n") && a.has("CONSORT_TRANSPORT=inproc\n")) << a.out;
}

}  // namespace
