// `consort diff` and `consort why` on runs of which it is known what happened.
#include <consort/consort.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/command.hpp"
#include "tools/planted_run.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::PlantedRun;
using Json = nlohmann::json;

class Runs : public consort_test::Tools {
 protected:
  std::string file(const char *name, PlantedRun &run) const {
    const std::string path = folder_ / name;
    run.write(path);
    return path;
  }
  Json json(const std::string &command) const {
    const ToolAnswer a = run(command + " --json");
    EXPECT_EQ(a.status, 0) << a.out;
    return Json::parse(a.out, nullptr, false);
  }
  // The causes add up to the difference of the spans.
  static void expect_complete(const Json &j) {
    double sum = 0;
    for (const Json &c : j["changes"]) sum += c["ns"].get<double>();
    const double longer = j["span_ns"][1].get<double>() - j["span_ns"][0].get<double>();
    EXPECT_LE(std::fabs(sum - longer), 1 + static_cast<double>(j["changes"].size())) << j.dump(1);
  }
  // 40 rounds of four tasks on one core each, behind one another through a datum of each core.
  static void fill(PlantedRun &r, double ns, uint32_t rounds = 40) {
    r.cores(4);
    const uint32_t work = r.kind("work", {{"cpu", ns}}), other = r.kind("other", {{"cpu", 20000}});
    std::vector<uint32_t> d;
    for (uint32_t w = 0; w < 4; ++w) d.push_back(r.datum(4096));
    for (uint32_t i = 0; i < rounds; ++i)
      for (uint32_t w = 0; w < 4; ++w) r.task(i % 2 ? other : work, {{d[w], 'u'}}, 1).only = w;
  }
};

TEST_F(Runs, ASlowerCodeletIsTheCause) {
  PlantedRun a, b;
  fill(a, 50000), fill(b, 80000);
  const std::string first = file("a", a), second = file("b", b);
  const Json j = json("diff " + first + " " + second);
  expect_complete(j);
  const Json &top = j["changes"][0];
  EXPECT_EQ(top["cause"], "time");
  EXPECT_EQ(top["codelet"], "work");
  EXPECT_EQ(top["class"], "cpu");
  EXPECT_EQ(top["mean_ns"], Json::array({50000, 80000}));
  EXPECT_EQ(top["tasks"], Json::array({80, 80}));
  EXPECT_NEAR(top["ns"].get<double>(), 20 * 30000, 1000);
  const ToolAnswer text = run("diff " + first + " " + second);
  EXPECT_TRUE(text.has("work on cpu takes longer: 50 us -> 80 us")) << text.out;
  EXPECT_TRUE(text.has("longer by")) << text.out;
  EXPECT_TRUE(run("diff " + second + " " + first).has("work on cpu takes less time: 80 us -> 50 us"));
}

TEST_F(Runs, MoreTasksAreTheCause) {
  PlantedRun a, b;
  fill(a, 50000, 40), fill(b, 50000, 60);
  const Json j = json("diff " + file("a", a) + " " + file("b", b));
  expect_complete(j);
  EXPECT_EQ(j["changes"][0]["cause"], "tasks");
  EXPECT_EQ(j["changes"][0]["codelet"], "work");
  EXPECT_EQ(j["changes"][0]["tasks"], Json::array({80, 120}));
}

TEST_F(Runs, IdleWorkersAreTheCause) {
  PlantedRun a, b;
  fill(a, 50000), fill(b, 50000);
  const uint32_t last = b.kind("last", {{"cpu", 1000000}});
  b.task(last, {{0, 'u'}}, 1).only = 0;  // the other three have nothing to do meanwhile
  const Json j = json("diff " + file("a", a) + " " + file("b", b));
  expect_complete(j);
  EXPECT_EQ(j["changes"][0]["cause"], "idle");
  EXPECT_EQ(j["changes"][0]["reason"], "end");
  EXPECT_NEAR(j["changes"][0]["ns"].get<double>(), 750000, 5000);
  EXPECT_EQ(j["findings_come"], Json::array({"serial-chain"}));
  EXPECT_TRUE(run("diff " + folder_ / "a" + " " + folder_ / "b").has("no task was left: "));
}

TEST_F(Runs, MoreBytesOnALinkShow) {
  PlantedRun a, b;
  for (PlantedRun *r : {&a, &b}) {
    r->cores(1), r->cards(1);
    const uint32_t k = r->kind("gemm", {{"gpu", 100000}});
    std::vector<uint32_t> d;
    for (uint32_t i = 0; i < 20; ++i) d.push_back(r->datum(1 << 20));
    if (r == &b) r->limit = 4 << 20;
    for (uint32_t round = 0; round < 3; ++round)
      for (const uint32_t x : d) r->task(k, {{x, 'r'}}).only = 1;
  }
  const Json j = json("diff " + file("a", a) + " " + file("b", b));
  expect_complete(j);
  EXPECT_EQ(j["links"][0]["from"], "ram");
  EXPECT_EQ(j["links"][0]["bytes"], Json::array({20 << 20, 60 << 20}));
  EXPECT_EQ(j["changes"][0]["reason"], "data");
}

