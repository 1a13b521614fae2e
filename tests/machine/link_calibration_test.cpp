// Measured links: which values are rejected, and which are stored: link_calibration, link_calibration_file,
// link_benchmark.
#include <machine/link_calibration_file.hpp>
#include <machine/link_calibration.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "../api/harness.hpp"
#include "../plugins/stream/stream.h"
#include "../support/folder.hpp"
#include "../support/variable.hpp"
#include "support/read_file.hpp"

namespace {

using consort::LinkCalibrationFile;
using consort::LinkMeasurement;
using consort::implausibility_of;
using namespace consort_test;

class LinkCalibration : public ::testing::Test {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    const std::string links = folder_ / "consort/links";
    if (std::filesystem::exists(links))
      for (const auto &e : std::filesystem::directory_iterator(links)) found.push_back(e.path());
    return found;
  }
  const Folder folder_{"figures"};
  Variable cache_{"XDG_CACHE_HOME", folder_.path()};
};

// An idle runtime, and its warnings.
struct Started {
  std::vector<std::string> said;
  consort_runtime *rt = nullptr;
  explicit Started(const Pairs &pairs) {
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    s.log_user = &said;
    s.log = [](void *user, int32_t level, const char *text) {
      if (level <= 1) static_cast<std::vector<std::string> *>(user)->push_back(text);
    };
    need(consort_start(&s, &rt), "start");
  }
  Started(const Started &) = delete;
  ~Started() { consort_stop(rt); }
  consort_link_info link(uint32_t from, uint32_t to) const {
    consort_link_info l = {};
    l.size = sizeof l;
    EXPECT_EQ(consort_get_link(rt, from, to, &l), CONSORT_OK) << consort_error();
    return l;
  }
};

Pairs virtual_machine(const char *links, const char *devices = "2") {
  return {{"drivers", "sim"}, {"sim.cores", "1"}, {"sim.devices", devices}, {"time", "virtual"}, {"links", links},
          {"sim.bandwidth", "7G"}, {"sim.latency", "9us"}, {"sim.peer", "3G"}};
}

TEST(LinkPlausibility, RejectsImpossibleValues) {
  const LinkMeasurement good{1e10, 1e4, 1};
  EXPECT_EQ(implausibility_of(good, good, {}), "");
  EXPECT_NE(implausibility_of({0, 1e4, 1}, good, {}), "");
  EXPECT_NE(implausibility_of({1e16, 1e4, 1}, {}, {}).find("bandwidth"), std::string::npos);
  EXPECT_NE(implausibility_of({1e10, 0, 1}, good, {}).find("latency"), std::string::npos);
  EXPECT_NE(implausibility_of({1e10, -5, 1}, good, {}), "");
  EXPECT_NE(implausibility_of({1e10, 1e4, 3}, good, {}).find("repeats"), std::string::npos);
  EXPECT_NE(implausibility_of({2e12, 1e4, 1}, good, {}).find("driver's word"), std::string::npos);
  EXPECT_EQ(implausibility_of({1e7, 1e6, 1}, good, {}), "") << "slower than told is how things are";
}

TEST(LinkPlausibility, RejectsOutliersAmongLinks) {
  const std::vector<LinkMeasurement> others{{1e10, 1e4, 1}, {1.1e10, 1.2e4, 1}, {0.9e10, 0.9e4, 1}};
  EXPECT_EQ(implausibility_of({2e9, 5e4, 1}, {}, others), "");
  EXPECT_NE(implausibility_of({9e7, 1e4, 1}, {}, others).find("links like it have 10.000 GB/s"), std::string::npos);
  EXPECT_NE(implausibility_of({1e10, 2e6, 1}, {}, others).find("links like it have 10.00 us"), std::string::npos);
  EXPECT_NE(implausibility_of({1e10, 50, 1}, {}, others), "");
}

TEST_F(LinkCalibration, ReadsBackFilesAndIgnoresBrokenFiles) {
  const LinkCalibrationFile file(folder_ / "a/b", "some", "what it is about\nand more\n");
  LinkCalibrationFile::Figures found;
  std::string why;
  EXPECT_EQ(file.read(&found, &why), LinkCalibrationFile::State::kAbsent);
  ASSERT_TRUE(file.write({{{"ram", "far: /a b"}, {1.25e10, 8123.5, 1}}, {{"far: /a b", "ram"}, {7e9, 90, 1}}}));
  ASSERT_EQ(file.read(&found, &why), LinkCalibrationFile::State::kGood) << why;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ((found[{"ram", "far: /a b"}].bytes_per_s), 1.25e10);
  EXPECT_EQ((found[{"ram", "far: /a b"}].latency_ns), 8123.5);
  const std::string good = read_file(file.path());
  const auto with = [&](const std::string &text) {
    std::ofstream(file.path()) << text;
    LinkCalibrationFile::Figures kept;
    why.clear();
    const auto state = file.read(&kept, &why);
    EXPECT_TRUE(kept.empty());
    return state;
  };
  for (size_t n = 0; n < good.size(); n += 7)
    EXPECT_EQ(with(good.substr(0, n)), LinkCalibrationFile::State::kUnusable) << n;
  for (size_t n = 0; n < good.size(); n += 5) {
    std::string changed = good;
    changed[n] = changed[n] == '7' ? '8' : '7';
    EXPECT_EQ(with(changed), LinkCalibrationFile::State::kUnusable) << n;
  }
  std::string old = good;
  old.replace(good.find(" 1\n"), 3, " 0\n");
  EXPECT_EQ(with(old), LinkCalibrationFile::State::kUnusable);
  EXPECT_NE(why.find("version 0"), std::string::npos) << why;
  EXPECT_EQ(with(std::string(3 << 20, 'x')), LinkCalibrationFile::State::kUnusable);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "a/b"), {}), 1) << "nothing else is left";
}

