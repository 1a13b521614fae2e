// The layer "access" names each planted error with its kind, datum, offset, task and codelet, and reports nothing about
// correct programs, whose results stay the same.
#include <consort/order.h>
#include <consort/partition.h>

#include "layers/program.hpp"

namespace consort_test {
namespace {

constexpr int kMany = 6000, kFew = 10;  // ints: several pages, and less than one

// A runtime with the layer, and data of two sizes.
struct Checked {
  Lines lines;
  std::vector<int> big = std::vector<int>(kMany, 1), other = std::vector<int>(kMany, 2), small = std::vector<int>(kFew, 3),
                   few = std::vector<int>(kFew, 4);
  consort_runtime *rt = nullptr;
  consort_data_id x{0}, y{0}, s{0}, f{0}, m{0};
  std::vector<int> plane = std::vector<int>(40 * 50, 5);
  Bodies bodies;

  explicit Checked(const char *workers = "1", const char *key = "access.twice", const char *value = "false") {
    const Pairs pairs = {{"check_access", "true"}, {"drivers", "cpu"}, {"cpu.topology", kFourCores}, {"workers", workers}, {key, value}};
    consort_settings settings = CONSORT_SETTINGS_INIT;
    settings.set = pairs.data(), settings.nset = static_cast<uint32_t>(pairs.size());
    settings.log = Lines::write, settings.log_user = &lines;
    need(consort_start(&settings, &rt), "start");
    {
      const std::lock_guard lock(watch().mutex);
      watch().runtimes.push_back(rt);
    }
    x = vector_of(rt, big.data(), big.size(), sizeof(int), "x");
    y = vector_of(rt, other.data(), other.size(), sizeof(int), "y");
    s = vector_of(rt, small.data(), small.size(), sizeof(int), "s");
    f = vector_of(rt, few.data(), few.size(), sizeof(int), "f");
    const consort_matrix_args a{plane.data(), 40, 48, 40, sizeof(int)};
    const consort_data_desc d{sizeof d, 0, "matrix", &a, sizeof a, "m"};
    need(consort_register(rt, &d, &m), "register");
  }
  ~Checked() { stop(); }
  void stop() {
    if (!rt) return;
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    {
      const std::lock_guard lock(watch().mutex);
      std::erase(watch().runtimes, rt);
    }
    consort_stop(std::exchange(rt, nullptr));
  }
  Desc task(const char *name, Body body) { return Desc(bodies(rt, name, std::move(body))); }
  void run(Desc d) {
    d.must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
  }
  // The line of that kind, which has each of the words; and there is no other line.
  void named(const char *kind, std::initializer_list<std::string> words, size_t findings = 1) {
    stop();
    const std::string all = lines.all();
    size_t n = 0;
    bool found = false;
    for (size_t at = 0; at < all.size();) {
      const std::string line = all.substr(at, all.find('\n', at) - at);
      at += line.size() + 1;
      if (line.find("access: ") == std::string::npos) continue;
      ++n;
      bool here = line.find(std::string(kind) + ": ") != std::string::npos;
      for (const std::string &w : words) here &= line.find(w) != std::string::npos;
      found |= here;
    }
    EXPECT_TRUE(found) << kind << "\n" << all;
    EXPECT_EQ(n, findings) << all;
  }
};

volatile int sink;
int *at(const consort_call &c, uint32_t i) { return pointer<int>(c, i); }

// -- writes what it declared R --------------------------------------------------------------------------------

TEST(AccessLayer, NamesAWriteToTheFirstElementOfAReadDatum) {
  Checked c;
  c.run(c.task("reader", [](const consort_call &k) { return at(k, 0)[0] = 7, CONSORT_OK; }).r(c.x).name("first"));
  c.named("writes-read-only", {"task \"first\"", "codelet \"reader\"", "byte 0 of datum \"x\" (24000 bytes)", "declared R"});
  EXPECT_EQ(c.big[0], 1) << "the write went to the copy";
}
TEST(AccessLayer, NamesAWriteInTheMiddleOfAReadDatum) {
  Checked c;
  c.run(c.task("reader", [](const consort_call &k) { return at(k, 1)[4321] = 7, CONSORT_OK; }).rw(c.y).r(c.x));
  c.named("writes-read-only", {"codelet \"reader\"", "byte 17284 of datum \"x\""});
}
TEST(AccessLayer, NamesAnIncrementOfAReadDatum) {
  Checked c;
  c.run(c.task("counts", [](const consort_call &k) { return ++at(k, 0)[3], CONSORT_OK; }).r(c.s));
  c.named("writes-read-only", {"codelet \"counts\"", "byte 12 of datum \"s\" (40 bytes)"});
}
TEST(AccessLayer, NamesAnAtomicWriteToAReadDatum) {
  Checked c;
  c.run(c.task("adds", [](const consort_call &k) {
           __atomic_fetch_add(&at(k, 0)[5], 1, __ATOMIC_RELAXED);
           return CONSORT_OK;
         }).r(c.s).w(c.f).name("atomic"));
  c.named("writes-read-only", {"task \"atomic\"", "byte 20 of datum \"s\""});
}
TEST(AccessLayer, NamesAWriteToAPartThatIsRead) {
  Checked c;
  const consort_split four{4, 0};
  consort_plan_desc d = CONSORT_PLAN_INIT;
  consort_plan_id plan{0};
  consort_data_id part[4] = {};
  d.filter = "blocks", d.params = &four, d.params_bytes = sizeof four;
  ASSERT_OK(consort_plan_create(c.rt, c.x, &d, &plan));
  ASSERT_EQ(consort_plan_parts(c.rt, plan, part, 4), 4);
  c.run(c.task("of_part", [](const consort_call &k) { return at(k, 0)[2] = 9, CONSORT_OK; }).r(part[2]));
  c.named("writes-read-only", {"codelet \"of_part\"", "byte 8 of datum \"x.blocks[2]\" (6000 bytes)"});
}
TEST(AccessLayer, NamesAWriteToALineOfAReadMatrix) {
  Checked c;
  c.run(c.task("lines", [](const consort_call &k) { return at(k, 0)[40 * 7 + 1] = 9, CONSORT_OK; }).r(c.m));
  c.named("writes-read-only", {"codelet \"lines\"", "byte 1124 of datum \"m\""});
}

// -- reads what it declared W before it has written it ----------------------------------------------------------

TEST(AccessLayer, NamesAReadOfTheFirstElementBeforeItIsWritten) {
  Checked c;
  c.run(c.task("writer", [](const consort_call &k) {
           sink = at(k, 0)[0];
           for (int i = 0; i < kMany; ++i) at(k, 0)[i] = i;
           return CONSORT_OK;
         }).w(c.x).name("too soon"));
  c.named("reads-unwritten", {"task \"too soon\"", "codelet \"writer\"", "byte 0 of datum \"x\"", "declared W"});
  EXPECT_EQ(c.big[5], 5);
}
TEST(AccessLayer, NamesASumIntoWhatIsOnlyWritten) {
  Checked c;
  c.run(c.task("sums", [](const consort_call &k) {
           for (int i = 0; i < kFew; ++i) at(k, 0)[i] += i;
           return CONSORT_OK;
         }).w(c.s));
  c.named("reads-unwritten", {"codelet \"sums\"", "byte 0 of datum \"s\""});
}
TEST(AccessLayer, NamesAnInstructionThatReadsAndWrites) {
  Checked c;
  c.run(c.task("ors", [](const consort_call &k) {
           __atomic_fetch_or(&at(k, 0)[2], 1, __ATOMIC_RELAXED);
           return CONSORT_OK;
         }).w(c.s));
  c.named("reads-unwritten", {"codelet \"ors\"", "byte 8 of datum \"s\""});
}
TEST(AccessLayer, NamesAReadOfALaterPageBeforeItIsWritten) {
  Checked c;
  c.run(c.task("writer", [](const consort_call &k) {
           at(k, 0)[0] = 1;
           sink = at(k, 0)[5000];
           for (int i = 0; i < kMany; ++i) at(k, 0)[i] = i;
           return CONSORT_OK;
         }).w(c.x));
  c.named("reads-unwritten", {"codelet \"writer\"", "byte 20000 of datum \"x\""});
}
TEST(AccessLayer, NamesAReadOfScratchMemory) {
  Checked c;
  c.run(c.task("tries", [](const consort_call &k) { return sink = at(k, 0)[1], CONSORT_OK; }).scratch(c.s));
  c.named("reads-unwritten", {"codelet \"tries\"", "byte 4 of datum \"s\"", "declared SCRATCH"});
}
TEST(AccessLayer, NamesAResultOfUndefinedContentsByTwoPatterns) {
  Checked c("1", "access.twice", "true");
  c.run(c.task("mixes", [](const consort_call &k) {
           at(k, 0)[0] = 1;
           at(k, 0)[1] = at(k, 0)[2] / 2;  // within a page that was written first
           for (int i = 2; i < kFew; ++i) at(k, 0)[i] = i;
           return CONSORT_OK;
         }).w(c.s));
  c.named("reads-unwritten", {"codelet \"mixes\"", "byte 4 of datum \"s\"", "two patterns"});
  EXPECT_EQ(c.small[9], 9);
}

// -- touches out of bounds ----------------------------------------------------------------------------------------

TEST(AccessLayer, NamesAWriteBehindTheEnd) {
  Checked c;
  c.run(c.task("past", [](const consort_call &k) { return at(k, 0)[kMany] = 1, CONSORT_OK; }).rw(c.x));
  c.named("out-of-bounds", {"codelet \"past\"", "writes byte 24000 of datum \"x\" (24000 bytes)", "outside"});
}
TEST(AccessLayer, NamesAWriteBehindTheEndOfASmallDatum) {
  for (const char *place : {"begin", "end"}) {
    Checked c("1", "access.place", place);
    c.run(c.task("past", [](const consort_call &k) { return at(k, 0)[kFew] = 1, CONSORT_OK; }).rw(c.s));
    c.named("out-of-bounds", {"codelet \"past\"", "writes byte 40 of datum \"s\" (40 bytes)"});
  }
}
TEST(AccessLayer, NamesAWriteBeforeTheBegin) {
  for (const char *place : {"begin", "end"}) {
    Checked c("1", "access.place", place);
    c.run(c.task("before", [](const consort_call &k) { return at(k, 0)[-1] = 1, CONSORT_OK; }).rw(c.s));
    c.named("out-of-bounds", {"codelet \"before\"", "of datum \"s\""});
    EXPECT_TRUE(c.lines.has("byte -4 of")) << c.lines.all();
  }
}
TEST(AccessLayer, NamesAReadBeforeTheBegin) {
  Checked c("1", "access.place", "begin");
  c.run(c.task("before", [](const consort_call &k) { return sink = at(k, 0)[-2], CONSORT_OK; }).r(c.x));
  c.named("out-of-bounds", {"codelet \"before\"", "reads byte -8 of datum \"x\""});
}
TEST(AccessLayer, NamesAReadFarBehindTheEnd) {
  Checked c("1", "access.place", "end");
  c.run(c.task("far", [](const consort_call &k) { return sink = at(k, 0)[kMany + 500], CONSORT_OK; }).r(c.x));
  c.named("out-of-bounds", {"codelet \"far\"", "reads byte 26000 of datum \"x\""});
}
// Behind the end by more than an alignment of 64 can hide.
TEST(AccessLayer, NamesBothReadsBehindTheEndWhereBordersAlternate) {
  Checked c;
  for (int i = 0; i < 2; ++i)
    c.run(c.task("past", [](const consort_call &k) { return sink = at(k, 0)[32], CONSORT_OK; }).r(c.s));
  c.named("out-of-bounds", {"codelet \"past\"", "reads byte 128 of datum \"s\""});
}
TEST(AccessLayer, NamesALineTooManyOfAPartOfAMatrix) {
  Checked c("1", "access.place", "end");
  const consort_tiles tiles{2, 2};
  consort_plan_desc d = CONSORT_PLAN_INIT;
  consort_plan_id plan{0};
  consort_data_id tile[4] = {};
  d.filter = "tiles", d.params = &tiles, d.params_bytes = sizeof tiles;
  ASSERT_OK(consort_plan_create(c.rt, c.m, &d, &plan));
  ASSERT_EQ(consort_plan_parts(c.rt, plan, tile, 4), 4);
  c.run(c.task("tile", [](const consort_call &k) {
           const auto &v = *static_cast<const consort_matrix_view *>(k.views[0]);
           static_cast<int *>(consort_ptr(v.addr))[v.ny * v.ld] = 1;
           return CONSORT_OK;
         }).rw(tile[1]));
  c.named("out-of-bounds", {"codelet \"tile\"", "writes byte 1920 of datum \"m.tiles[1]\" (1920 bytes)"});
}

// -- keeps a pointer ----------------------------------------------------------------------------------------------

TEST(AccessLayer, NamesAReadByAPointerOfAnEarlierTask) {
  Checked c;
  int *kept = nullptr;
  c.run(c.task("keeps", [&](const consort_call &k) { return kept = at(k, 0), CONSORT_OK; }).r(c.x).name("owner"));
  c.run(c.task("uses", [&](const consort_call &) { return sink = kept[10], CONSORT_OK; }).r(c.s).name("later"));
  c.named("kept-pointer", {"task \"later\"", "codelet \"uses\"", "reads byte 40 of datum \"x\"", "task \"owner\"", "codelet \"keeps\"", "has ended"});
}
TEST(AccessLayer, NamesAWriteByAPointerOfAnEarlierTask) {
  Checked c;
  int *kept = nullptr;
  c.run(c.task("keeps", [&](const consort_call &k) { return kept = at(k, 0), CONSORT_OK; }).rw(c.s));
  for (int i = 0; i < 20; ++i) c.run(c.task("between", [](const consort_call &) { return CONSORT_OK; }).rw(c.s).rw(c.f));
  c.run(c.task("uses", [&](const consort_call &) { return kept[2] = 1, CONSORT_OK; }));
  c.named("kept-pointer", {"codelet \"uses\"", "writes byte 8 of datum \"s\"", "codelet \"keeps\""});
}
TEST(AccessLayer, NamesAKeptPointerInAThreadWithoutATask) {
  Checked c;
  int *kept = nullptr;
  c.run(c.task("keeps", [&](const consort_call &k) { return kept = at(k, 0), CONSORT_OK; }).rw(c.x));
  sink = kept[100];
  c.named("kept-pointer", {"a thread that runs no task reads byte 400 of datum \"x\"", "codelet \"keeps\""});
}
TEST(AccessLayer, NamesAKeptPointerToScratchMemory) {
  Checked c;
  int *kept = nullptr;
  const auto keeps = [&](const consort_call &k) {
    if (kept) sink = kept[0];
    kept = at(k, 0);
    return kept[0] = 1, CONSORT_OK;
  };
  c.run(c.task("keeps", keeps).scratch(c.s).name("one"));
  c.run(c.task("again", keeps).scratch(c.s).name("two"));
  c.named("kept-pointer", {"task \"two\"", "reads byte 0 of datum \"s\"", "task \"one\""});
}

// -- touches what it did not declare ------------------------------------------------------------------------------

TEST(AccessLayer, NamesAReadOfADatumThatIsNotDeclared) {
  Checked c;
  c.run(c.task("peeks", [&](const consort_call &) { return sink = c.other[3000], CONSORT_OK; }).rw(c.x).name("peek"));
  c.named("undeclared", {"task \"peek\"", "codelet \"peeks\"", "reads byte 12000 of datum \"y\"", "did not declare"});
}
TEST(AccessLayer, NamesAWriteToADatumThatIsNotDeclared) {
  Checked c;
  c.run(c.task("pokes", [&](const consort_call &) { return c.other[3001] = 5, CONSORT_OK; }).r(c.x));
  EXPECT_EQ(c.other[3001], 5);
  c.named("undeclared", {"codelet \"pokes\"", "writes byte 12004 of datum \"y\""});
}
TEST(AccessLayer, NamesAWriteToASmallDatumThatIsNotDeclared) {
  Checked c;
  c.run(c.task("pokes", [&](const consort_call &) { return c.few[4] = 5, CONSORT_OK; }).rw(c.s));
  c.named("undeclared", {"codelet \"pokes\"", "writes byte 16 of datum \"f\""});
}
TEST(AccessLayer, NamesATaskWithoutDataThatTouchesOne) {
  Checked c;
  c.run(c.task("bare", [&](const consort_call &) { return sink = c.big[2500], CONSORT_OK; }));
  c.named("undeclared", {"codelet \"bare\"", "reads byte 10000 of datum \"x\""});
}
TEST(AccessLayer, NamesATaskThatTouchesAnotherPartThanItsOwn) {
  Checked c;
  const consort_split two{2, 0};
  consort_plan_desc d = CONSORT_PLAN_INIT;
  consort_plan_id plan{0};
  consort_data_id part[2] = {};
  d.filter = "blocks", d.params = &two, d.params_bytes = sizeof two;
  ASSERT_OK(consort_plan_create(c.rt, c.x, &d, &plan));
  ASSERT_EQ(consort_plan_parts(c.rt, plan, part, 2), 2);
  c.run(c.task("strays", [&](const consort_call &) { return c.big[4500] = 1, CONSORT_OK; }).rw(part[0]));
  c.named("undeclared", {"codelet \"strays\"", "writes byte 18000 of datum \"x\""});
}
TEST(AccessLayer, NamesARaceByAMissingDeclaration) {
  if (CONSORT_SAN == 2) GTEST_SKIP() << "the thread sanitizer ends the program at the race";
  Checked c("3");
  const auto writes = c.task("writes", [](const consort_call &k) { return at(k, 0)[2222] = 1, CONSORT_OK; });
  const auto races = c.task("races", [&](const consort_call &) { return c.big[2222]++, CONSORT_OK; });
  for (int i = 0; i < 20; ++i) Desc(writes).rw(c.x).name("declared").must(c.rt), Desc(races).rw(c.s).name("racing").must(c.rt);
  EXPECT_OK(consort_wait_all(c.rt, kLong, 0));
  c.stop();
  EXPECT_TRUE(c.lines.has("undeclared: task \"racing\" (codelet \"races\"")) << c.lines.all();
  EXPECT_FALSE(c.lines.has("task \"declared\"")) << c.lines.all();
}

// -- what is no error ----------------------------------------------------------------------------------------------

TEST(AccessLayer, CorrectProgramsRunUnchanged) {
  for (const Place &place : {Place{On::kCores, "lws"}, Place{On::kCores, "eager"}, Place{On::kSim, "dmda"}, Place{On::kVirtual, "dmda"}}) {
    Lines bare, lines;
    const Outcome without = run_program(place, {}, &bare);
    const Outcome with = run_program(place, {{"check_access", "true"}, {"access.fatal", "true"}}, &lines);
    ASSERT_FALSE(without.numbers.empty()) << without.error;
    EXPECT_EQ(with.numbers, without.numbers) << with.error << lines.all();
    EXPECT_FALSE(lines.has("access: ")) << lines.all();
  }
}
TEST(AccessLayer, TheApplicationMayUseWhatItHasAcquired) {
  Checked c("2");
  Gate gate;
  c.task("waits", [&](const consort_call &) { return gate.pass(), CONSORT_OK; }).rw(c.x).must(c.rt);
  consort_hold hold{};
  ASSERT_OK(consort_acquire(c.rt, c.y, CONSORT_M_RW, kLong, &hold));
  EXPECT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  int fd[2];
  ASSERT_EQ(pipe(fd), 0);
  EXPECT_EQ(write(fd[1], c.other.data() + 1024, 64), 64) << "a system call sees its memory";
  c.other[2000] = 17;
  close(fd[0]), close(fd[1]);
  ASSERT_OK(consort_release(c.rt, hold));
  gate.open();
  c.stop();
  EXPECT_FALSE(c.lines.has("access: ")) << c.lines.all();
}
TEST(AccessLayer, MemoryIsFreeToUseOnceItsDatumIsGone) {
  for (const char *workers : {"1", "3"}) {
    Checked c(workers);
    const auto reads = c.task("reads", [](const consort_call &k) { return sink = at(k, 0)[0], CONSORT_OK; });
    c.run(Desc(reads).r(c.y));
    c.run(Desc(reads).r(c.f));
    ASSERT_OK(consort_unregister(c.rt, c.y));
    ASSERT_OK(consort_unregister(c.rt, c.f));
    const auto local = c.task("local", [&](const consort_call &) {
      int v = 0;
      const consort_data_id mine = variable_of(c.rt, &v);
      for (int *p : {&c.other[3000], &c.few[1]}) __atomic_store_n(p, 3, __ATOMIC_RELAXED);  // three workers write there
      return consort_unregister(c.rt, mine);
    });
    for (int i = 0; i < 50; ++i) Desc(local).must(c.rt);
    EXPECT_OK(consort_wait_all(c.rt, kLong, 0));
    c.stop();
    EXPECT_FALSE(c.lines.has("access: ")) << c.lines.all();
  }
}
TEST(AccessLayer, AHeldTaskKeepsItsDataUntilItEnds) {
  Checked c("2");
  int *data = nullptr;
  const consort_task_id task = c.task("begins", [&](const consort_call &k) {
                                  data = at(k, 0);
                                  need(consort_task_end_hold(c.rt, consort_current_task(c.rt)), "hold");
                                  return CONSORT_OK;
                                }).rw(c.x).must(c.rt);
  ASSERT_OK(consort_wait_no_ready(c.rt, kLong, 0));
  data[1234] = 99;  // its function has returned, and its data are still its own
  ASSERT_OK(consort_task_end_release(c.rt, task));
  EXPECT_OK(consort_wait_all(c.rt, kLong, 0));
  EXPECT_EQ(c.big[1234], 99);
  sink = data[0];
  c.named("kept-pointer", {"a thread that runs no task reads byte 0 of datum \"x\"", "codelet \"begins\""});
}
TEST(AccessLayer, ABodyMayWaitForOtherTasks) {
  Checked c("2");
  const auto inner = c.task("inner", [](const consort_call &k) { return at(k, 0)[0] += 1, CONSORT_OK; });
  c.run(c.task("outer", [&](const consort_call &k) {
           at(k, 0)[7] = 3;
           consort_task_id last{0};
           for (int i = 0; i < 6; ++i) last = Desc(inner).rw(c.s).must(c.rt);
           need(consort_task_wait(c.rt, last, kLong, 0), "wait");
           at(k, 0)[8] = at(k, 0)[7];
           return CONSORT_OK;
         }).rw(c.x));
  EXPECT_EQ(c.small[0], 3 + 6);
  EXPECT_EQ(c.big[8], 3);
  c.stop();
  EXPECT_FALSE(c.lines.has("access: ")) << c.lines.all();
}
TEST(AccessLayer, FailsTheTaskIfAsked) {
  Checked c("1", "access.fatal", "true");
  c.task("reader", [](const consort_call &k) { return at(k, 0)[0] = 7, CONSORT_OK; }).r(c.x).must(c.rt);
  EXPECT_SAYS(CONSORT_E_INTERNAL, consort_wait_all(c.rt, kLong, 0), "access.fatal");
}
TEST(AccessLayer, IsTurnedOnOnlyBySettings) {
  Lines lines;
  consort_settings settings = CONSORT_SETTINGS_INIT;
  const Pairs pairs = {{"check_access", "true"}, {"layers", "access"}, {"drivers", "cpu"}, {"workers", "1"}};
  settings.set = pairs.data(), settings.nset = static_cast<uint32_t>(pairs.size());
  consort_runtime *rt = nullptr;
  ASSERT_OK(consort_start(&settings, &rt)) << "the same layer, named twice";
  consort_stop(rt);
}

// Faults that are none of the layer's go to the handler before it.
TEST(AccessLayerDeathTest, OtherFaultsKeepTheirHandler) {
  if (CONSORT_SAN == 2) GTEST_SKIP() << "the thread sanitizer starts no thread after a fork";
  EXPECT_EXIT(
      {
        struct sigaction mine = {};
        mine.sa_handler = [](int) { _exit(42); };
        sigaction(SIGSEGV, &mine, nullptr);
        Checked c;
        c.run(c.task("null", [](const consort_call &) {
          int *volatile nowhere = nullptr;
          return *nowhere = 1, CONSORT_OK;
        }));
      },
      ::testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace consort_test
