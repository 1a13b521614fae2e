// `consort report`: what it finds in runs with a planted problem, that it finds nothing in healthy ones, its figures, and
// its page.
#include <consort/consort.h>

#include <nlohmann/json.hpp>

#include "tools/command.hpp"
#include "tools/planted_run.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::PlantedRun, consort_test::read_file;
using Json = nlohmann::json;

class Report : public consort_test::Tools {
 protected:
  std::string file(PlantedRun &run) const {
    const std::string path = folder_ / "run.trace";
    run.write(path);
    return path;
  }
  Json json(PlantedRun &made) const {
    const ToolAnswer a = run("report " + file(made) + " --json");
    EXPECT_EQ(a.status, 0) << a.out;
    return Json::parse(a.out, nullptr, false);
  }
  static std::string rules(const Json &j) {
    std::string all;
    for (const Json &f : j["findings"]) all += (all.empty() ? "" : " ") + f["rule"].get<std::string>();
    return all;
  }
  // Rules depend on sizes, memory errors do not.
  static std::vector<uint32_t> sizes() { return CONSORT_SAN ? std::vector{1u} : std::vector{1u, 3u, 8u}; }
  // The rule names the planted cause first, at three sizes and on two machines.
  template <class Make> void expect_first(const char *rule, Make make_it) {
    for (const uint32_t workers : {4u, 12u})
      for (const uint32_t size : sizes()) {
        PlantedRun made;
        make_it(made, workers, size);
        const Json j = json(made);
        EXPECT_EQ(rules(j).substr(0, rules(j).find(' ')), rule) << rules(j) << "\nof " << workers << " workers, size " << size << "\n" << j["findings"].dump(1);
      }
  }
  template <class Make> void expect_none(Make make_it) {
    for (const uint32_t workers : {4u, 12u})
      for (const uint32_t size : sizes()) {
        PlantedRun made;
        make_it(made, workers, size);
        const Json j = json(made);
        EXPECT_EQ(rules(j), "") << "of " << workers << " workers, size " << size << "\n" << j["findings"].dump(1);
      }
  }
};

// -- planted problems --------------------------------------------------------------------------------------------------

TEST_F(Report, NamesSmallTasks) {
  expect_first("small-tasks", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    r.gap = 500;
    const uint32_t k = r.kind("tiny", {{"cpu", 900}});
    for (uint32_t i = 0; i < 2000 * size; ++i) r.task(k, {}, 1 + i);
  });
}

TEST_F(Report, NamesASlowWorker) {
  expect_first("slow-worker", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    r.workers[1].slower = 2.6;
    const uint32_t k = r.kind("sweep", {{"cpu", 100000}});
    std::vector<uint32_t> parts;
    for (uint32_t i = 0; i < workers; ++i) parts.push_back(r.datum(1 << 16));
    for (uint32_t step = 0; step < 10 * size; ++step)  // each part stays on its worker, with a barrier of neighbours
      for (uint32_t i = 0; i < workers; ++i) r.task(k, {{parts[i], 'u'}, {parts[(i + 1) % workers], 'r'}}).only = i;
  });
}

TEST_F(Report, NamesASerialChain) {
  expect_first("serial-chain", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t step = r.kind("step", {{"cpu", 200000}}), side = r.kind("side", {{"cpu", 50000}}), x = r.datum(8);
    for (uint32_t i = 0; i < 30 * size; ++i) {
      r.task(step, {{x, 'u'}});
      r.task(side, {{x, 'r'}});
    }
  });
}

TEST_F(Report, NamesAMissingPriority) {
  expect_first("missing-priority", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t link = r.kind("link", {{"cpu", 400000}}), filler = r.kind("filler", {{"cpu", 100000}}), x = r.datum(1 << 20);
    const uint32_t n = 12 * size;
    for (uint32_t i = 0; i < n * 4 * workers; ++i) r.task(filler, {}, 1 + i);  // all are ahead in the queue
    for (uint32_t i = 0; i < n; ++i) r.task(link, {{x, 'u'}}, n * 4 * workers + 2 + i);
  });
}

