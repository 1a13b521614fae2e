// The layer "faults": injected faults come out as the documented errors, all other results are right, nothing hangs,
// and the other layers report nothing.
#include "layers/program.hpp"

namespace consort_test {
namespace {

struct Injected {
  Lines lines;
  Outcome o;
  Injected(const Place &place, Pairs more, const char *layers = "checks,faults", int rounds = 12) {
    more.push_back({"layers", layers});
    o = run_program(place, more, &lines, rounds);
    EXPECT_FALSE(lines.has("checks: ")) << lines.all();
  }
  size_t struck() const {
    size_t n = 0;
    const std::string all = lines.all();
    for (size_t at = 0; (at = all.find(" on purpose (call ", at)) != all.npos; ++at) ++n;
    return n;
  }
};

TEST(FaultsLayer, InjectsNothingByDefault) {
  for (const Place &place : places()) {
    const Injected i(place, {});
    EXPECT_FALSE(i.o.numbers.empty()) << text_of(place) << i.o.error;
    EXPECT_EQ(i.struck(), 0u);
  }
}

TEST(FaultsLayer, FailsStarts) {
  const struct {
    const char *plugins, *function, *part;
  } all[] = {{"lws", "init", "lws"}, {"lws", "create", "lws"}, {"lws", "workers", "lws"}};
  for (const auto &f : all) {
    SCOPED_TRACE(std::string(f.plugins) + " " + f.function);
    const Injected i({On::kCores, "lws"}, {{"faults.plugins", f.plugins},
                                           {"faults.function", f.function},
                                           {"faults.nth", "1"},
                                           {"faults.status", "E_NOMEM"}});
    EXPECT_EQ(i.o.started, CONSORT_E_NOMEM) << i.o.error;
    for (const std::string &part :
         {std::string("fault injected into scheduler \"lws\", ") + f.function, std::string("lws")})
      EXPECT_NE(i.o.error.find(part), std::string::npos) << i.o.error;
    EXPECT_EQ(i.struck(), 1u) << i.lines.all();
  }
}

TEST(FaultsLayer, FailsInterfaceCalls) {
  for (const char *function : {"init", "shape"}) {
    const Injected i({On::kCores, "eager"},
                     {{"faults.plugins", "matrix"}, {"faults.function", function}, {"faults.nth", "1"}});
    EXPECT_EQ(i.o.started, CONSORT_OK) << i.o.error;
    EXPECT_EQ(i.o.ran, CONSORT_E_IO) << function << ": " << i.o.error;
    EXPECT_NE(i.o.error.find("matrix"), std::string::npos) << i.o.error;
    EXPECT_EQ(i.o.stopped, CONSORT_OK);
  }
}

// The timing decides which operation is the fifth. If it is a kernel, or a copy that a task waits for, that task fails,
// its successors are poisoned, and waits report it. A prefetch is made again without visible difference.
TEST(FaultsLayer, FailsOperations) {
  for (const Place &place : places()) {
    if (place.on == On::kCores) continue;
    SCOPED_TRACE(text_of(place));
    Lines bare;
    const Outcome without = run_program(place, {}, &bare);
    const Injected i(place, {{"faults.plugins", place.on == On::kStream ? "stream" : "sim"},
                             {"faults.function", "submit"},
                             {"faults.nth", "5"}});
    EXPECT_EQ(i.o.started, CONSORT_OK) << i.o.error;
    EXPECT_EQ(i.struck(), 1u) << i.lines.all();
    const consort_status s = std::min(i.o.ran, i.o.stopped);
    if (s >= 0) {
      EXPECT_EQ(i.o.numbers, without.numbers);
      continue;
    }
    EXPECT_TRUE(s == CONSORT_E_IO || s == CONSORT_E_POISONED) << s << ": " << i.o.error;
    EXPECT_FALSE(i.o.error.empty());
  }
}

TEST(FaultsLayer, FailsAllocations) {
  for (const char *scheduler : {"dmda", "eager"})
    for (const char *nth : {"1", "4"}) {
      SCOPED_TRACE(std::string(scheduler) + " " + nth);
      const Injected i({On::kStream, scheduler}, {{"faults.plugins", "stream"},
                                                  {"faults.function", "alloc"},
                                                  {"faults.nth", nth},
                                                  {"faults.status", "E_NOMEM"}});
      EXPECT_EQ(i.o.started, CONSORT_OK) << i.o.error;  // room is made, or the task fails with a word: never a hang
      EXPECT_TRUE(i.o.ran >= 0 || !i.o.error.empty());
    }
}

TEST(FaultsLayer, SameSeedFailsTheSameCalls) {
  std::string seen[3];
  for (int k = 0; k < 3; ++k) {
    const Injected i({On::kVirtual, "lws"}, {{"pump", "manual"},
                                             {"faults.function", "pop"},
                                             {"faults.what", "delay"},
                                             {"faults.delay_us", "1"},
                                             {"faults.chance", "0.3"},
                                             {"faults.count", "6"},
                                             {"faults.seed", k == 2 ? "8" : "7"}});
    EXPECT_FALSE(i.o.numbers.empty()) << i.o.error;
    EXPECT_EQ(i.struck(), 6u);
    std::string all = i.lines.all();
    for (size_t at = 0; (at = all.find("(call ", at)) != all.npos; ++at)
      seen[k] += all.substr(at, all.find(')', at) - at);
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_NE(seen[0], seen[2]);
}

TEST(FaultsLayer, ShortAnswersAndDelaysKeepResults) {
  for (const Place &place : places()) {
    SCOPED_TRACE(text_of(place));
    Lines bare;
    const Outcome without = run_program(place, {}, &bare);
    for (const char *what : {"short", "delay"}) {
      const Injected i(place, {{"faults.what", what},
                               {"faults.chance", "0.5"},
                               {"faults.count", what[0] == 's' ? "0" : "200"},
                               {"faults.delay_us", "50"}});
      EXPECT_EQ(i.o.numbers, without.numbers) << what << i.o.error;
      EXPECT_EQ(i.o.stopped, CONSORT_OK) << i.o.error;
    }
  }
}

TEST(FaultsLayer, EachCallMayFail) {  // in any case: a message for each failure, and an end
  for (const Place &place : places())
    for (const char *nth : {"1", "2", "3", "5", "8", "13", "21", "34"}) {
      SCOPED_TRACE(text_of(place) + ", " + nth);
      const Injected i(place, {{"faults.nth", nth}}, "checks,faults", 3);
      EXPECT_TRUE(std::min({i.o.started, i.o.ran, i.o.stopped}) >= 0 || !i.o.error.empty());
    }
}

TEST(FaultsLayer, RefusesBadSettings) {
  const auto says = [](Pairs more, std::initializer_list<const char *> parts) {
    more.push_back({"faults.nth", "1"});
    const Injected i({On::kCores, "lws"}, more, "faults");
    EXPECT_EQ(i.o.started, CONSORT_E_INVAL);
    for (const char *part : parts) EXPECT_NE(i.o.error.find(part), std::string::npos) << i.o.error;
  };
  says({{"faults.function", "pop"}}, {"code: ", "faults.function = \"pop\"", "cannot fail", "what = \"delay\""});
  says({{"faults.function", "alloc"}, {"faults.what", "short"}}, {"\"alloc\"", "cannot fall short"});
  says({{"faults.function", "pops"}}, {"\"pops\"", "in no plugin's table"});
  says({{"faults.status", "E_WRONG"}}, {"E_WRONG", "is not an error"});
  says({{"faults.status", "E_DEVICE_LOST"}}, {"E_DEVICE_LOST", "driver sim"});
}

}  // namespace
}  // namespace consort_test
