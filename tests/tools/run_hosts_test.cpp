// `consort run --hosts`: ranks on several machines. A script stands for ssh; the "machines" are this one.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::read_file;
namespace fs = std::filesystem;

constexpr const char *kSsh = R"(#!/bin/sh
host=$1; shift
case $host in
  greets) echo "Welcome. You have mail.";;
  refuses) exit 255;;
  talks) exec yes consort;;
  lies) printf '\n\0consort-part 1\nX\377\377\377\377'; exec sleep 100;;
  forges) printf '\n\0consort-part 1\nF\020\0\0\0\06\0\0\0000.addr\02\0\0\0xy'; exec sleep 100;;
  old) echo 'consort: "run-part" is not a command' >&2; exit 2;;
esac
SSH_CONNECTION="192.0.2.1 40000 127.0.0.1 22" exec sh -c "$*"
)";

class RunHosts : public consort_test::Tools {
 protected:
  void SetUp() override {
    Tools::SetUp();
    const std::string ssh = folder_ / "ssh";
    std::ofstream(ssh) << kSsh;
    fs::permissions(ssh, fs::perms::owner_all);
  }
  ToolAnswer words(const std::string &arguments, const std::string &before = {}) const {
    return run(arguments, before + " TMPDIR=" + (folder_ / "") + " XDG_RUNTIME_DIR=");
  }
  ToolAnswer ranks(const std::string &n, const std::string &hosts, const std::string &script, const std::string &options = {}) const {
    return words("run -n " + n + " --ssh " + (folder_ / "ssh") + " --hosts " + hosts + " " + options + " -- sh -c '" + script + "'");
  }
  std::vector<std::string> jobs() const {  // folders that are left
    std::vector<std::string> all;
    for (const auto &e : fs::directory_iterator(folder_ / ""))
      if (e.path().filename().string().starts_with("consort-job-")) all.push_back(e.path());
    return all;
  }
  // Parts end after their launcher.
  bool is_clean() const {
    for (int i = 0; i < 1000 && !jobs().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));  // nap: a part ends after its launcher
    return jobs().empty();
  }
};

TEST_F(RunHosts, RanksGoToMachinesInBlocks) {
  const std::string out = folder_ / "out", tell = "echo $CONSORT_RANK of $CONSORT_RANKS, $(basename $CONSORT_RENDEZVOUS) > " + out + "$CONSORT_RANK";
  const ToolAnswer a = ranks("5", "a:1,greets,c:1", tell);
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_EQ(a.out, "") << "what a shell prints before is no output of ranks";
  const std::string job = read_file(out + "0").substr(8);
  EXPECT_EQ(job.substr(0, 10), "consortjob");
  for (const std::string r : {"0", "1", "2", "3", "4"}) EXPECT_EQ(read_file(out + r), r + " of 5, " + job) << "one job on all machines";
  EXPECT_TRUE(is_clean());
}

TEST_F(RunHosts, SettingsOfTheLauncherReachAllRanks) {
  const ToolAnswer a = ranks("2", "a,b", "echo $PWD $CONSORT_TRANSPORT $CONSORT_OFI__NETWORK $CONSORT_WORKERS");
  const std::string one = fs::current_path().string() + " ofi 127.0.0.1\n";
  EXPECT_EQ(a.out, one + one) << "the address by which ssh has reached the machine";
  const ToolAnswer b = words("--set workers=2 --set note={address}! run -n 1 --transport inproc --ssh " + (folder_ / "ssh") +
                         " --hosts a -- sh -c 'echo $CONSORT_TRANSPORT $CONSORT_OFI__NETWORK $CONSORT_WORKERS $CONSORT_NOTE'");
  EXPECT_EQ(b.out, "inproc 2 127.0.0.1!\n");
}

TEST_F(RunHosts, WhatARankPublishesIsOnAllMachines) {
  const ToolAnswer a = ranks("3", "a,b,c", "umask 077; cd $CONSORT_RENDEZVOUS; echo I am $CONSORT_RANK > x; mv x $CONSORT_RANK.addr; "
                                       "while [ ! -e 0.addr -o ! -e 1.addr -o ! -e 2.addr ]; do sleep 0.01; done; cat 0.addr 1.addr 2.addr > y; "
                                       "test \"$(cat y)\" = \"$(printf \"I am 0\\nI am 1\\nI am 2\")\"; stat -c %a 0.addr 1.addr secret .");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_EQ(std::count(a.out.begin(), a.out.end(), '\n'), 12) << a.out;
  EXPECT_FALSE(a.has("644")) << a.out;
}