TEST_F(Report, NamesSlowSubmission) {
  expect_first("submission", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t k = r.kind("work", {{"cpu", 100000}});
    for (uint32_t i = 0; i < 100 * size; ++i) r.task(k, {}, 1 + i * 60000);
  });
}

TEST_F(Report, NamesWrongEstimates) {
  expect_first("wrong-estimates", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    r.scheduler = "dmda";
    r.expected = 0.2;
    const uint32_t k = r.kind("solve", {{"cpu", 150000}});
    for (uint32_t i = 0; i < 20 * size * workers; ++i) r.task(k);
  });
}

TEST_F(Report, NamesASchedulerThatDoesNotKnowTheUnits) {
  expect_first("wrong-policy", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    r.cards(workers / 4);
    const uint32_t k = r.kind("gemm", {{"cpu", 3000000}, {"gpu", 100000}});
    for (uint32_t i = 0; i < 30 * size * workers; ++i) r.task(k);
  });
}

TEST_F(Report, NamesAMissingImplementation) {
  expect_first("missing-implementation", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    r.cards(workers / 2);
    r.scheduler = "dmda";
    const uint32_t k = r.kind("assemble", {{"cpu", 500000}}), other = r.kind("scale", {{"cpu", 400000}, {"gpu", 50000}});
    for (uint32_t i = 0; i < 20 * size * workers; ++i) r.task(i % 10 ? k : other);
  });
}

TEST_F(Report, NamesAnUnevenEnd) {
  expect_first("uneven-end", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t k = r.kind("block", {{"cpu", 100000}});
    for (uint32_t i = 0; i < 10 * size * workers; ++i) r.task(k);
    r.task(k).factor = 12 * size;
  });
}

TEST_F(Report, NamesAMemoryLimit) {
  expect_first("memory-limit", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cards(workers / 2);
    r.limit = 12 << 20;
    const uint32_t k = r.kind("update", {{"gpu", 100000}});
    std::vector<uint32_t> d;
    for (uint32_t i = 0; i < 20 * workers; ++i) d.push_back(r.datum(1 << 20));
    for (uint32_t round = 0; round < 2 + size; ++round)
      for (uint32_t i = 0; i < d.size(); ++i) r.task(k, {{d[i], 'r'}}).only = i % (workers / 2);
  });
}

TEST_F(Report, NamesDataThatGoToAndFro) {
  expect_first("ping-pong", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers / 2);
    r.cards(workers / 2);
    const uint32_t on_card = r.kind("push", {{"gpu", 100000}}), on_core = r.kind("check", {{"cpu", 100000}});
    std::vector<uint32_t> d;
    for (uint32_t i = 0; i < workers / 2; ++i) d.push_back(r.datum(2 << 20));
    for (uint32_t step = 0; step < 10 * size; ++step)
      for (uint32_t i = 0; i < d.size(); ++i) {
        r.task(on_card, {{d[i], 'u'}}).only = workers / 2 + i;
        r.task(on_core, {{d[i], 'u'}}).only = i;
      }
  });
}

TEST_F(Report, NamesAFullLink) {
  expect_first("full-link", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cards(workers / 2);
    r.shared = true;
    const uint32_t k = r.kind("stream", {{"gpu", 60000}});
    for (uint32_t i = 0; i < 20 * size * workers; ++i) r.task(k, {{r.datum(1 << 20), 'r'}});
  });
}

TEST_F(Report, NamesSlowCopies) {
  expect_first("slow-copies", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cards(workers / 2);
    r.nominal = 12;
    r.bytes_per_ns = 3;
    const uint32_t k = r.kind("filter", {{"gpu", 800000}});
    for (uint32_t i = 0; i < 10 * size * workers; ++i) r.task(k, {{r.datum(1 << 20), 'r'}});
  });
}

