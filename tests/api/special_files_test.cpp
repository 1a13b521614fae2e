// Files that the runtime reads or writes by its settings: pipes, devices and folders in their place are told in words. None
// of them is waited for: the watchdog would end this program.
#include <consort/model.h>
#include <consort/reports.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

#include "api/harness.hpp"
#include "support/folder.hpp"

using namespace consort_test;

namespace {

consort_status fine(const consort_call *) { return CONSORT_OK; }

struct SpecialFiles : ::testing::Test {
  Folder folder{"odd"};
  std::string pipe(const std::string &name) const {
    EXPECT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
    return folder / name;
  }
  std::string pipe_ = pipe("pipe");
};

TEST_F(SpecialFiles, ConfigurationFileIsRefused) {
  for (const std::string &odd : {pipe_, folder.path(), std::string("/dev/zero")}) {
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.file = odd.c_str();
    consort_runtime *rt = nullptr;
    EXPECT_SAYS(CONSORT_E_IO, consort_start(&s, &rt), odd, "is not a plain file");
  }
}

TEST_F(SpecialFiles, MachineAndTopologyAreRefused) {
  for (const std::string &odd : {pipe_, folder.path(), std::string("/dev/zero")}) {
    consort_runtime *rt = nullptr;
    const Answer machine(start({{"drivers", "sim"}, {"sim.machine", odd.c_str()}}, &rt));
    EXPECT_LT(machine.status, 0);
    EXPECT_NE(machine.text.find("is not a plain file"), std::string::npos) << machine.text;
    const Answer topology(start({{"drivers", "cpu"}, {"cpu.topology", odd.c_str()}}, &rt));
    EXPECT_LT(topology.status, 0);
    EXPECT_NE(topology.text.find("is not a plain file"), std::string::npos) << topology.text;
  }
}

TEST_F(SpecialFiles, TracePipeNeedsAReader) {
  consort_runtime *rt = nullptr;
  const Pairs pairs = {{"workers", "1"}, {"cpu.topology", kFourCores}, {"trace", pipe_.c_str()}};
  EXPECT_SAYS(CONSORT_E_IO, start(pairs, &rt), pipe_);
  const int reader = ::open(pipe_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_OK(start(pairs, &rt));
  EXPECT_OK(consort_stop(rt));
  char head[16] = "";
  EXPECT_GT(::read(reader, head, sizeof head - 1), 0);
  EXPECT_EQ(std::string(head).substr(0, 13), "consort trace");
  ::close(reader);
}

TEST_F(SpecialFiles, PipesInTheModelFolderAreSkipped) {
  const auto list = [&](std::vector<std::string> *reasons) {
    const consort_setting set = {"model_folder", folder.path().c_str()};
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = &set, s.nset = 1;
    return consort_list_models(&s, [](void *user, const consort_model_file *f) {
      static_cast<std::vector<std::string> *>(user)->push_back(f->reason);
    }, nullptr, reasons);
  };
  std::string kept;  // where a model of this name is looked for
  {
    const consort_setting set = {"model_folder", folder.path().c_str()};
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = &set, s.nset = 1;
    consort_model_row row{};
    row.size = sizeof row, row.klass = "cpu", row.bytes = 4, row.count = 1, row.median = 1000;
    char path[4096] = "";
    ASSERT_OK(consort_keep_model(&s, "c", CONSORT_MODEL_TIME, &row, 1, path, sizeof path));
    kept = path;
  }
  ASSERT_EQ(::unlink(kept.c_str()), 0);
  ASSERT_EQ(::mkfifo(kept.c_str(), 0600), 0);
  std::vector<std::string> reasons;
  EXPECT_OK(list(&reasons));
  EXPECT_EQ(reasons, std::vector<std::string>{"it is not a plain file"});
  Rt rt({{"workers", "1"}, {"cpu.topology", kFourCores}, {"scheduler", "dmda"}, {"model_folder", folder.path().c_str()}});
  const auto c = codelet(rt, "c", fine);
  int x = 0;
  const consort_data_id d = variable_of(rt, &x);
  for (int i = 0; i < 4; ++i) Desc(c).rw(d).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(SpecialFiles, ReportInputIsRefused) {
  for (const std::string &odd : {pipe_, folder.path(), std::string("/dev/zero")})
    EXPECT_SAYS(CONSORT_E_IO, consort_report_file(nullptr, "summary", odd.c_str(), [](void *, const char *) {}, nullptr), odd,
                "is not a plain file");
}

TEST_F(SpecialFiles, PluginPipesAreRefused) {
  const std::string plugin = pipe("x.so");
  Rt rt({{"workers", "1"}, {"cpu.topology", kFourCores}, {"plugin_path", folder.path().c_str()}, {"log", "error"}});
  consort_runtime *none = nullptr;
  const std::string named = "+" + plugin;
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, start({{"plugins", named.c_str()}}, &none), "is not a plain file");
}

// A machine that no machine is: refused before it is built.
TEST_F(SpecialFiles, HugeTopologyIsRefused) {
  consort_runtime *rt = nullptr;
  for (const char *huge : {"pu:1048575", "numa:1024 core:1024 pu:4", "pu:99999999999999999999", "2 3000 4", "pu:2049",
                           "group:2 group:2 group:2 group:2 group:2 group:2 group:2 group:2 group:2 group:2 group:2 pu:2"})
    EXPECT_SAYS(CONSORT_E_INVAL, start({{"cpu.topology", huge}, {"workers", "1"}}, &rt), huge, "2048 hardware threads");
  ASSERT_OK(start({{"cpu.topology", "pu:2048"}, {"cpu.workers", "1"}, {"workers", "1"}}, &rt)) << "the largest that is taken";
  EXPECT_OK(consort_stop(rt));
  ASSERT_OK(start({{"cpu.topology", "numa:2(memory=1048576) core:4 pu:2"}, {"workers", "1"}}, &rt));
  EXPECT_OK(consort_stop(rt));
}

}  // namespace