TEST_F(RunHosts, InputGoesToTheFirstRankAndAllOutputComesBack) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i) + "\n";
  std::ofstream(folder_ / "in") << text;
  const ToolAnswer a = words("run -n 2 --ssh " + (folder_ / "ssh") + " --hosts a,b -- cat <" + (folder_ / "in"));
  EXPECT_EQ(a.status, 0);
  EXPECT_TRUE(a.out == text) << a.out.size() << " bytes of " << text.size();
  const ToolAnswer closed = words("run -n 2 --ssh " + (folder_ / "ssh") + " --hosts a,b -- sh -c 'read x; echo $x' <" + (folder_ / "in"));
  EXPECT_EQ(closed.status, 0) << "a rank need not read all";
  EXPECT_TRUE(closed.has("0\n") && closed.out.size() < 10) << closed.out;
}

TEST_F(RunHosts, RankThatFailsIsNamedWithItsMachine) {
  const ToolAnswer a = ranks("3", "a,b,c", "test $CONSORT_RANK = 1 && kill -9 $$; while [ ! -e $CONSORT_RENDEZVOUS/1.ended ]; do sleep 0.01; done; "
                                       "test $CONSORT_RANK != 2 || exit 9");
  EXPECT_EQ(a.status, 128 + SIGKILL) << a.out;
  EXPECT_TRUE(a.has("consort: rank 1 of 3 on host b (process ") && a.has("was killed by signal 9 (SIGKILL)")) << a.out;
  EXPECT_TRUE(a.has("rank 2 of 3 on host c") && a.has("has ended with status 9")) << a.out;
  EXPECT_TRUE(is_clean());
}

TEST_F(RunHosts, LostMachineTakesItsRanksAlone) {
  const std::string out = folder_ / "seen";
  const ToolAnswer a = ranks("3", "a,b:2", "test $CONSORT_RANK = 2 && kill -9 $PPID; test $CONSORT_RANK = 0 || exec sleep 100; "
                                       "while [ ! -e $CONSORT_RENDEZVOUS/1.ended -o ! -e $CONSORT_RENDEZVOUS/2.ended ]; do sleep 0.01; done; "
                                       "cat $CONSORT_RENDEZVOUS/1.ended >" + out);
  EXPECT_EQ(a.status, 255) << a.out;
  EXPECT_TRUE(a.has("consort: host b is lost: ssh was killed by signal 9 (SIGKILL)")) << a.out;
  EXPECT_TRUE(a.has("rank 1 of 3 on host b is lost") && a.has("rank 2 of 3 on host b is lost")) << a.out;
  EXPECT_EQ(read_file(out), "was on host b, which is lost,");
}

TEST_F(RunHosts, MachineThatCannotBeReached) {
  for (const char *host : {"refuses", "old", "talks"}) {
    const ToolAnswer a = ranks("2", std::string("a,") + host, "exec sleep 100");
    EXPECT_EQ(a.status, 255) << a.out;
    EXPECT_TRUE(a.has(std::string("consort: host ") + host + ": ssh ") && a.has("before consort run-part had started; try: ") &&
                a.has("--remote-consort")) << a.out;
    EXPECT_TRUE(is_clean());
  }
  const ToolAnswer none = words("run -n 1 --ssh /no/such/ssh --hosts a -- true");
  EXPECT_EQ(none.status, 255) << none.out;
  EXPECT_TRUE(none.has("/no/such/ssh: No such file")) << none.out;
  const ToolAnswer elsewhere = ranks("1", "a", "true", "--remote-consort /no/such/consort");
  EXPECT_EQ(elsewhere.status, 255) << elsewhere.out;
  EXPECT_TRUE(elsewhere.has("/no/such/consort: not found") || elsewhere.has("/no/such/consort: No such file")) << elsewhere.out;
}

TEST_F(RunHosts, MachineThatSendsNonsenseIsDisconnected) {
  const ToolAnswer lie = ranks("2", "a,lies", "exit 0");
  EXPECT_EQ(lie.status, 255) << lie.out;
  EXPECT_TRUE(lie.has("host lies is lost: ssh was disconnected: what was received is no frame of consort")) << lie.out;
  const ToolAnswer forged = ranks("2", "a,forges", "while [ ! -e $CONSORT_RENDEZVOUS/1.ended ]; do sleep 0.01; done; test ! -e $CONSORT_RENDEZVOUS/0.addr || exit 3");
  EXPECT_EQ(forged.status, 255) << forged.out;
  EXPECT_TRUE(forged.has("host forges is lost: ssh was disconnected: it has published a file of another machine's rank")) << forged.out;
}