TEST_F(Report, NamesTasksThatAreWithheld) {
  expect_first("withheld-tasks", [](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    r.scheduler = "mine";
    r.refuses = [workers](uint32_t w, const PlantedRun::Task &) { return w >= workers / 2; };
    const uint32_t k = r.kind("work", {{"cpu", 200000}});
    for (uint32_t i = 0; i < 10 * size * workers; ++i) r.task(k);
  });
}

TEST_F(Report, NamesFailures) {
  PlantedRun r;
  r.cores(4);
  const uint32_t k = r.kind("work", {{"cpu", 200000}});
  for (uint32_t i = 0; i < 40; ++i) r.task(k).status = i == 7 ? -5 : 0;
  const Json j = json(r);
  ASSERT_EQ(rules(j), "failed-tasks");
  EXPECT_EQ(j["findings"][0]["title"], "1 task failed");
}

// -- healthy runs ------------------------------------------------------------------------------------------------------

TEST_F(Report, FindsNothingInIndependentTasks) {
  expect_none([](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t k = r.kind("work", {{"cpu", 50000}});
    for (uint32_t i = 0; i < 40 * size * workers; ++i) r.task(k).factor = 1 + 0.1 * (i % 3);
  });
}

TEST_F(Report, FindsNothingInAWideWavefront) {
  expect_none([](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t k = r.kind("cell", {{"cpu", 40000}}), n = workers * (10 + 4 * size);
    std::vector<uint32_t> d;
    for (uint32_t i = 0; i < n * n; ++i) d.push_back(r.datum(4096));
    for (uint32_t y = 0; y < n; ++y)
      for (uint32_t x = 0; x < n; ++x) {
        std::vector<PlantedRun::Use> uses = {{d[y * n + x], 'w'}};
        if (x) uses.push_back({d[y * n + x - 1], 'r'});
        if (y) uses.push_back({d[(y - 1) * n + x], 'r'});
        r.task(k, uses);
      }
  });
}

TEST_F(Report, FindsNothingInAStencil) {
  expect_none([](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t k = r.kind("stencil", {{"cpu", 60000}}), n = workers * 6;
    std::vector<uint32_t> a[2];
    for (auto &side : a)
      for (uint32_t i = 0; i < n; ++i) side.push_back(r.datum(1 << 16));
    for (uint32_t step = 0; step < 6 * size; ++step)
      for (uint32_t i = 0; i < n; ++i)
        r.task(k, {{a[step % 2][i], 'r'}, {a[step % 2][(i + 1) % n], 'r'}, {a[step % 2][(i + n - 1) % n], 'r'}, {a[1 - step % 2][i], 'w'}});
  });
}

TEST_F(Report, FindsNothingInForksAndJoins) {
  expect_none([](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t fork = r.kind("part", {{"cpu", 50000}}), join = r.kind("join", {{"cpu", 20000}}), x = r.datum(64);
    for (uint32_t step = 0; step < 5 * size; ++step) {
      std::vector<PlantedRun::Use> all = {{x, 'u'}};
      for (uint32_t i = 0; i < 20 * workers; ++i) {
        const uint32_t d = r.datum(4096);
        r.task(fork, {{x, 'r'}, {d, 'w'}});
        all.push_back({d, 'r'});
      }
      r.task(join, all);
    }
  });
}

TEST_F(Report, FindsNothingInPipelines) {
  expect_none([](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t a = r.kind("read", {{"cpu", 30000}}), b = r.kind("filter", {{"cpu", 90000}}), c = r.kind("write", {{"cpu", 30000}});
    for (uint32_t i = 0; i < 30 * size * workers; ++i) {
      const uint32_t d = r.datum(1 << 16);
      r.task(a, {{d, 'w'}});
      r.task(b, {{d, 'u'}});
      r.task(c, {{d, 'r'}});
    }
  });
}

