// Models of a machine without workers at work: estimates from measurements, from functions, and from files of an earlier
// run.
#include "model/models.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/folder.hpp"
#include "task/task_room.hpp"

namespace consort {
namespace {

struct ModelRoom : consort_test::TaskRoom {
  explicit ModelRoom(const consort_test::Pairs &pairs = {}) : TaskRoom(pairs) { models.open(); }
  ~ModelRoom() { models.close(); }

  Models models{*this};
  Codelet &codelet = add_codelet("measured");
  Task &task = take_task(codelet);

  void measure(Model &m, float ns, int times) {
    TaskFacts facts = m.facts(task);
    Cell *cell = m.cell(facts, models.kind_of(0), 0);
    ASSERT_NE(cell, nullptr);
    for (int i = 0; i < times; ++i) m.measured(*cell, ns);
  }
  float estimate(uint32_t worker = 0) {
    float ns = 0;
    models.estimate(task, CONSORT_MODEL_TIME, &worker, 1, 0, &ns);
    return ns;
  }
};

TEST(Models, UnitsOfOneClassAreOneKind) {
  ModelRoom room(consort_test::Pairs{{"workers", "3"}});
  ASSERT_EQ(room.models.kinds().size(), 1u);
  EXPECT_EQ(room.models.kinds()[0].klass, "cpu");
  for (uint32_t w = 0; w < 3; ++w) EXPECT_EQ(room.models.kind_of(w), 0u);
}

TEST(Models, EstimateNeedsEnoughMeasurements) {
  ModelRoom room(consort_test::Pairs{{"calibrate_samples", "4"}});
  Model *m = room.models.make(room.codelet, CONSORT_MODEL_TIME);
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(room.models.of(room.codelet, CONSORT_MODEL_TIME), m);
  room.measure(*m, 5000, 3);
  EXPECT_TRUE(std::isnan(room.estimate()));
  room.measure(*m, 5000, 1);
  EXPECT_FLOAT_EQ(room.estimate(), 5000);
  EXPECT_FLOAT_EQ(room.estimate(1), 5000) << "another worker of the same kind";
}

TEST(Models, CostFunctionAnswersForItsClass) {
  ModelRoom room;
  consort_model d{};
  d.size = sizeof d;
  d.kind = CONSORT_MODEL_PER_CLASS;
  d.cost = [](void *user, const consort_model_ask *ask) {
    return std::string(ask->klass) == "cpu" && std::string(ask->codelet) == "measured" ? *static_cast<double *>(user) : -1.0;
  };
  double ns = 1234;
  d.user = &ns;
  ASSERT_TRUE(room.models.set(room.codelet, CONSORT_MODEL_TIME, &d));
  EXPECT_FLOAT_EQ(room.estimate(), 1234);
  ns = -5;
  EXPECT_TRUE(std::isnan(room.estimate())) << "no time is below 0";
  ns = INFINITY;
  EXPECT_TRUE(std::isnan(room.estimate()));
}

TEST(Models, MeasurementsPersistInAFile) {
  const consort_test::Folder folder("models");
  const consort_test::Pairs kept = {{"keep_models", "yes"}, {"model_folder", folder.path().c_str()}, {"calibrate_samples", "2"}};
  {
    ModelRoom room(kept);
    room.measure(*room.models.make(room.codelet, CONSORT_MODEL_TIME), 700, 5);
  }
  EXPECT_EQ(folder.files(), 1u);
  ModelRoom room(kept);
  ASSERT_NE(room.models.make(room.codelet, CONSORT_MODEL_TIME), nullptr);
  EXPECT_FLOAT_EQ(room.estimate(), 700);
}

TEST(Models, StoredTimeThatNoLongerHoldsIsReplaced) {
  const consort_test::Folder folder("models");
  const consort_test::Pairs kept = {{"keep_models", "yes"}, {"model_folder", folder.path().c_str()}, {"calibrate_samples", "3"}};
  {
    ModelRoom room(kept);
    room.measure(*room.models.make(room.codelet, CONSORT_MODEL_TIME), 1000, 5);
  }
  ModelRoom room(kept);
  room.measure(*room.models.make(room.codelet, CONSORT_MODEL_TIME), 9000, 3);
  EXPECT_FLOAT_EQ(room.estimate(), 9000);
  EXPECT_TRUE(room.logged("the stored model of \"measured\" said 1 us of a size, 3 measurements say 9"));
}

TEST(Models, LoadCountsWhatHasBegun) {
  ModelRoom room;
  const uint32_t workers[] = {0, 1};
  float load[2];
  room.models.count(0, 500);
  room.models.count(0, 700);
  room.models.load(workers, 2, load);
  EXPECT_FLOAT_EQ(load[0], 1200);
  EXPECT_FLOAT_EQ(load[1], 0);
  room.models.discount(0, 500);
  room.models.load(workers, 2, load);
  EXPECT_FLOAT_EQ(load[0], 700);
  room.models.count(1, -1);
  room.models.load(workers, 2, load);
  EXPECT_TRUE(std::isnan(load[1])) << "a task whose time is unknown";
}

}  // namespace
}  // namespace consort
