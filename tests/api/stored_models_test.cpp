// Models that are stored between runs: which files are written, which are read, which are rejected.
#include <consort/model.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "api/harness.hpp"
#include "model/model_store.hpp"
#include "support/folder.hpp"
#include "support/read_file.hpp"

namespace {

using namespace consort_test;
using consort::StoredModel;

class StoredModels : public ::testing::Test {
 protected:
  void TearDown() override { stop(); }
  void begin(Pairs more = {}) {
    stop();
    said_.clear();
    Pairs pairs = {{"cpu.topology", kFourCores}, {"workers", "1"}, {"model_folder", folder_.path().c_str()},
                   {"calibrate_samples", "4"}};
    for (const auto &m : more) {
      std::erase_if(pairs, [&](const auto &p) { return std::string(p.key) == m.key; });
      pairs.push_back(m);
    }
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    s.log_user = this;
    s.log = [](void *user, int32_t, const char *text) {
      auto &self = *static_cast<StoredModels *>(user);
      const std::lock_guard lock(self.mutex_);
      if (std::string(text).find("model") != std::string::npos) self.said_.push_back(text);
    };
    need(consort_start(&s, &rt_), "start");
    task_ = Desc(body_(rt_, "kept", [](const consort_call &) { return CONSORT_OK; }));
  }
  void stop() {
    if (rt_) {
      EXPECT_OK(consort_stop(std::exchange(rt_, nullptr)));
    }
  }
  void feed(double value, int times) {
    for (int i = 0; i < times; ++i) EXPECT_OK(consort_model_feed(rt_, task_.desc(), 0, CONSORT_NONE, 0, value + i % 3));
  }
  double expected() {
    double x = 0;
    return consort_expected(rt_, task_.desc(), 0, CONSORT_NONE, CONSORT_MODEL_TIME, &x) == CONSORT_OK ? x : NAN;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto &e : std::filesystem::directory_iterator(folder_.path())) all.push_back(e.path());
    std::sort(all.begin(), all.end());
    return all;
  }
  bool said(const std::string &words) {
    const std::lock_guard lock(mutex_);
    return std::any_of(said_.begin(), said_.end(), [&](const auto &s) { return s.find(words) != s.npos; });
  }
  size_t nsaid() {
    const std::lock_guard lock(mutex_);
    return said_.size();
  }
  void learn(double value = 1000, int times = 10) {
    begin();
    feed(value, times);
    stop();
    ASSERT_EQ(files().size(), 1u);
  }

  Bodies body_;
  const Folder folder_{"models"};
  consort_runtime *rt_ = nullptr;
  Desc task_{{0}};
  std::mutex mutex_;
  std::vector<std::string> said_;
};

TEST_F(StoredModels, PersistAcrossRuns) {
  learn();
  const std::string text = read_file(files()[0]);
  for (const char *part : {"consort models 1\nmachine ", "\nmodel kept\nmeasures ns\nimplementation cpu\tkept\n",
                           "\nunit cpu\tcpu/", "\t10\t0\t1001\t"})
    EXPECT_NE(text.find(part), text.npos) << part << "\nis not in\n" << text;
  begin();
  EXPECT_NEAR(expected(), 1001, 1);
  feed(1000, 2);
  stop();
  ASSERT_EQ(files().size(), 1u);
  EXPECT_NE(read_file(files()[0]).find("\t12\t0\t"), text.npos) << "both runs' measurements are counted";
  EXPECT_EQ(nsaid(), 0u);
}

TEST_F(StoredModels, WritesOnlyMeasuredModels) {
  begin();
  (void)expected();
  stop();
  EXPECT_TRUE(files().empty());
  for (const Pairs &p : {Pairs{{"keep_models", "no"}}, Pairs{{"pump", "manual"}}, Pairs{{"calibrate", "off"}}}) {
    begin(p);
    feed(1000, 10);
    stop();
    EXPECT_TRUE(files().empty()) << p[0].key;
  }
}