TEST_F(Report, FindsNothingInATreeReduction) {
  expect_none([](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t leaf = r.kind("leaf", {{"cpu", 200000}}), add = r.kind("add", {{"cpu", 20000}});
    std::vector<uint32_t> level;
    for (uint32_t i = 0; i < 32 * size * workers; ++i) level.push_back(r.datum(4096)), r.task(leaf, {{level.back(), 'w'}});
    for (; level.size() > 1; level.resize((level.size() + 1) / 2))
      for (size_t i = 0; i + 1 < level.size(); i += 2) {
        r.task(add, {{level[i], 'u'}, {level[i + 1], 'r'}});
        level[i / 2] = level[i];
      }
  });
}

TEST_F(Report, FindsNothingInAGoodMixOfUnits) {
  expect_none([](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    r.cards(1);
    r.scheduler = "dmda";
    r.expected = 1.05;
    const uint32_t k = r.kind("gemm", {{"cpu", 800000}, {"gpu", 100000}});
    for (uint32_t i = 0; i < 40 * size * workers; ++i) r.task(k);
  });
}

TEST_F(Report, FindsNothingOnCardsWithEnoughMemory) {
  expect_none([](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cards(workers / 2);
    r.limit = uint64_t{1} << 30;
    const uint32_t k = r.kind("update", {{"gpu", 400000}});
    std::vector<uint32_t> d;
    for (uint32_t i = 0; i < 6 * workers; ++i) d.push_back(r.datum(1 << 18));
    for (uint32_t round = 0; round < 6 * size; ++round)
      for (uint32_t i = 0; i < d.size(); ++i) r.task(k, {{d[i], 'u'}}).only = i % (workers / 2);
  });
}

TEST_F(Report, FindsNothingInATiledFactorizationWithPriorities) {
  expect_none([](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    r.scheduler = "prio";
    const uint32_t n = workers * 2 + 8 + 2 * size;
    const uint32_t potrf = r.kind("potrf", {{"cpu", 40000}}), trsm = r.kind("trsm", {{"cpu", 60000}}), gemm = r.kind("gemm", {{"cpu", 100000}});
    std::vector<uint32_t> d;
    for (uint32_t i = 0; i < n * n; ++i) d.push_back(r.datum(1 << 16));
    const auto at = [&](uint32_t i, uint32_t j) { return d[i * n + j]; };
    for (uint32_t k = 0; k < n; ++k) {
      r.task(potrf, {{at(k, k), 'u'}}).priority = static_cast<int32_t>(3 * (n - k));
      for (uint32_t i = k + 1; i < n; ++i) r.task(trsm, {{at(k, k), 'r'}, {at(i, k), 'u'}}).priority = static_cast<int32_t>(2 * (n - k) + n - i);
      for (uint32_t i = k + 1; i < n; ++i)
        for (uint32_t j = k + 1; j <= i; ++j)
          r.task(gemm, {{at(i, k), 'r'}, {at(j, k), 'r'}, {at(i, j), 'u'}}).priority = static_cast<int32_t>(2 * (n - j) + n - i);
    }
  });
}

TEST_F(Report, FindsNothingInALoopThatIsSubmittedAhead) {
  expect_none([](PlantedRun &r, uint32_t workers, uint32_t size) {
    r.cores(workers);
    const uint32_t k = r.kind("map", {{"cpu", 70000}});
    std::vector<uint32_t> d;
    for (uint32_t i = 0; i < 4 * workers; ++i) d.push_back(r.datum(1 << 12));
    for (uint32_t i = 0; i < 60 * size * workers; ++i) r.task(k, {{d[i % d.size()], 'u'}}).factor = 1 + 0.05 * (i % 5);
  });
}

// -- figures -----------------------------------------------------------------------------------------------------------