TEST_F(LinkCalibration, UnwritableFolderIsReported) {
  std::ofstream(folder_ / "file") << "";
  EXPECT_NE(LinkCalibrationFile(folder_ / "file/x", "d", "a\n").write({}).error().text.find("cannot make the folder"),
            std::string::npos);
  EXPECT_TRUE(LinkCalibrationFile("", "d", "a\n").write({{{"a", "b"}, {1, 1, 1}}}));
}

TEST_F(LinkCalibration, ConcurrentReadersSeeWholeFiles) {
  const LinkCalibrationFile file(folder_ / "links", "some", "about\n");
  const auto figures = [](int writer, int turn) {  // of different lengths
    LinkCalibrationFile::Figures f;
    for (int i = 0; i <= (writer + turn) % 7; ++i) f[{"space " + std::to_string(i), "ram"}] = {1e9 + writer, 1e3 + turn, 1};
    return f;
  };
  ASSERT_TRUE(file.write(figures(0, 0)));
  std::vector<std::jthread> writers;
  for (int w = 0; w < 4; ++w)
    writers.emplace_back([&, w] {
      for (int turn = 0; turn < 50; ++turn) EXPECT_TRUE(file.write(figures(w, turn)));
    });
  for (int i = 0; i < 200; ++i) {
    LinkCalibrationFile::Figures found;
    std::string why;
    ASSERT_EQ(file.read(&found, &why), LinkCalibrationFile::State::kGood) << why;
    ASSERT_FALSE(found.empty());
    for (const auto &[ends, f] : found) EXPECT_EQ(f.latency_ns, found.begin()->second.latency_ns) << "one writer's words";
  }
  writers.clear();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "links"), {}), 1) << "nothing else is left";
}

TEST_F(LinkCalibration, UnwritableCacheWarns) {
  for (const char *cache : {"/proc/nowhere", "/dev/null"}) {
    cache_.set(cache);
    const Started m(virtual_machine("measure", "1"));
    EXPECT_EQ(m.link(0, 1).source, uint32_t{CONSORT_LINK_MEASURED});
    ASSERT_EQ(m.said.size(), 1u);
    EXPECT_NE(m.said[0].find("figures of links are not kept: cannot make the folder " + std::string(cache)), std::string::npos)
        << m.said[0];
    EXPECT_TRUE(Started(virtual_machine("stored", "1")).said.empty()) << "nothing stored is nothing wrong";
  }
}