TEST_F(StoredModels, CalibrateSettingSelectsStoredValues) {
  learn();
  begin({{"calibrate", "off"}});
  EXPECT_NEAR(expected(), 1001, 1);
  begin({{"calibrate", "force"}});
  EXPECT_TRUE(std::isnan(expected()));
  feed(1100, 3);
  EXPECT_TRUE(std::isnan(expected()));
  feed(1100, 2);
  EXPECT_NEAR(expected(), 1101, 1) << "of the new ones alone";
  EXPECT_EQ(nsaid(), 0u) << "it is no other machine";
  begin({{"calibrate", "drop"}});
  EXPECT_TRUE(std::isnan(expected()));
  feed(5000, 6);
  EXPECT_NEAR(expected(), 5001, 1);
  begin();
  EXPECT_NEAR(expected(), 5001, 1) << "earlier measurements are gone";
}

TEST_F(StoredModels, OutdatedModelIsReportedOnceAndRemeasured) {
  learn(1000, 30);
  begin();
  feed(9000, 3);
  EXPECT_NEAR(expected(), 1001, 1) << "three do not overturn thirty";
  feed(9000, 1);
  EXPECT_NEAR(expected(), 9001, 1);
  EXPECT_TRUE(said("the stored model of \"kept\" said 1.001 us of a size, 4 measurements say 9"));
  EXPECT_TRUE(said(files()[0]));
  feed(9000, 10);
  EXPECT_EQ(nsaid(), 1u);
  begin();
  EXPECT_NEAR(expected(), 9001, 1);
}

TEST_F(StoredModels, DamagedFilesAreIgnored) {
  learn();
  const std::string path = files()[0], good = read_file(path);
  const auto with = [&](const std::string &text, const char *words) {
    std::ofstream(path) << text;
    begin();
    EXPECT_TRUE(std::isnan(expected())) << words;
    EXPECT_TRUE(said(words)) << words;
    EXPECT_TRUE(said("it is measured anew"));
    EXPECT_EQ(nsaid(), 1u);
  };
  std::string changed = good;
  changed[good.find("1001")] = '9';
  with(changed, "it is cut short, or was changed");
  with(good.substr(0, good.size() / 2), "it is cut short, or was changed");
  with("", "it is no list of models");
  with("consort models 7\n" + good.substr(good.find('\n') + 1), "it is of version 7, not 1");
  with(std::string(5 << 20, 'x'), "it is larger than 4 MiB");
  begin();
  feed(2000, 5);
  stop();
  begin();
  EXPECT_NEAR(expected(), 2001, 1) << "replaced by a good one";
}

TEST_F(StoredModels, InvalidValuesWithAGoodChecksumAreIgnored) {
  learn();
  const std::string path = files()[0], good = read_file(path);
  const size_t head = good.find('\n') + 1, body = good.find("unit ");
  for (const char *line : {"unit cpu", "0000000000000001\t8", "0000000000000001\t8\t0\t4\t0\t1\t1\t-5", "x\t8\t0\t4\t0\t1\t1\t5",
                           "0000000000000001\t8\t9\t4\t0\t1\t1\t5", "0000000000000001\t8\t0\t1\t0\t1\t1\t5 6 7",
                           "0000000000000001\t8\t0\t4\t0\t1\t1\tnan", "0000000000000001\t8\t0\t4\t0\t1\t1\t1e30"}) {
    const std::string text = good.substr(0, head) + good.substr(head, body - head) + "unit cpu\tcpu/x\n" + line + "\n";
    std::ofstream(path) << text << "end " << consort::hex_sum(text) << "\n";
    begin();
    EXPECT_TRUE(std::isnan(expected())) << line;
    EXPECT_TRUE(said("is no measurement")) << line;
  }
}

TEST_F(StoredModels, RowsOfAbsentUnitsAreKept) {
  learn();
  StoredModel m;
  const std::string good = read_file(files()[0]);
  auto head = m.read_about(std::string_view(good).substr(good.find('\n') + 1));
  ASSERT_TRUE(head);
  m.cells.push_back({"elsewhere", "elsewhere/9", 0, 77, 88, 5, 1, {3, 4, 5}});
  ASSERT_TRUE(consort::file_of(m, folder_.path()).write(m.body()));
  ASSERT_EQ(files().size(), 1u);
  begin();
  EXPECT_TRUE(std::isnan(expected()));
  feed(1000, 5);
  stop();
  const std::string text = read_file(files()[0]);
  EXPECT_NE(text.find("unit elsewhere\telsewhere/9\n000000000000004d\t88\t0\t5\t1\t4\t"), text.npos) << text;
  EXPECT_NE(text.find("unit cpu\t"), text.npos) << text;
}