constexpr const char *kHead = "consort trace 1\nclock\treal\nscheduler\tdmda\nworker\t0\tcpu0\tcpu\nworker\t1\tgpu<0>\tgpu\n"
                              "space\t0\tram\nspace\t1\tcard\ncodelet\t0\tgemm\nhome\t0\nat\t0\t0\nat\t1\t1\n"
                              "kind\t0\tgemm\tab\t8\ntime\t0\t0\t5\ntime\t0\t1\t5\ndatum\td1\t1024\t0\t0\n";

TEST_F(Report, AccountsForEachNanosecondOfAWorker) {
  // a1 on cpu0, then a2 behind it on the card: it waits for a1, then for its data, then is not scheduled for a while.
  std::ofstream(folder_ / "t") << kHead
                               << "task\ta1\t0\t0\tud1\t\t1000\ntask\ta2\t0\t5\trd1\t\t1500\ntask\ta3\t0\t0\t\ta2\t9000\nsubmitted\t1000\t0\n"
                                  "run\t0\t2000\t4000\t0\ta1\t0\t-1\t0\nrun\t1\t6000\t7000\t0\ta2\t0\t500\t0\nrun\t0\t10000\t12000\t0\ta3\t0\t-1\t0\n"
                                  "copy\t0\t1\t4200\t5000\t1024\td1\t0\td\nfetch\t1\t4100\t5000\ta2\nsleep\t0\t4500\t6500\n"
                                  "evict\t1\t8000\td1\t1024\nused\t1\t4100\t1024\t4096\nend\t0\n";
  const ToolAnswer a = run("report " + folder_ / "t" + " --json");
  ASSERT_EQ(a.status, 0) << a.out;
  const Json j = Json::parse(a.out);
  EXPECT_EQ(j["span_ns"], 10000);
  const Json &core = j["workers"][0], &card = j["workers"][1];
  EXPECT_EQ(core["busy_ns"], 4000);
  EXPECT_EQ(core["asleep_ns"], 2000);
  // cpu0, 4000 to 10000: a2 was ready until 6000, nothing was submitted until 9000, a3 was ready then.
  EXPECT_EQ(core["idle"]["scheduling_ns"], 3000) << j.dump(1);
  EXPECT_EQ(core["idle"]["submission_ns"], 3000);
  // card: from 2000 order, 4000 ready, 4100 to 5000 data, then ready until 6000; 7000 to 12000.
  EXPECT_EQ(card["idle"]["order_ns"], 2000);
  EXPECT_EQ(card["idle"]["data_ns"], 900);
  EXPECT_EQ(card["idle"]["scheduling_ns"], 100 + 1000 + 1000);
  EXPECT_EQ(card["idle"]["submission_ns"], 2000);
  EXPECT_EQ(card["idle"]["end_ns"], 2000);
  for (const Json &w : j["workers"]) {
    int64_t sum = w["busy_ns"];
    for (const Json &ns : w["idle"]) sum += ns.get<int64_t>();
    EXPECT_EQ(sum, 10000) << w;
  }
  EXPECT_EQ(j["critical_path"]["longest_chain_ns"], 5000);
  EXPECT_EQ(j["critical_path"]["chain_tasks"], 3);
  EXPECT_EQ(j["links"][0]["demand_bytes"], 1024);
  EXPECT_EQ(j["memories"][0]["limit_bytes"], 4096);
  EXPECT_EQ(j["memories"][0]["evictions"], 1);
  EXPECT_EQ(j["codelets"][0]["codelet"], "gemm");
}

