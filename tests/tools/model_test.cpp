// `consort model`: stored models are listed, shown, checked and drawn; wrong use is refused with a message.
#include "model/model_store.hpp"
#include "tools/command.hpp"

namespace {

using consort::StoredModel;
using consort_test::ToolAnswer, consort_test::read_file;

class ModelTool : public consort_test::Tools {
 protected:
  StoredModel model(const std::string &name) const {
    StoredModel m;
    m.machine = consort::machine_words(false);
    m.name = name;
    m.impls = {{"cpu", "plain"}, {"gpu", "fast"}};
    m.cells = {{"cpu", "cpu/x<y>", 0, 7, 1000, 12, 0, {1e6f, 1.1e6f, 0.9e6f}},
               {"cpu", "cpu/x<y>", 0, 8, 100000, 12, 0, {1e8f, 1.1e8f, 0.9e8f}},
               {"gpu", "gpu/9", 1, 7, 1000, 12, 1, {5e4f}}};
    return m;
  }
  void keep(const StoredModel &m) const {
    const auto r = consort::file_of(m, folder_.path()).write(m.body());
    EXPECT_TRUE(r);
  }
  ToolAnswer model_command(const std::string &arguments) const {
    return run("model " + arguments + " --set model_folder=" + folder_.path());
  }
};

TEST_F(ModelTool, ListsNoModels) {
  const ToolAnswer a = model_command("list");
  EXPECT_EQ(a.status, 0);
  EXPECT_TRUE(a.has("no model is stored")) << a.out;
}

TEST_F(ModelTool, ListsAndShows) {
  keep(model("gemm"));
  StoredModel far = model("potrf");
  far.machine = "elsewhere x86_64";
  far.what = 1;
  keep(far);
  const ToolAnswer list = model_command("list");
  EXPECT_EQ(list.status, 0);
  for (const char *part : {"gemm", "time", "potrf", "energy", "of another machine: elsewhere x86_64", "36"})
    EXPECT_TRUE(list.has(part)) << part << "\nis not in\n" << list.out;
  const ToolAnswer show = model_command("show gemm");
  EXPECT_EQ(show.status, 0);
  for (const char *part : {"time of \"gemm\" on this machine", "cpu/x<y>", "plain", "0000000000000007", "1000", "1 ms", "100 ms", "gpu/9", "50 us", "fast"})
    EXPECT_TRUE(show.has(part)) << part << "\nis not in\n" << show.out;
  const ToolAnswer none = model_command("show gem");
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(none.has("no model of \"gem\" is stored (did you mean \"gemm\"?)")) << none.out;
}

TEST_F(ModelTool, ChecksStoredModels) {
  keep(model("gemm"));
  const ToolAnswer good = model_command("check");
  EXPECT_EQ(good.status, 0) << good.out;
  EXPECT_TRUE(good.has("1 models, 3 sizes: all plausible")) << good.out;
  StoredModel wild = model("wild");
  wild.cells = {{"cpu", "cpu/x", 0, 7, 1000, 12, 0, {1, 900, 2, 1000, 500}}, {"cpu", "cpu/x", 0, 8, 2000, 12, 9, {5, 5, 5, 5}}};
  keep(wild);
  std::ofstream(folder_ / "broken.txt") << "consort models 1\nhalf";
  const ToolAnswer bad = model_command("check");
  EXPECT_EQ(bad.status, 1);
  for (const char *part : {"broken.txt: it is cut short", "\"wild\" on cpu/x, 1000 bytes: its measurements differ by more than half",
                           "2000 bytes: more than a quarter", "calibrate = \"drop\""})
    EXPECT_TRUE(bad.has(part)) << part << "\nis not in\n" << bad.out;
}

TEST_F(ModelTool, PlotsSvg) {
  keep(model("gemm"));
  const std::string svg = folder_ / "gemm.svg";
  const ToolAnswer a = model_command("plot gemm -o " + svg);
  EXPECT_EQ(a.status, 0) << a.out;
  ToolAnswer text;
  text.out = read_file(svg);
  for (const char *part : {"<svg ", "</svg>", "gemm: time by bytes of data", "cpu/x&lt;y&gt;, plain", "gpu/9, fast", "1 ms"})
    EXPECT_TRUE(text.has(part)) << part << "\nis not in\n" << text.out;
  EXPECT_FALSE(text.has("nan"));
  EXPECT_FALSE(text.has("inf"));
  const ToolAnswer nowhere = model_command("plot gemm -o " + folder_ / "no/such/folder.svg");
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_TRUE(nowhere.has("cannot write")) << nowhere.out;
}

// By librsvg, which need not be there.
TEST_F(ModelTool, PlotsPng) {
  keep(model("gemm"));
  const std::string png = folder_ / "gemm.png";
  const ToolAnswer a = model_command("plot gemm -o " + png);
  if (a.status == 1 && a.has("a picture needs librsvg (Debian: librsvg2-2)")) {
    EXPECT_FALSE(std::filesystem::exists(png));
    GTEST_SKIP() << a.out;
  }
  ASSERT_EQ(a.status, 0) << a.out;
  const std::string bytes = read_file(png);
  ASSERT_GT(bytes.size(), 2000u) << "there is something on it";
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const auto word = [&](size_t at) {
    uint32_t n = 0;
    for (size_t i = at; i < at + 4; ++i) n = n << 8 | static_cast<uint8_t>(bytes[i]);
    return n;
  };
  EXPECT_EQ(word(16), 960u);
  EXPECT_EQ(word(20), 480u);
  const ToolAnswer nowhere = model_command("plot gemm -o " + folder_ / "no/such/folder.png");
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_TRUE(nowhere.has("cannot write " + folder_ / "no/such/folder.png")) << nowhere.out;
}

TEST_F(ModelTool, FitsARegression) {
  StoredModel m = model("gemm");
  m.cells.clear();
  for (uint64_t i = 1; i <= 5; ++i)
    m.cells.push_back({"cpu", "cpu/x", 0, i, 1000 * i, 12, 0, {static_cast<float>(2000 * i + 500)}});
  m.cells.push_back({"gpu", "gpu/9", 1, 7, 1000, 12, 1, {5e4f}});
  keep(m);
  const ToolAnswer show = model_command("show gemm --fit linear");
  EXPECT_EQ(show.status, 0) << show.out;
  EXPECT_TRUE(show.has("cpu/x, plain: 2 ns * bytes + 500, through 5 sizes, half of them within 0.0 %")) << show.out;
  EXPECT_TRUE(show.has("gpu/9, fast: no curve: too few sizes")) << show.out;
  const ToolAnswer power = model_command("show gemm --fit power");
  EXPECT_TRUE(power.has("ns * bytes^0.8")) << power.out;
  const std::string svg = folder_ / "gemm.svg";
  EXPECT_EQ(model_command("plot gemm --fit power-offset -o " + svg).status, 0);
  const std::string text = read_file(svg);
  EXPECT_NE(text.find("<path d=\"M"), text.npos);
  EXPECT_EQ(model_command("show gemm --fit cubic").status, 2);
}

TEST_F(ModelTool, ImportsTables) {
  const std::string from = folder_ / "tables";
  std::ofstream(from) << "performance model for cpu\n"
                         "# hash    size     mean          dev           n\n"
                         "880805ba  98304    2.731309e+02  6.010210e+01  1240\n"
                         "b50b6605  393216   1.469926e+03  1.088828e+02  1240\n\n"
                         "# performance model for cuda0_impl0 (Comb1)\n"
                         "# hash size flops mean (us) dev (us) n\n"
                         "880805ba 98304 0 100 0 30\n"
                         "performance model for cuda_1\n"
                         "# hash size mean dev n\n"
                         "880805ba 98304 200 0 10\n";
  const ToolAnswer a = model_command("import " + from + " --name lu --class cuda=gpu");
  ASSERT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("3 sizes of \"lu\"")) << a.out;
  const ToolAnswer show = model_command("show lu");
  for (const char *part : {"273.1 us", "1.47 ms", "1240", "98304", "125 us", "40"})  // two devices are one kind
    EXPECT_TRUE(show.has(part)) << part << "\nis not in\n" << show.out;
  EXPECT_EQ(model_command("check").status, 0);
  const auto bad = [&](const std::string &text, const char *why) {
    std::ofstream(from) << text;
    const ToolAnswer refused = model_command("import " + from + " --name lu");
    EXPECT_EQ(refused.status, 1);
    EXPECT_TRUE(refused.has(why)) << why << "\nis not in\n" << refused.out;
  };
  bad("", "has no table");
  bad("1 2 3\n", "tables:1: precedes the first");
  bad("performance model for cpu\n1 2 3\n", "tables:2: precedes a line with column names");
  bad("performance model for cpu\n# hash size mean dev n\n1 2 3\n", "tables:3: has 3 columns, its table 5");
  bad("performance model for cpu\n# hash size mean dev n\na 8 -3 0 4\n", "mean is -3");
  bad("performance model for cpu\n# hash size mean dev n\na 8 3 0 0\n", "n is 0");
  bad("performance model for cpu\n# hash size mean dev n\na 8 nan 0 1\n", "mean is nan");
  EXPECT_EQ(model_command("import " + folder_ / "none --name lu").status, 1);
  EXPECT_EQ(model_command("import " + from + " --name lu --class cuda").status, 1);
}

TEST_F(ModelTool, RefusesWrongUse) {
  EXPECT_EQ(model_command("import x").status, 2);
  EXPECT_EQ(model_command("").status, 2);
  EXPECT_EQ(model_command("show").status, 2);
  EXPECT_EQ(model_command("plot gemm").status, 2);
}

}  // namespace