TEST_F(StoredModels, ImportedRowsApplyUntilMeasured) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  const consort_setting folder = {"model_folder", folder_.path().c_str()};
  s.set = &folder;
  s.nset = 1;
  consort_model_row r{};
  r.size = sizeof r;
  r.klass = "cpu";
  r.bytes = 0;                         // the task of these tests has no data
  r.count = 100;
  r.median = 7000;
  r.spread = 300;
  char path[256] = "";
  ASSERT_OK(consort_keep_model(&s, "kept", CONSORT_MODEL_TIME, &r, 1, path, sizeof path));
  ASSERT_EQ(files(), std::vector<std::string>{path});
  begin();
  EXPECT_EQ(expected(), 7000);
  feed(1000, 5);
  EXPECT_NEAR(expected(), 1001, 1) << "measurements take precedence";
  stop();
  EXPECT_EQ(files().size(), 2u) << "the imported file is kept apart";
  begin();
  EXPECT_NEAR(expected(), 1001, 1);
  begin({{"calibrate", "drop"}});
  EXPECT_TRUE(std::isnan(expected()));
  stop();
  ASSERT_OK(consort_keep_model(&s, "kept", CONSORT_MODEL_TIME, nullptr, 0, nullptr, 0));
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto refused = [&](auto change, const char *why) {
    consort_model_row wrong = r;
    change(wrong);
    EXPECT_EQ(consort_keep_model(&s, "kept", CONSORT_MODEL_TIME, &wrong, 1, nullptr, 0), CONSORT_E_INVAL);
    EXPECT_NE(std::string(consort_error()).find(why), std::string::npos) << consort_error();
  };
  refused([](auto &w) { w.klass = ""; }, "rows[0]: it names no class");
  refused([](auto &w) { w.median = -1; }, "median is not above 0");
  refused([](auto &w) { w.count = 0; }, "count is 0");
  refused([](auto &w) { w.impl_number = 9; }, "impl_number is above 3");
  EXPECT_EQ(consort_keep_model(&s, "", CONSORT_MODEL_TIME, &r, 1, nullptr, 0), CONSORT_E_INVAL);
}

TEST_F(StoredModels, UnwritableFolderIsReportedOnce) {
  const std::string file = folder_ / "taken";
  std::ofstream(file) << "no folder";
  const std::string below = file + "/models";
  begin({{"model_folder", below.c_str()}});
  feed(1000, 5);
  stop();
  EXPECT_TRUE(said("model of \"kept\" is not kept: cannot make the folder"));
  EXPECT_EQ(nsaid(), 1u);
}

TEST_F(StoredModels, OddCodeletNamesMakeFiles) {
  begin();
  const std::string odd = "../a b\t/ä\n";
  task_ = Desc(body_(rt_, odd.c_str(), [](const consort_call &) { return CONSORT_OK; }));
  feed(1000, 5);
  begin();
  task_ = Desc(body_(rt_, odd.c_str(), [](const consort_call &) { return CONSORT_OK; }));
  EXPECT_NEAR(expected(), 1001, 1);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(nsaid(), 0u);
}

TEST_F(StoredModels, ListNeedsNoRuntime) {
  learn();
  std::ofstream(folder_ / "zz.txt") << "something else";
  struct Seen {
    std::vector<std::string> files, rows;
    std::string reason;
    uint32_t here = 0;
  } seen;
  consort_settings s = CONSORT_SETTINGS_INIT;
  const consort_setting set[] = {{"model_folder", folder_.path().c_str()}};
  s.set = set;
  s.nset = 1;
  ASSERT_OK(consort_list_models(
      &s,
      [](void *user, const consort_model_file *f) {
        auto &seen = *static_cast<Seen *>(user);
        seen.files.push_back(f->name);
        seen.reason += f->reason;
        seen.here += f->here;
      },
      [](void *user, const consort_model_row *r) {
        auto &seen = *static_cast<Seen *>(user);
        seen.rows.push_back(std::string(r->name) + " " + r->klass + " " + r->impl + " " + std::to_string(r->count));
        EXPECT_NEAR(r->median, 1001, 1);
      },
      &seen));
  EXPECT_EQ(seen.files, (std::vector<std::string>{"kept", ""}));
  EXPECT_EQ(seen.rows, std::vector<std::string>{"kept cpu kept 10"});
  EXPECT_EQ(seen.reason, "it is no list of models");
  EXPECT_EQ(seen.here, 1u);
}

}  // namespace