TEST_F(Report, OrdersTasksOnADatumAndItsParts) {
  // a1 writes the whole; a2 and a3 its parts, at once; a4 reads the whole. The longest chain passes one part.
  std::ofstream(folder_ / "t") << kHead
                               << "datum\te1\t512\t-1\td1\ndatum\te2\t512\t-1\td1\n"
                                  "task\ta1\t0\t0\twd1\t\t1000\ntask\ta2\t0\t0\tue1\t\t1000\ntask\ta3\t0\t0\tue2\t\t1000\ntask\ta4\t0\t0\trd1\t\t1000\nsubmitted\t1000\t0\n"
                                  "run\t0\t1000\t2000\t0\ta1\t0\t-1\t0\nrun\t0\t2000\t5000\t0\ta2\t0\t-1\t0\nrun\t1\t2000\t4000\t0\ta3\t0\t-1\t0\nrun\t1\t5000\t6000\t0\ta4\t0\t-1\t0\nend\t0\n";
  const ToolAnswer a = run("report " + folder_ / "t" + " --json");
  ASSERT_EQ(a.status, 0) << a.out;
  const Json j = Json::parse(a.out);
  EXPECT_EQ(j["critical_path"]["longest_chain_ns"], 1000 + 3000 + 1000);
  EXPECT_EQ(j["critical_path"]["chain_tasks"], 3);
}

TEST_F(Report, CommutingTasksHaveNoOrder) {
  std::ofstream(folder_ / "t") << kHead
                               << "task\ta1\t0\t0\twd1\t\t1000\ntask\ta2\t0\t0\tcd1\t\t1000\ntask\ta3\t0\t0\tcd1\t\t1000\ntask\ta4\t0\t0\trd1\t\t1000\nsubmitted\t1000\t0\n"
                                  "run\t0\t1000\t2000\t0\ta1\t0\t-1\t0\nrun\t0\t2000\t5000\t0\ta2\t0\t-1\t0\nrun\t1\t2000\t4000\t0\ta3\t0\t-1\t0\nrun\t1\t5000\t6000\t0\ta4\t0\t-1\t0\nend\t0\n";
  const ToolAnswer a = run("report " + folder_ / "t" + " --json");
  ASSERT_EQ(a.status, 0) << a.out;
  EXPECT_EQ(Json::parse(a.out)["critical_path"]["longest_chain_ns"], 5000);
}

TEST_F(Report, ReadsTracesOfOlderVersions) {
  std::ofstream(folder_ / "t") << "consort trace 1\nclock\treal\nscheduler\teager\nworker\t0\tcpu0\tcpu\nspace\t0\tram\nspace\t1\tcard\ncodelet\t0\twork\n"
                                  "run\t0\t1000\t3000\t0\ta1\t0\t-1\t0\ncopy\t0\t1\t1000\t2000\t64\td1\t0\nend\t3\n";
  const ToolAnswer a = run("report " + folder_ / "t");
  EXPECT_EQ(a.status, 0) << a.out;
  for (const char *part : {"1 task, 1 copy in 2 us of real time, scheduler eager", "Nothing conspicuous was found", "CONSORT_TRACE_GRAPH=true", "3 events were dropped"})
    EXPECT_TRUE(a.has(part)) << part << "\nis not in\n" << a.out;
}

TEST_F(Report, TextNamesFindingsAndRemedies) {
  PlantedRun r;
  r.cores(4);
  const uint32_t k = r.kind("tiny", {{"cpu", 900}});
  r.gap = 500;
  for (uint32_t i = 0; i < 2000; ++i) r.task(k, {}, 1 + i);
  const ToolAnswer a = run("report " + file(r));
  EXPECT_EQ(a.status, 0) << a.out;
  for (const char *part : {"1. Tasks are too small (small-tasks)", "A task takes 900 ns on average, and 500 ns pass between two", "> Give a task more work", "Workers were busy"})
    EXPECT_TRUE(a.has(part)) << part << "\nis not in\n" << a.out;
}

// -- the page ----------------------------------------------------------------------------------------------------------