TEST_F(RunHosts, SignalReachesRanksOnAllMachines) {
  const ToolAnswer a = ranks("2", "a,b", "trap \"exit 5\" TERM; : > $CONSORT_RENDEZVOUS/x; mv $CONSORT_RENDEZVOUS/x $CONSORT_RENDEZVOUS/$CONSORT_RANK.up; "
                                     "while [ ! -e $CONSORT_RENDEZVOUS/0.up -o ! -e $CONSORT_RENDEZVOUS/1.up ]; do sleep 0.01; done; "
                                     "test $CONSORT_RANK = 0 && kill -TERM $(cut -d\" \" -f4 /proc/$PPID/stat); while :; do sleep 0.01; done");
  EXPECT_EQ(a.status, 5) << a.out;
  EXPECT_TRUE(a.has("rank 0 of 2 on host a") && a.has("rank 1 of 2 on host b")) << a.out;
  EXPECT_TRUE(is_clean());
}

TEST_F(RunHosts, RankMayAskForTheEndOfTheJob) {
  const ToolAnswer a = ranks("2", "a,b", "trap \"\" TERM; test $CONSORT_RANK = 1 && echo no sense > $CONSORT_RENDEZVOUS/x && "
                                     "mv $CONSORT_RENDEZVOUS/x $CONSORT_RENDEZVOUS/abort; while :; do sleep 0.01; done");
  EXPECT_EQ(a.status, 1) << a.out;
  EXPECT_TRUE(a.has("the job is ended: no sense") && a.has("was killed by signal 9")) << a.out;
}

TEST_F(RunHosts, JobStartsAgainWhenARankIsKilledOrAMachineIsLost) {
  // In the first turn rank 1 is killed, in the second its machine is lost, in the third both ranks end well.
  const std::string turns = folder_ / "turns";
  const std::string script = "cd $CONSORT_RENDEZVOUS; test $CONSORT_RANK = 0 && while [ ! -e 1.done ]; do sleep 0.01; done && exit 0; "
                             "echo >> " + turns + "; n=$(wc -l < " + turns + "); test $n = 1 && kill -9 $$; "
                             "test $n = 2 && kill -9 $PPID && exec sleep 1000; : > x; mv x 1.done";
  const ToolAnswer a = ranks("2", "a,b", script, "--restarts 5 --checkpoint " + (folder_ / "kept"));
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("the job starts again (restart 1 of 5)") && a.has("(restart 2 of 5)") && !a.has("(restart 3")) << a.out;
  EXPECT_TRUE(a.has("was killed by signal 9 (SIGKILL)") && a.has("host b is lost")) << a.out;
  const ToolAnswer error = ranks("2", "a,b", "exit 7", "--restarts 2 --checkpoint x");
  EXPECT_EQ(error.status, 7) << error.out;
  EXPECT_FALSE(error.has("starts again")) << error.out;
}

TEST_F(RunHosts, KilledLauncherLeavesNothing) {
  (void)ranks("2", "a,b", "test $CONSORT_RANK = 0 && kill -9 $(cut -d\" \" -f4 /proc/$PPID/stat); exec sleep 100");
  EXPECT_TRUE(is_clean());
}

TEST_F(RunHosts, FolderOfAKilledJobIsRemovedByTheNext) {
  (void)words("run -n 1 -- sh -c 'kill -9 $PPID; exec sleep 100'");
  EXPECT_EQ(jobs().size(), 1u);
  EXPECT_EQ(words("run -n 1 -- sh -c 'test $(ls -d " + (folder_ / "consort-job-*") + " | wc -l) = 1'").status, 0);
  EXPECT_TRUE(jobs().empty());
}

TEST_F(RunHosts, ListOfMachinesIsChecked) {
  for (const auto &[hosts, why] : {std::pair{"-oProxyCommand=x", "is no name of a machine"}, {"a,,b", "\"\" is no name of a machine"},
                                   {"a:0", "\"0\" is no number of ranks"}, {"a:x", "\"x\" is no number of ranks"}, {"a:99999", "no number of ranks"},
                                   {"a:1,b:1", "has room for 2 ranks, and -n asks for 3"}, {"\"a;b\"", "is no name of a machine"}}) {
    const ToolAnswer a = words(std::string("run -n 3 --hosts ") + hosts + " -- true");
    EXPECT_EQ(a.status, 1) << hosts;
    EXPECT_TRUE(a.has("--hosts ") && a.has(why)) << a.out;
  }
  const ToolAnswer six = words("run -n 1 --ssh echo --hosts [::1]:2 -- true");
  EXPECT_TRUE(six.has("host ::1: ssh has ended before")) << six.out;
}

TEST_F(RunHosts, MessagesGoBetweenMachines) {
  const std::string ring = CONSORT_BIN_DIR "/ring";
  if (!fs::exists(ring) || !fs::exists(CONSORT_PLUGIN_DIR "/ofi.so")) GTEST_SKIP() << "needs the example ring and the transport ofi";
  const ToolAnswer a = words("run -n 4 --ssh " + (folder_ / "ssh") + " --hosts a,b -- " + ring + " --turns 3");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("ring: 3 turns on 4 ranks")) << a.out;
}

}  // namespace
