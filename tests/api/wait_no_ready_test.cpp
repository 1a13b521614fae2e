// consort_wait_no_ready(): random programs with bundles and a tag that is not reached yet, under every policy. When the
// call answers OK, each task that waits for nothing has run.
#include <random>

#include "api/harness.hpp"
#include "support/text_file.hpp"

using namespace consort_test;

namespace {

constexpr uint64_t kTag = 7;

std::vector<std::string> schedulers() {
  std::vector<std::string> names;
  const auto add = [](void *user, const consort_plugin_row *row) {
    if (row->kind == CONSORT_KIND_SCHEDULER && row->usable)
      static_cast<std::vector<std::string> *>(user)->push_back(row->name);
  };
  need(consort_list_plugins(nullptr, 0, add, &names), "list of plugins");
  return names;
}

// A random graph on a few data. A task is blocked where it, or a predecessor, comes after the tag.
class Program {
 public:
  Program(consort_runtime *rt, uint64_t seed) : rt_(rt), chance_(seed), ran_(kTasks) {
    for (auto &d : data_) d.id = token_of(rt);
    for (auto &b : bundles_) need(consort_bundle_create(rt, &b), "bundle");
    const auto body = [](const consort_call *c) -> consort_status {
      static_cast<std::atomic<int> *>(c->user)[value<uint32_t>(*c, 0)].fetch_add(1);
      return CONSORT_OK;
    };
    codelet_ = codelet(rt, "mark", body, CONSORT_NONE, ran_.data());
  }
  void submit() {
    std::vector<consort_task_id> ids;
    for (uint32_t i = 0; i < kTasks; ++i) ids.push_back(submit_one(i, ids));
    for (const auto b : bundles_) need(consort_bundle_close(rt_, b), "close");
  }
  // The number of unblocked tasks that have not run.
  uint32_t missing(bool tag_reached) const {
    uint32_t n = 0;
    for (uint32_t i = 0; i < kTasks; ++i) n += (tag_reached || !blocked_[i]) && !ran_[i].load();
    return n;
  }
  void forget_tags() {
    need(consort_tag_restart(rt_, kTag), "restart");
    for (const uint64_t tag : tags_) need(consort_tag_remove(rt_, tag), "remove");
  }
  uint32_t too_early() const {
    uint32_t n = 0;
    for (uint32_t i = 0; i < kTasks; ++i) n += blocked_[i] && ran_[i].load();
    return n;
  }

 private:
  static constexpr uint32_t kTasks = 40;
  struct Datum { consort_data_id id; bool writer_blocked = false, reader_blocked = false; };

  uint32_t draw(uint32_t n) { return static_cast<uint32_t>(chance_() % n); }
  consort_task_id submit_one(uint32_t i, const std::vector<consort_task_id> &ids) {
    Desc d(codelet_);
    bool blocked = false;
    consort_task_more more = CONSORT_TASK_MORE_INIT;
    if (draw(3)) {
      more.bundle = bundles_[draw(std::size(bundles_))];
      d.d.more = &more;
    }
    d.arg(i).priority(static_cast<int32_t>(draw(3)));
    if (!ids.empty() && !draw(4)) {
      const uint32_t before = draw(i);
      d.then(ids[before]);
      blocked |= blocked_[before];
    }
    uint64_t tag = 0;
    if (!draw(10)) {
      tag = 100 + i;
      tags_.push_back(tag);
      need(consort_tag_after(rt_, tag, &kTag, 1), "tag");
      more.flags = CONSORT_MORE_TAG;
      more.tag = tag;
      d.d.more = &more;
      blocked = true;
    }
    bool writes[kData], uses[kData];
    for (uint32_t k = 0; k < std::size(data_); ++k) {
      uses[k] = !draw(3);
      writes[k] = draw(2);
      if (!uses[k]) continue;
      writes[k] ? d.rw(data_[k].id) : d.r(data_[k].id);
      blocked |= data_[k].writer_blocked || (writes[k] && data_[k].reader_blocked);
    }
    for (uint32_t k = 0; k < std::size(data_); ++k) {
      if (!uses[k]) continue;
      if (writes[k]) data_[k] = {data_[k].id, blocked, false};
      else data_[k].reader_blocked |= blocked;
    }
    blocked_.push_back(blocked);
    return d.must(rt_);
  }

  consort_runtime *rt_;
  std::mt19937_64 chance_;
  std::vector<std::atomic<int>> ran_;
  std::vector<bool> blocked_;
  std::vector<uint64_t> tags_;
  static constexpr size_t kData = 6;
  Datum data_[kData];
  consort_bundle_id bundles_[3];
  consort_codelet_id codelet_{0};
};

// The seeds of programs with a ready task that did not run, as text.
std::string violations(uint64_t seeds, const Pairs &machine) {
  std::string failed;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const std::string chance = std::to_string(seed);
    Pairs pairs = {{"seed", chance.c_str()}, {"keep_models", "no"}};
    pairs.insert(pairs.end(), machine.begin(), machine.end());
    Rt rt(pairs);
    uint32_t wrong = 0;
    for (uint32_t round = 0; round < 3; ++round) {
      Program p(rt, seed * 3 + round);
      p.submit();
      EXPECT_OK(consort_wait_no_ready(rt, kLong, 0));
      wrong += p.missing(false);
      EXPECT_EQ(p.too_early(), 0u);
      EXPECT_OK(consort_tag_notify(rt, kTag));
      EXPECT_OK(consort_wait_no_ready(rt, kLong, 0));
      wrong += p.missing(true);
      EXPECT_OK(consort_wait_all(rt, kLong, 0));
      p.forget_tags();
    }
    if (wrong) failed += " " + chance;
  }
  return failed;
}

class WaitNoReady : public ::testing::TestWithParam<std::string> {
 protected:
  const char *scheduler() const { return scheduler_.c_str(); }
  const uint64_t seeds_ = (GetParam() == "random" || full() ? 200 : 20) / kSlow;

 private:
  const std::string scheduler_ = GetParam();
};

TEST_P(WaitNoReady, HoldsWithTheManualPump) {
  EXPECT_EQ(violations(seeds_, {{"workers", "4"}, {"cpu.topology", kFourCores}, {"pump", "manual"},
                                {"scheduler", scheduler()}}), "");
}

TEST_P(WaitNoReady, HoldsOnUnitsWithQueues) {
  EXPECT_EQ(violations(seeds_, {{"drivers", "cpu,sim"}, {"cpu.workers", "1"}, {"cpu.topology", kFourCores},
                                {"sim.devices", "3"}, {"sim.latency", "1us"}, {"pump", "manual"},
                                {"scheduler", scheduler()}}), "");
}

TEST_P(WaitNoReady, HoldsInVirtualTime) {
  const TextFile machine("[[device]]\nhost = true\nclass = \"cpu\"\nunits = 4\n");
  EXPECT_EQ(violations(seeds_, {{"drivers", "sim"}, {"sim.machine", machine.path.c_str()}, {"time", "virtual"},
                                {"scheduler", scheduler()}}), "");
}

TEST_P(WaitNoReady, HoldsWithThreads) {
  EXPECT_EQ(violations(10, {{"workers", "4"}, {"cpu.topology", kFourCores}, {"scheduler", scheduler()}}), "");
}

std::string test_name(const ::testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Policies, WaitNoReady, ::testing::ValuesIn(schedulers()), test_name);

}  // namespace