TEST_F(Report, PageIsOneFileWithoutANetwork) {
  PlantedRun r;
  r.cores(2);
  const uint32_t k = r.kind("</script><b>&", {{"cpu", 90000}});
  for (uint32_t i = 0; i < 20; ++i) r.task(k);
  const std::string page = folder_ / "run.html";
  const ToolAnswer a = run("report " + file(r) + " -o " + page);
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("run.html: 20 tasks, 0 findings")) << a.out;
  const std::string text = read_file(page);
  EXPECT_TRUE(text.starts_with("<!DOCTYPE html>"));
  for (const char *mark : {"/*CSS*/", "<!--DATA-->", "/*SCRIPT*/", "</script><b>&", "src=\"http", "href=\"http", "@import"})
    EXPECT_EQ(text.find(mark), text.npos) << mark;
  EXPECT_NE(text.find("default-src 'none'"), text.npos);
}

// Clicks, keys, search, zoom, themes, a phone's width: tests/tools/report_page.py says what it checks.
TEST_F(Report, PageWorksInABrowser) {
  PlantedRun r;
  r.cores(3);
  r.cards(2);
  r.limit = 8 << 20;
  r.expected = 0.9;
  const uint32_t potrf = r.kind("potrf", {{"cpu", 140000}}), trsm = r.kind("trsm", {{"cpu", 460000}, {"gpu", 64000}}), gemm = r.kind("gemm", {{"cpu", 870000}, {"gpu", 60000}});
  constexpr uint32_t kTiles = 10;
  std::vector<uint32_t> d;
  for (uint32_t i = 0; i < kTiles * kTiles; ++i) d.push_back(r.datum(1 << 20));
  for (uint32_t k = 0; k < kTiles; ++k) {
    r.task(potrf, {{d[k * kTiles + k], 'u'}});
    for (uint32_t i = k + 1; i < kTiles; ++i) r.task(trsm, {{d[k * kTiles + k], 'r'}, {d[i * kTiles + k], 'u'}}).factor = 1 + 0.05 * (i % 4);
    for (uint32_t i = k + 1; i < kTiles; ++i)
      for (uint32_t j = k + 1; j <= i; ++j) r.task(gemm, {{d[i * kTiles + k], 'r'}, {d[j * kTiles + k], 'r'}, {d[i * kTiles + j], 'u'}});
  }
  const std::string script = CONSORT_TEST_SOURCE_DIR "/tools/report_page.py";
  const std::string command = "command -v python3 >/dev/null || exit 0; python3 " + script + " " CONSORT_BIN_DIR "/consort " + file(r) + " >" + folder_ / "faults" + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(folder_ / "faults");
}

TEST_F(Report, RefusesWhatItCannotReadOrWrite) {
  PlantedRun r;
  r.cores(1);
  r.task(r.kind("work", {{"cpu", 90000}}));
  EXPECT_TRUE(run("report " + file(r) + " -o " + folder_ / "no/such.html").has("cannot be written"));
  EXPECT_EQ(run("report " + folder_ / "none").status, 1);
  EXPECT_EQ(run("report").status, 2);
  std::ofstream(folder_ / "t") << kHead << "task\ta1\t0\t0\tzd1\t\t1000\nend\t0\n";
  EXPECT_TRUE(run("report " + folder_ / "t").has("\"zd1\" is not a use of a datum"));
  std::ofstream(folder_ / "t") << kHead << "copy\t0\t1\t1\t2\t3\td1\t0\tx\nend\t0\n";
  EXPECT_TRUE(run("report " + folder_ / "t").has("\"x\" is not a reason of a copy"));
  std::ofstream(folder_ / "t") << kHead << "fetch\t7\t1\t2\ta1\nend\t0\n";
  EXPECT_TRUE(run("report " + folder_ / "t").has("\"7\" is not a valid number here"));
}

TEST_F(Report, EmptyTracesHaveAReport) {
  std::ofstream(folder_ / "t") << "consort trace 1\nclock\treal\nscheduler\teager\nend\t0\n";
  EXPECT_TRUE(run("report " + folder_ / "t").has("No task ran."));
  EXPECT_EQ(run("report " + folder_ / "t" + " -o " + folder_ / "t.html").status, 0);
  EXPECT_EQ(run("report " + folder_ / "t" + " --json").status, 0);
}

}  // namespace