TEST_F(LinkCalibration, VirtualTimeIsMeasuredExactly) {
  const Started m(virtual_machine("measure"));
  for (const auto &[from, to] : {std::pair{2u, 1u}, {1u, 2u}, {0u, 2u}, {2u, 0u}}) {
    const consort_link_info l = m.link(from, to);
    EXPECT_EQ(l.source, uint32_t{CONSORT_LINK_MEASURED});
    EXPECT_NEAR(static_cast<double>(l.bytes_per_s), 7e9, 7e9 * 1e-5);
    EXPECT_NEAR(l.latency_ns, 9000, 2);
  }
  EXPECT_NEAR(static_cast<double>(m.link(0, 1).bytes_per_s), 3e9, 3e9 * 1e-5);
  EXPECT_TRUE(m.said.empty());
  const auto first = files();
  ASSERT_EQ(first.size(), 2u) << "one for each device that has links";
  std::vector<std::string> texts;
  for (const auto &f : first) texts.push_back(read_file(f));
  const Started again(virtual_machine("again"));
  ASSERT_EQ(files().size(), first.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(read_file(first[i]), texts[i]);
}

TEST_F(LinkCalibration, StartUsesStoredValues) {
  EXPECT_EQ(Started(virtual_machine("stored")).link(0, 1).source, uint32_t{CONSORT_LINK_TOLD});
  EXPECT_TRUE(files().empty());
  Started(virtual_machine("measure"));
  const Started m(virtual_machine("stored"));
  EXPECT_EQ(m.link(0, 1).source, uint32_t{CONSORT_LINK_STORED});
  EXPECT_EQ(m.link(0, 1).told_bytes_per_s, 3'000'000'000u);
  EXPECT_EQ(Started(virtual_machine("measure")).link(1, 0).source, uint32_t{CONSORT_LINK_STORED}) << "once per machine";
  EXPECT_EQ(Started(virtual_machine("again")).link(1, 0).source, uint32_t{CONSORT_LINK_MEASURED});
  EXPECT_EQ(Started(virtual_machine("auto")).link(1, 0).source, uint32_t{CONSORT_LINK_TOLD}) << "the same run anywhere";
  Pairs others = virtual_machine("stored");
  others.push_back({"sim.bus", "20G"});
  EXPECT_EQ(Started(others).link(0, 1).source, uint32_t{CONSORT_LINK_TOLD}) << "other settings, another machine";
}

TEST_F(LinkCalibration, BrokenFileIsReportedAndRemeasured) {
  Started(virtual_machine("measure", "1"));
  ASSERT_EQ(files().size(), 1u);
  for (const auto &f : files()) std::filesystem::resize_file(f, std::filesystem::file_size(f) / 2);
  const Started started(virtual_machine("stored", "1"));
  EXPECT_EQ(started.link(0, 1).source, uint32_t{CONSORT_LINK_TOLD});
  ASSERT_EQ(started.said.size(), 1u);
  EXPECT_NE(started.said[0].find("cut short"), std::string::npos) << started.said[0];
  EXPECT_NE(started.said[0].find("consort topo --links measures"), std::string::npos) << started.said[0];
  const Started measured(virtual_machine("measure", "1"));
  EXPECT_EQ(measured.link(0, 1).source, uint32_t{CONSORT_LINK_MEASURED});
  ASSERT_EQ(measured.said.size(), 1u);
  EXPECT_NE(measured.said[0].find("measured again"), std::string::npos) << measured.said[0];
  EXPECT_TRUE(Started(virtual_machine("stored", "1")).said.empty());
}

// The double with a memory of its own; and one of its parameters.
struct Far {
  uint64_t counters[STREAM_COUNTERS] = {};
  char address[32];
  std::unique_ptr<Started> m;
  explicit Far(const char *key = "stream.depth", const char *value = "64") {
    std::snprintf(address, sizeof address, "%p", static_cast<void *>(counters));
    Pairs pairs = {{"plugins", "+" CONSORT_TEST_PLUGIN_DIR "/stream.so"}, {"drivers", "cpu, stream"},
                   {"cpu.workers", "1"}, {"cpu.topology", kFourCores}, {"stream.counters", address},
                   {"stream.space", "apart"}, {"pump", "manual"}, {"links", "measure"}};
    pairs.push_back({key, value});
    m = std::make_unique<Started>(pairs);
  }
};

// A driver that claims 1 B/s: any measurement, on a machine however busy, is over a hundred times as much, or rejected.
TEST_F(LinkCalibration, RejectsValuesFarFromTheDrivers) {
  const Far far("stream.bandwidth", "1");
  for (const auto &[from, to] : {std::pair{0u, 1u}, {1u, 0u}}) {
    const consort_link_info l = far.m->link(from, to);
    EXPECT_EQ(l.source, uint32_t{CONSORT_LINK_TOLD});
    EXPECT_EQ(l.bytes_per_s, 1u);
  }
  ASSERT_EQ(far.m->said.size(), 2u) << "one line for each way";
  EXPECT_NE(far.m->said[0].find("-> stream0:ram, measured by driver \"stream\": "), std::string::npos) << far.m->said[0];
  EXPECT_NE(far.m->said[0].find("; the driver's word is used instead: 1 B/s, 1.00 us"), std::string::npos)
      << far.m->said[0];
}

TEST_F(LinkCalibration, FailedCopyGivesNoMeasurement) {
  const Far far("stream.fail_op", "1");
  ASSERT_GE(far.m->said.size(), 1u);
  EXPECT_NE(far.m->said[0].find("a copy over it"), std::string::npos) << far.m->said[0];
  EXPECT_EQ(far.m->link(0, 1).source, uint32_t{CONSORT_LINK_TOLD});
}

TEST_F(LinkCalibration, MeasuresSimulatedDevicesInRealTime) {
  for (const char *pump : {"manual", "threads"}) {
    const Started m({{"drivers", "cpu, sim"}, {"cpu.workers", "1"}, {"cpu.topology", kFourCores}, {"sim.bandwidth", "1G"},
                     {"sim.latency", "200us"}, {"pump", pump}, {"links", "again"}});
    const consort_link_info l = m.link(0, 1);
    // On a busy machine repeats may differ too much, which is said. It is never faster than the model.
    if (l.source == CONSORT_LINK_TOLD) EXPECT_FALSE(m.said.empty());
    else EXPECT_GE(l.latency_ns, 100'000u);
    for (const auto &text : m.said) EXPECT_EQ(text.find("not over"), std::string::npos) << text;
  }
}

TEST_F(LinkCalibration, MeasuresDeviceMemoryInRealTime) {
  const Far far;
  const consort_link_info l = far.m->link(0, 1);
  // On a busy machine repeats may differ too much, which is said.
  EXPECT_TRUE(l.source == CONSORT_LINK_MEASURED || !far.m->said.empty());
  EXPECT_GT(far.counters[STREAM_OPS], 60u);
  EXPECT_EQ(far.counters[STREAM_COMPLETED], far.counters[STREAM_OPS]);
}

}  // namespace
