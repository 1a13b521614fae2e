// `consort sim -n N`: ranks as processes and as threads of one process make the same traces; what it refuses; a rank that
// is killed.
#include "support/trace_text.hpp"
#include "tools/command.hpp"

#include <thread>

using namespace consort_test;

namespace {

class SimulatedRanks : public Tools {
 protected:
  void SetUp() override {
    Tools::SetUp();
    std::ofstream(machine_) << "[overheads]\nsubmit = \"1us\"\ndrop = \"40ns\"\n[[device]]\nname = \"cpu\"\nhost = true\nclass = \"cpu\"\n"
                               "units = 2\ndepth = 1\nmemory = \"4G\"\n[network]\nlatency = \"1500ns\"\nbandwidth = \"12G\"\nranks_per_node = 2\n"
                               "[[switch]]\nnodes = 4\nbandwidth = \"20G\"\nlatency = \"300ns\"\n"
                               "[times]\npotrf = \"20us\"\ntrsm = \"30us\"\nsyrk = \"30us\"\ngemm = \"60us\"\n";
  }
  std::string traces(const std::string &name, int ranks) const {
    std::string all;
    for (int r = 0; r < ranks; ++r) all += "rank " + std::to_string(r) + "\n" + read_file(folder_ / (name + "." + std::to_string(r)));
    return all;
  }
  std::string sim(const std::string &options, const std::string &program) const {
    return "sim --machine " + machine_ + " " + options + " -- " CONSORT_BIN_DIR "/" + program;
  }

  const std::string machine_ = folder_ / "cluster.toml";
};

TEST_F(SimulatedRanks, ProcessesAndThreadsMakeTheSameTraces) {
  const std::string program = "block_cyclic --n 512 --tile 32";
  const ToolAnswer processes = run(sim("-n 16 --noise 0.1 --trace " + (folder_ / "p"), program));
  EXPECT_EQ(processes.status, 0) << processes.out;
  EXPECT_TRUE(processes.has("s on 16 ranks")) << processes.out;
  const ToolAnswer threads = run(sim("-n 16 --one-process --noise 0.1 --trace " + (folder_ / "t"), program));
  EXPECT_EQ(threads.status, 0) << threads.out;
  const std::string one = traces("p", 16), other = traces("t", 16);
  EXPECT_NE(trace_text(folder_ / "p.0").find("\nrun\t"), std::string::npos);
  EXPECT_TRUE(one == other);
  EXPECT_EQ(processes.out, threads.out);
}

TEST_F(SimulatedRanks, ResultsAreRightWhenExecuted) {
  for (const char *how : {"-n 4", "-n 7 --one-process"}) {
    const ToolAnswer a = run(sim(std::string(how) + " --execute", "block_cyclic --n 128"));
    EXPECT_EQ(a.status, 0) << a.out;
    EXPECT_TRUE(a.has("largest error")) << a.out;
  }
}

TEST_F(SimulatedRanks, ManyRanksRunInOneProcess) {
  const ToolAnswer a = run(sim("-n 100 --one-process --json", "block_cyclic --n 640"));
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("\"ranks\": 100")) << a.out;
  EXPECT_TRUE(a.has("switches-of-4-up")) << a.out;
}

// Also rank 0, whose process has the clock.
TEST_F(SimulatedRanks, KilledRankEndsTheJob) {
  for (const char *victim : {"0", "2"}) {
    // nap: 1 s into some 10 s of work; if it came later, the job would have ended well
    const std::string program = "sh -c '" CONSORT_BIN_DIR "/block_cyclic --n 65536 --tile 512 & p=$!; [ $CONSORT_RANK = " + std::string(victim) +
                                " ] && { sleep 1; kill -9 $p; }; wait $p'";
    const ToolAnswer a = run("sim --machine " + machine_ + " -n 4 -- " + program);
    EXPECT_NE(a.status, 0) << a.out;
    EXPECT_TRUE(a.has(std::string("rank ") + victim + " of 4 on host")) << a.out;
    EXPECT_TRUE(a.has("is lost") || a.has("has left the job, or has ended")) << a.out;  // as another rank says it
  }
}

TEST_F(SimulatedRanks, WhatCannotBeIsRefused) {
  const ToolAnswer many = run(sim("-n 65", "block_cyclic"));
  EXPECT_NE(many.status, 0);
  EXPECT_TRUE(many.has("65 ranks are too many processes for one clock: 64 at most")) << many.out;
  const ToolAnswer lone = run(sim("--one-process", "block_cyclic"));
  EXPECT_TRUE(lone.has("--one-process is for several ranks")) << lone.out;
  const ToolAnswer other = run(sim("-n 2 --one-process", "ring"));
  EXPECT_NE(other.status, 0);
  EXPECT_TRUE(other.has("give the rank as a function by consort_rank_main()")) << other.out;
  std::ofstream(machine_) << "[[device]]\nname = \"cpu\"\nhost = true\nclass = \"cpu\"\nmemory = \"4G\"\n";
  const ToolAnswer none = run(sim("-n 2", "block_cyclic"));
  EXPECT_NE(none.status, 0);
  EXPECT_TRUE(none.has("has no [network]")) << none.out;
}

}  // namespace