TEST_F(Runs, OneRunDiffersFromItselfInNothing) {
  PlantedRun a;
  fill(a, 50000);
  const std::string path = file("a", a);
  const Json j = json("diff " + path + " " + path);
  EXPECT_EQ(j["changes"], Json::array());
  EXPECT_TRUE(run("diff " + path + " " + path).has("No cause takes a hundredth of the run."));
}

TEST_F(Runs, WorkersOfOneRunAloneAreTold) {
  PlantedRun a, b;
  fill(a, 50000), fill(b, 50000);
  b.cores(1), b.workers.back().name = "cpu9";
  const Json j = json("diff " + file("a", a) + " " + file("b", b));
  expect_complete(j);
  EXPECT_EQ(j["workers"][4]["name"], "cpu9");
  EXPECT_EQ(j["workers"][4]["tasks"], Json::array({nullptr, 0}));
  const auto fewer = std::find_if(j["changes"].begin(), j["changes"].end(), [](const Json &c) { return c["cause"] == "workers"; });
  ASSERT_NE(fewer, j["changes"].end());
  EXPECT_EQ((*fewer)["workers"], Json::array({4, 5}));
  EXPECT_NEAR((*fewer)["ns"].get<double>(), 80 * 70000 * (1 / 5. - 1 / 4.), 1000) << "the same work";
}

TEST_F(Runs, WhyTellsWhatATaskWaitedFor) {
  PlantedRun r;
  r.cores(2);
  const uint32_t make = r.kind("make", {{"cpu", 100000}}), filler = r.kind("filler", {{"cpu", 300000}}), use = r.kind("use", {{"cpu", 50000}});
  const uint32_t x = r.datum(1 << 16);
  r.task(make, {{x, 'w'}}, 1).only = 0;
  r.task(filler, {}, 2).only = 1;
  r.task(use, {{x, 'r'}}, 3).only = 1;  // ready after 100 us, but its core is busy for 300
  const std::string path = file("a", r);
  const Json j = json("why " + path + " use");
  EXPECT_EQ(j["worker"], "cpu1");
  EXPECT_EQ(j["last_predecessor"], "100000000");
  EXPECT_EQ(j["by_datum"], "100");
  EXPECT_NEAR(j["waited"]["worker_ns"].get<double>(), 200000, 2000);
  EXPECT_EQ(j["waited"]["data_ns"], 0);
  EXPECT_EQ(j["places"][0]["worker"], "cpu0");
  EXPECT_EQ(j["places"][0]["busy_until_ns"], nullptr);
  EXPECT_EQ(j["data"][0]["writer"], "100000000");
  EXPECT_EQ(json("why " + path + " " + j["task"].get<std::string>()), j) << "its number says the same";
  const ToolAnswer text = run("why " + path + " use");
  EXPECT_TRUE(text.has("when task 100000000 (make on cpu0) had ended: both use datum 100 (64.0 KiB)")) << text.out;
  EXPECT_TRUE(text.has("cpu1 ran 1 other task")) << text.out;
  EXPECT_TRUE(text.has("cpu0 would have taken 50 us; it was free.")) << text.out;
}

TEST_F(Runs, WhyTellsOfDataOnTheirWay) {
  PlantedRun r;
  r.cores(1), r.cards(1);
  r.task(r.kind("gemm", {{"cpu", 900000}, {"gpu", 100000}}), {{r.datum(4 << 20), 'r'}}, 1).only = 1;
  const Json j = json("why " + file("a", r) + " gemm");
  EXPECT_GT(j["waited"]["data_ns"].get<double>(), 400000) << "4 MiB at 10 GB/s";
  EXPECT_EQ(j["data"][0]["copies"][0]["from"], "ram");
  EXPECT_EQ(j["places"][0]["worker"], "cpu0");
  EXPECT_EQ(j["places"][0]["expected_ns"], 900000);
}

TEST_F(Runs, WrongCallsAreRefused) {
  PlantedRun r;
  fill(r, 50000);
  const std::string path = file("a", r);
  EXPECT_EQ(run("diff " + path).status, 2);
  EXPECT_EQ(run("diff " + path + " " + folder_ / "none").status, 1);
  EXPECT_TRUE(run("why " + path + " wrok").has("(did you mean \"work\"?)"));
  EXPECT_EQ(run("why " + path + " ffffffff").status, 1);
  std::ofstream(folder_ / "t") << "consort trace 1\nclock\treal\nscheduler\teager\nend\t0\n";
  EXPECT_EQ(run("diff " + folder_ / "t" + " " + path).status, 0);
  EXPECT_EQ(run("why " + folder_ / "t" + " x").status, 1);
}

TEST_F(Runs, WithoutAGraphWhyTellsThePlace) {
  std::ofstream(folder_ / "t") << "consort trace 1\nclock\treal\nscheduler\tdm\nworker\t0\tcpu0\tcpu\nspace\t0\tram\ncodelet\t0\tk\n"
                                  "run\t0\t2000\t4000\t0\ta1\t0\t1500\t0\ndecision\t1000\ta1\t0\t1500\t3500\nend\t0\n";
  const ToolAnswer a = run("why " + folder_ / "t" + " a1");
  EXPECT_EQ(a.status, 0);
  EXPECT_TRUE(a.has("dm placed it on cpu0")) << a.out;
  EXPECT_TRUE(a.has("500 ns later")) << a.out;
  EXPECT_TRUE(a.has("CONSORT_TRACE_GRAPH=true")) << a.out;
}

}  // namespace
