// DBG-01: tools/gdb/consort.py lists the unfinished tasks of a live process and of its core dump. This program is also
// the debugged one: called with GDB_TEST_CHILD it stops by a signal amid its tasks.
#include <consort/consort.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "observe/debug.hpp"
#include "tools/command.hpp"

namespace {

using consort_test::Tools;

std::atomic<bool> submitted{false};

consort_status slow(const consort_call *) {
  while (!submitted) std::this_thread::yield();
  raise(SIGUSR1);
  return CONSORT_OK;
}

int be_looked_at() {
  const rlimit little = {1000 << 20, 1000 << 20};  // gdb writes reserved address space into a core, too
  setrlimit(RLIMIT_AS, &little);
  const consort_setting set[] = {{"workers", "1"}};
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = set, s.nset = 1;
  consort_runtime *rt = nullptr;
  if (consort_start(&s, &rt) < 0) return 3;
  const consort_impl impl = {"cpu", slow, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
  consort_codelet c = CONSORT_CODELET_INIT;
  c.name = "slow", c.impls = &impl, c.nimpls = 1;
  consort_codelet_id codelet{};
  consort_data_id x{}, y{};
  static double v[4];
  const consort_vector_args args = {v, 4, sizeof *v};
  const consort_data_desc named = {sizeof named, 0, "vector", &args, sizeof args, "pressure"};
  if (consort_codelet_add(rt, &c, &codelet) < 0 || consort_register(rt, &named, &x) < 0 ||
      consort_register_vector(rt, nullptr, 8, 1, &y) < 0)
    return 4;
  const consort_use uses[] = {{x, CONSORT_M_RW, 0}, {y, CONSORT_M_W, 0}};
  consort_task_desc d = CONSORT_TASK_INIT;
  d.codelet = codelet, d.uses = uses, d.nuses = 2;
  if (consort_submit(rt, &d, nullptr) < 0) return 5;
  d.name = "the second", d.priority = -3, d.nuses = 1;
  if (consort_submit(rt, &d, nullptr) < 0) return 6;
  submitted = true;
  consort_stop(rt);
  return 0;
}

class Gdb : public Tools {
 protected:
  std::string gdb(const std::string &commands) const {
    const std::string out = folder_ / "out";
    const int status = std::system(
        ("GDB_TEST_CHILD=1 timeout 60 gdb -nx -batch " + commands + " >" + out + " 2>&1 </dev/null").c_str());
    std::ifstream in(out);
    return std::string{std::istreambuf_iterator<char>(in), {}} + "gdb's status " + std::to_string(WEXITSTATUS(status));
  }
  const std::string source_ = " -ex 'source " CONSORT_TEST_SOURCE_DIR "/../tools/gdb/consort.py'";
};

void expect_tasks(const std::string &said) {
  for (const char *part : {"runtime #1: 2 unfinished tasks", "STATE", "running", "slow", "pressure RW, vector#2 W",
                           "waits for 1", "the second", "-3", "default"})
    EXPECT_NE(said.find(part), said.npos) << part << "\n" << said;
}

TEST_F(Gdb, ListsTasksOfProcessesAndCores) {
  if (CONSORT_SAN) GTEST_SKIP() << "sanitizers and debuggers do not go together";
  if (std::system("gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1 </dev/null"))
    GTEST_SKIP() << "no gdb with Python here";
  ASSERT_EQ(consort_debug.version, 2u);  // and so it is linked in
  const std::string program = std::filesystem::canonical("/proc/self/exe").string(), core = folder_ / "core";
  const std::string live =
      gdb("-ex run" + source_ + " -ex consort-tasks -ex 'consort-tasks 7' -ex 'generate-core-file " + core +
          "' -ex kill " + program);
  if (live.find("ptrace") != live.npos && live.find("not permitted") != live.npos) GTEST_SKIP() << "no ptrace here";
  expect_tasks(live);
  EXPECT_NE(live.find("no runtime #7 is alive"), live.npos) << live;
  expect_tasks(gdb(source_ + " -ex consort-tasks " + program + " " + core));
}

TEST_F(Gdb, ReportsProgramsWithoutConsort) {
  if (std::system("gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1 </dev/null"))
    GTEST_SKIP() << "no gdb with Python here";
  const std::string said = gdb(source_ + " -ex consort-tasks /bin/true");
  EXPECT_NE(said.find("the program does not use Consort"), said.npos) << said;
}

}  // namespace

int main(int argc, char **argv) {
  if (std::getenv("GDB_TEST_CHILD")) return be_looked_at();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
