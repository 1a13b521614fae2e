// Settings: the origin of each value, refusals and their messages.
#include "plugin/config.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/suggestion.hpp"
#include "plugin/config_value.hpp"

namespace consort {
namespace {

using Pairs = std::vector<consort_setting>;

class ConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (char **v = environ; *v; ++v)
      if (std::string(*v).starts_with("CONSORT_"))
        names_.push_back(std::string(*v).substr(0, std::string(*v).find('=')));
    for (const auto &n : names_) saved_[n] = getenv(n.c_str()), unsetenv(n.c_str());
  }
  void TearDown() override {
    for (const auto &n : set_) unsetenv(n.c_str());
    for (const auto &[n, v] : saved_) setenv(n.c_str(), v.c_str(), 1);
    for (const auto &f : files_) std::filesystem::remove(f);
  }
  void set_variable(const std::string &name, const std::string &value) {
    setenv(name.c_str(), value.c_str(), 1), set_.push_back(name);
  }
  std::string write_file(const std::string &text) {
    const std::string name =
        "/tmp/consort_config_test_" + std::to_string(getpid()) + "_" + std::to_string(files_.size()) + ".toml";
    std::ofstream(name) << text;
    files_.push_back(name);
    return name;
  }
  static Result<std::shared_ptr<Config>> load(const char *text, const Pairs &set = {}, const char *file = nullptr) {
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.text = text, s.file = file, s.set = set.data(), s.nset = static_cast<uint32_t>(set.size());
    return Config::load(&s);
  }
  static std::string refusal(const char *text, const Pairs &set = {}, const char *file = nullptr) {
    auto r = load(text, set, file);
    EXPECT_FALSE(r) << "accepted: " << (text ? text : "");
    return r ? "" : r.error().text;
  }

 private:
  std::vector<std::string> names_, set_, files_;
  std::map<std::string, std::string> saved_;
};

constexpr consort_param kParams[] = {{"depth", "u32", "64", "1..1024", "ops in flight"},
                                     {"mode", "string", "plain", "plain|fancy", "how"},
                                     {"eager", "bool", "no", nullptr, "whether"},
                                     {"ratio", "f64", "0.5", "0..1", "how much"},
                                     {"who", "list", "a, b", nullptr, "whom"},
                                     {"workers", "u32", "0", "0..8", "how many"}};
constexpr uint32_t kN = std::size(kParams);

TEST_F(ConfigTest, KernelKeysHaveDefaults) {
  auto c = Config::load(nullptr);
  ASSERT_TRUE(c) << c.error().text;
  EXPECT_EQ((*c)->number("window"), 2048);
  EXPECT_EQ((*c)->number("bypass"), 32);
  EXPECT_EQ((*c)->number("spin_us"), 100);
  EXPECT_EQ((*c)->number("seed"), 1);
  EXPECT_EQ((*c)->text("pump"), "threads");
  EXPECT_EQ((*c)->text("core_conflict"), "share");
  EXPECT_EQ((*c)->text("log"), "warn");
  EXPECT_EQ((*c)->text("drivers"), "*");
  EXPECT_TRUE((*c)->flag("bind"));
  EXPECT_FALSE((*c)->flag("profile"));
  EXPECT_EQ((*c)->origin("window"), "default");
  EXPECT_EQ((*c)->text("no_such_key"), "");
  EXPECT_EQ((*c)->number("no_such_key"), 0);
}

TEST_F(ConfigTest, SourcesOverrideInOrder) {
  const std::string file =
      write_file("# first line\nwindow = 1\n\nbypass = 1\nspin_us = 1\nseed = 7\n[lws]\ndepth = 3\n");
  set_variable("CONSORT_WINDOW", "3");
  set_variable("CONSORT_BYPASS", "3");
  set_variable("CONSORT_LWS__DEPTH", "5");
  auto c = load("window = 2\nbypass = 2\nspin_us = 2", {{"window", "4"}}, file.c_str());
  ASSERT_TRUE(c) << c.error().text;
  EXPECT_EQ((*c)->number("window"), 4);
  EXPECT_EQ((*c)->origin("window"), "code");
  EXPECT_EQ((*c)->number("bypass"), 3);
  EXPECT_EQ((*c)->origin("bypass"), "environment CONSORT_BYPASS");
  EXPECT_EQ((*c)->number("spin_us"), 2);
  EXPECT_EQ((*c)->origin("spin_us"), "text:3");
  EXPECT_EQ((*c)->number("seed"), 7);
  EXPECT_EQ((*c)->origin("seed"), "file " + file + ":6");
  ASSERT_TRUE((*c)->declare("lws", kParams, kN));
  EXPECT_STREQ((*c)->param("lws", "depth"), "5");
}

TEST_F(ConfigTest, VariableNamesTheFile) {
  const std::string file = write_file("window = 11");
  set_variable("CONSORT_CONFIG", file);
  set_variable("CONSORT_BYPASS", "");
  auto c = Config::load(nullptr);
  ASSERT_TRUE(c) << c.error().text;
  EXPECT_EQ((*c)->number("window"), 11);
  EXPECT_EQ((*c)->number("bypass"), 32);
  auto d = load(nullptr, {}, write_file("window = 12").c_str());
  ASSERT_TRUE(d);
  EXPECT_EQ((*d)->number("window"), 12) << "settings->file goes before the variable";
}

TEST_F(ConfigTest, UnknownKeyNamesPlaceAndSuggestion) {
  const std::string file = write_file("\n\nwindw = 3\n");
  EXPECT_EQ(
      refusal(nullptr, {}, file.c_str()),
      "file " + file + ":3: unknown key \"windw\" (did you mean \"window\"?); consort config lists what there is");
  EXPECT_EQ(refusal(nullptr, {{"schedular", "x"}}),
            "code: unknown key \"schedular\" (did you mean \"scheduler\"?); consort config lists what there is");
  EXPECT_EQ(refusal("zzz = 1"), "text:1: unknown key \"zzz\"; consort config lists what there is");
}

TEST_F(ConfigTest, BadValueNamesPlaceTypeAndRange) {
  EXPECT_EQ(refusal("\nwindow = 1048577"), "text:2: \"window\" expects u32 in 0..1048576, not \"1048577\"");
  EXPECT_EQ(refusal("window = \"many\""), "text:1: \"window\" expects u32 in 0..1048576, not \"many\"");
  EXPECT_EQ(refusal("window = -1"), "text:1: \"window\" expects u32 in 0..1048576, not \"-1\"");
  EXPECT_EQ(refusal("pump = \"hand\""), "text:1: \"pump\" expects threads|manual, not \"hand\"");
  EXPECT_EQ(refusal("profile = \"2\""), "text:1: \"profile\" expects true or false, not \"2\"");
  set_variable("CONSORT_LOG", "loud");
  EXPECT_EQ(refusal(nullptr), "environment CONSORT_LOG: \"log\" expects error|warn|info|debug, not \"loud\"");
}

TEST_F(ConfigTest, ValueOfAnotherTypeNamesPlaceAndType) {
  const auto declared = [](const char *text) {
    auto c = load(text);
    EXPECT_TRUE(c) << text;
    auto r = (*c)->declare("lws", kParams, kN);
    return r ? "taken" : r.error().text;
  };
  EXPECT_EQ(refusal("\nscheduler = 3"),
            "text:2: \"scheduler\" expects string, not the integer 3: a text stands in quotes");
  EXPECT_EQ(refusal("scheduler = [\"lws\"]"),
            "text:1: \"scheduler\" expects string, not the array of lws: a text stands in quotes");
  EXPECT_EQ(refusal("plugin_path = true"),
            "text:1: \"plugin_path\" expects string, not the truth value true: a text stands in quotes");
  EXPECT_EQ(refusal("time = 1.5"),
            "text:1: \"time\" expects real|virtual, not the number 1.5: a text stands in quotes");
  EXPECT_EQ(refusal("drivers = 3"),
            "text:1: \"drivers\" expects list, not the integer 3: a list is written [\"a\", \"b\"]");
  EXPECT_EQ(refusal("plugins = true").find("text:1: \"plugins\" expects list, not the truth value true"), 0u);
  EXPECT_EQ(refusal("window = [3]"), "text:1: \"window\" expects u32 in 0..1048576, not the array of 3");
  EXPECT_EQ(refusal("window = true"), "text:1: \"window\" expects u32 in 0..1048576, not the truth value true");
  EXPECT_EQ(refusal("window = 3.0"), "text:1: \"window\" expects u32 in 0..1048576, not the number 3");
  EXPECT_EQ(refusal("profile = 2"), "text:1: \"profile\" expects true or false, not the integer 2");
  EXPECT_EQ(refusal("bind = []"), "text:1: \"bind\" expects true or false, not the array of nothing");
  for (const char *fine : {"drivers = \"cpu\"", "drivers = \"cpu, sim\"", "seed = \"18446744073709551615\"",
                           "profile = \"yes\"", "plugins = []"})
    EXPECT_TRUE(load(fine)) << fine;
  EXPECT_EQ(declared("[lws]\ndepth = [3]"), "text:2: \"lws.depth\" expects u32 in 1..1024, not the array of 3");
  EXPECT_EQ(declared("[lws]\neager = 1"), "text:2: \"lws.eager\" expects true or false, not the integer 1");
  EXPECT_EQ(declared("[lws]\nratio = 1"), "taken");
}

// Each key of the kernel refuses values of another type and names the place.
TEST_F(ConfigTest, EveryKeyRefusesValuesOfAnotherType) {
  auto c = Config::load(nullptr);
  for (const auto &e : (*c)->entries()) {
    const bool text = e.type == "string", list = e.type == "list", truth = e.type == "bool";
    const std::string at = "text:1: \"" + e.key + "\" expects ";
    const auto refused = [&](const char *value) {
      EXPECT_EQ(refusal((e.key + " = " + value).c_str()).find(at), 0u) << e.key << " = " << value;
    };
    if (text || list || truth) refused("7");
    if (!truth) refused("true");
    if (!list) refused("[\"1\"]");
    auto section = load(("[" + e.key + "]\nx = 1").c_str());
    ASSERT_TRUE(section) << e.key;
    EXPECT_EQ((*section)->check_unused().error().text.find("text:2: \"" + e.key + "\" expects "), 0u) << e.key;
  }
}

TEST_F(ConfigTest, FindsThePlaceOfARefusedValue) {
  auto c = load("[lws]\ndepth = 7\nmode = \"fancy\"\n", {{"lws.who", "me"}});
  ASSERT_TRUE((*c)->declare("lws", kParams, kN));
  const auto place = [&](const char *words, bool any_word = true) { return (*c)->place_named("lws", words, any_word); };
  EXPECT_EQ(place("lws: depth = 7 is too deep"), "text:2");
  EXPECT_EQ(place("lws: lws.mode fancies"), "text:3");
  EXPECT_EQ(place("lws: depth \"7\" is too deep for every mode"), "text:2") << "with its value: surely meant";
  EXPECT_EQ(place("depth = 7 does not go with who = \"me\""), "text:2, code");
  EXPECT_EQ(place("no such mode"), "text:3");
  EXPECT_EQ(place("no such mode", false), "") << "a word like any other";
  EXPECT_EQ(place("ratio = 0.5 is its default, and nobody's fault"), "");
  EXPECT_EQ(place("out of depths"), "");
  EXPECT_EQ((*c)->place_named("prio", "depth = 7", true), "");
}

TEST_F(ConfigTest, BrokenTomlNamesTheLine) {
  const std::string file = write_file("window = 1\nbypass = = 2\n");
  EXPECT_EQ(refusal(nullptr, {}, file.c_str()).find("file " + file + ":2: "), 0u);
  EXPECT_EQ(refusal("window = 1\nwindow = 2").find("text:2: "), 0u);
  EXPECT_EQ(refusal("window = 2020-01-01").find("text:1: \"window\" is a date"), 0u);
  for (const char *letter : {"\u00e9", "\u0416", "\u2d30", "\ufb01", "\ufeff", "\U0001f600"}) {
    EXPECT_EQ(refusal((std::string("x = 1\n") + letter + " = 1").c_str()).find("text:2: "), 0u) << letter;
    EXPECT_EQ(refusal((std::string("window = 1") + letter).c_str()).find("text:1: "), 0u) << letter;
    EXPECT_TRUE(load((std::string("# ") + letter + "\nplugin_path = \"" + letter + "\"").c_str())) << letter;
  }
  EXPECT_EQ(refusal("[=]").find("text:1: "), 0u) << "the parser's own assumption does not hold";
  EXPECT_EQ(refusal("plugins = [[1]]").find("text:1: the array \"plugins\" may hold"), 0u);
  EXPECT_EQ(refusal("plugins = [\"a,b\"]").find("text:1: the array \"plugins\": \"a,b\" has a comma"), 0u);
  EXPECT_EQ(refusal("window = \"\xff\"").find("text:1: "), 0u);
}

TEST_F(ConfigTest, RefusesUnreadableFiles) {
  EXPECT_EQ(refusal(nullptr, {}, "/no/such/file.toml"),
            "config file \"/no/such/file.toml\" cannot be read: No such file or directory");
  EXPECT_EQ(refusal(nullptr, {}, "/tmp"), "config file \"/tmp\" is not a plain file");
  EXPECT_EQ(refusal(nullptr, {}, "/dev/null"), "config file \"/dev/null\" is not a plain file");
}

TEST_F(ConfigTest, RefusesBadSettings) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.size = 3;
  EXPECT_FALSE(Config::load(&s));
  s = CONSORT_SETTINGS_INIT;
  s.nset = 2;
  auto r = Config::load(&s);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().status, CONSORT_E_INVAL);
  EXPECT_EQ(refusal(nullptr, {{"window", nullptr}}), "settings: set[0] has a NULL value");
  EXPECT_EQ(refusal(nullptr, {{nullptr, "1"}}), "settings: set[0] has a NULL key");
  s = CONSORT_SETTINGS_INIT;  // an older caller, that knows of file alone: fields beyond its size are not read
  s.size = offsetof(consort_settings, text);
  s.text = reinterpret_cast<const char *>(1);
  EXPECT_TRUE(Config::load(&s));
}

TEST_F(ConfigTest, PluginsDeclareParameters) {
  auto c = load("[lws]\ndepth = 0x10\neager = \"on\"\nratio = 0.25\nwho = [\"x\", \"y\"]", {{"lws.mode", "fancy"}});
  ASSERT_TRUE(c) << c.error().text;
  EXPECT_EQ((*c)->param("lws", "depth"), nullptr) << "not declared yet";
  auto declared = (*c)->declare("lws", kParams, kN);
  ASSERT_TRUE(declared) << declared.error().text;
  EXPECT_STREQ((*c)->param("lws", "depth"), "16");
  EXPECT_STREQ((*c)->param("lws", "eager"), "true");
  EXPECT_STREQ((*c)->param("lws", "ratio"), "0.25");
  EXPECT_STREQ((*c)->param("lws", "mode"), "fancy");
  EXPECT_STREQ((*c)->param("lws", "who"), "x,y");
  EXPECT_EQ((*c)->param("lws", "nothing"), nullptr);
  EXPECT_EQ((*c)->param("other", "depth"), nullptr);
}

TEST_F(ConfigTest, RefusesBadPluginParameters) {
  const auto declare = [&](const char *text) {
    auto c = load(text);
    EXPECT_TRUE(c);
    auto r = (*c)->declare("lws", kParams, kN);
    EXPECT_FALSE(r) << text;
    return r.error().text;
  };
  EXPECT_EQ(
      declare("[lws]\ndepht = 3"),
      "text:2: plugin \"lws\" has no key \"depht\" (did you mean \"depth\"?); consort config lists what there is");
  EXPECT_EQ(declare("[lws]\n\ndepth = 0"), "text:3: \"lws.depth\" expects u32 in 1..1024, not \"0\"");
  EXPECT_EQ(declare("[lws]\nmode = \"fance\""), "text:2: \"lws.mode\" expects plain|fancy, not \"fance\"");
  EXPECT_EQ(declare("[lws]\nratio = 1.5"), "text:2: \"lws.ratio\" expects f64 in 0..1, not \"1.5\"");
  EXPECT_EQ(declare("[lws.inner]\ndepth = 3").find("text:2: plugin \"lws\" has no key \"inner.depth\""), 0u);
  set_variable("CONSORT_LWS__DEPT", "3");
  EXPECT_EQ(declare(nullptr),
            "environment CONSORT_LWS__DEPT: plugin \"lws\" has no key \"dept\" (did you mean \"depth\"?); consort "
            "config lists what there is");
}

TEST_F(ConfigTest, RefusesBadDeclarations) {
  auto c = Config::load(nullptr);
  const auto declare = [&](consort_param p) {
    auto r = (*c)->declare("x", &p, 1);
    EXPECT_FALSE(r);
    EXPECT_EQ(r.error().status, CONSORT_E_ABI);
    return r.error().text;
  };
  EXPECT_EQ(declare({"a", "u32", "9", "1..8", ""}),
            "plugin \"x\" declares parameter 0, \"a\": its default expects u32 in 1..8, not \"9\"");
  EXPECT_NE(declare({"a", "colour", "red", nullptr, ""}).find("type \"colour\" is not known"), std::string::npos);
  EXPECT_NE(declare({"a", "bool", "no", "1..2", ""}).find("makes no sense"), std::string::npos);
  EXPECT_NE(declare({nullptr, "bool", "no", "1..2", ""}).find("without key"), std::string::npos);
  EXPECT_NE(declare({"a", "u32", nullptr, nullptr, ""}).find("without key, type or default"), std::string::npos);
}

TEST_F(ConfigTest, RedeclarationKeepsOldPointersValid) {
  auto c = load("[lws]\ndepth = 7");
  ASSERT_TRUE((*c)->declare("lws", kParams, kN));
  const char *before = (*c)->param("lws", "depth");
  ASSERT_TRUE((*c)->declare("lws", kParams, 1));
  EXPECT_STREQ(before, "7");
  EXPECT_STREQ((*c)->param("lws", "depth"), "7");
  EXPECT_EQ((*c)->param("lws", "mode"), nullptr);
}

TEST_F(ConfigTest, WorkersAndSeedAreDefaultsOfPlugins) {
  auto c = load("workers = 3");
  ASSERT_TRUE((*c)->declare("a", kParams, kN));
  EXPECT_STREQ((*c)->param("a", "workers"), "3");
  auto d = load("workers = 3\n[a]\nworkers = 1");
  ASSERT_TRUE((*d)->declare("a", kParams, kN));
  EXPECT_STREQ((*d)->param("a", "workers"), "1");
  auto e = load("workers = 9");
  EXPECT_EQ((*e)->declare("a", kParams, kN).error().text,
            "text:1: \"workers\", for \"a\", expects u32 in 0..8, not \"9\"");
}

TEST_F(ConfigTest, RefusesSectionsOfUnknownPlugins) {
  auto c = load("[lsw]\ndepth = 3");
  ASSERT_TRUE(c);
  (*c)->know_plugins({"lws", "prio"});
  EXPECT_EQ((*c)->check_unused().error().text,
            "text:2: key \"lsw.depth\" is for a plugin \"lsw\", which was not found (did you mean \"lws\"?); consort "
            "plugins lists what there is");
  auto d = load("[lws]\ndepth = 3");
  (*d)->know_plugins({"lws", "prio"});
  EXPECT_TRUE((*d)->check_unused());
  set_variable("CONSORT_PRIOR__X", "1");
  auto e = load(nullptr);
  (*e)->know_plugins({"lws", "prio"});
  EXPECT_EQ(
      (*e)->check_unused().error().text.find(
          "environment CONSORT_PRIOR__X: is for a plugin \"prior\", which was not found (did you mean \"prio\"?)"),
      0u);
}

TEST_F(ConfigTest, UnknownVariablesAreListed) {
  set_variable("CONSORT_WINDW", "1");
  set_variable("CONSORT_CONFIG", "");
  auto c = load(nullptr);
  ASSERT_TRUE(c);
  ASSERT_EQ((*c)->strange_variables().size(), 1u);
  EXPECT_EQ((*c)->strange_variables()[0], "environment CONSORT_WINDW is no setting (did you mean \"CONSORT_WINDOW\"?)");
}

TEST_F(ConfigTest, DeprecatedKeysWarn) {
  auto code = load(nullptr, {{"cores", "refuse"}});
  ASSERT_TRUE(code) << code.error().text;
  EXPECT_EQ((*code)->text("core_conflict"), "refuse");
  ASSERT_EQ((*code)->warnings().size(), 1u);
  EXPECT_EQ((*code)->warnings()[0],
            "code: \"cores\" is deprecated: write \"core_conflict\" (which cores to use is a key of the driver's own section)");
  auto both = load("cores = \"refuse\"\ncore_conflict = \"share\"", {{"core_conflict", "share"}});
  EXPECT_EQ((*both)->text("core_conflict"), "share") << "the new name goes over the old one";
  auto wrong = load("cores = \"0-3\"");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text.find("a key of the driver's own section"), std::string::npos) << wrong.error().text;
  set_variable("CONSORT_CORES", "refuse");
  auto variable = load(nullptr);
  EXPECT_EQ((*variable)->text("core_conflict"), "refuse");
  EXPECT_EQ((*variable)->origin("core_conflict"), "environment CONSORT_CORE_CONFLICT");
  EXPECT_EQ((*variable)->warnings().size(), 1u) << "and it is no strange variable";
}

TEST_F(ConfigTest, WorldWritableFileWarns) {
  const std::string file = write_file("window = 7\n");
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  EXPECT_TRUE((*load(nullptr, {}, file.c_str()))->warnings().empty());
  ASSERT_EQ(chmod(file.c_str(), 0666), 0);
  auto c = load(nullptr, {}, file.c_str());
  ASSERT_TRUE(c) << c.error().text;
  EXPECT_EQ((*c)->number("window"), 7) << "it counts all the same";
  ASSERT_EQ((*c)->warnings().size(), 1u);
  EXPECT_EQ((*c)->warnings()[0], "config file \"" + file + "\" may be written by every user (mode 0666): chmod go-w takes that away");
  if (geteuid() != 0) return;
  ASSERT_EQ(chmod(file.c_str(), 0664), 0);
  ASSERT_EQ(chown(file.c_str(), 0, 54321), 0);
  EXPECT_NE((*load(nullptr, {}, file.c_str()))->warnings().at(0).find("by its group (mode 0664): chmod g-w"), std::string::npos);
  ASSERT_EQ(chown(file.c_str(), 54321, 54321), 0);
  EXPECT_NE((*load(nullptr, {}, file.c_str()))->warnings().at(0).find("belongs to user 54321"), std::string::npos);
}

TEST_F(ConfigTest, EntriesDescribeEveryKey) {
  auto c = load("[lws]\ndepth = 7\n");
  ASSERT_TRUE((*c)->declare("lws", kParams, kN));
  bool seen = false;
  for (const auto &e : (*c)->entries()) {
    EXPECT_FALSE(e.help.empty()) << e.key;
    if (e.key != "lws.depth") continue;
    seen = true;
    EXPECT_EQ(e.type + " " + e.value + " " + e.dflt + " " + e.range + " " + e.origin, "u32 7 64 1..1024 text:2");
  }
  EXPECT_TRUE(seen);
}

TEST(ConfigValue, ReadsNumbersWithinRange) {
  const auto text = [](const char *s, const char *type, const char *range = "") {
    auto v = read_value(s, type, range);
    return v ? v->text : "refused";
  };
  EXPECT_EQ(text(" 18446744073709551615 ", "u64"), "18446744073709551615");
  EXPECT_EQ(text("18446744073709551616", "u64"), "refused");
  EXPECT_EQ(text("-9223372036854775808", "i64"), "-9223372036854775808");
  EXPECT_EQ(text("-9223372036854775809", "i64"), "refused");
  EXPECT_EQ(text("4294967296", "u32"), "refused");
  EXPECT_EQ(text("-1", "u32"), "refused");
  EXPECT_EQ(text("+5", "i32"), "5");
  EXPECT_EQ(text("--5", "i32"), "refused");
  EXPECT_EQ(text("5x", "i32"), "refused");
  EXPECT_EQ(text("", "i32"), "refused");
  EXPECT_EQ(text("1_000", "u32"), "1000");
  EXPECT_EQ(text("_1", "u32"), "refused");
  EXPECT_EQ(text("0xffffffff", "u32"), "4294967295");
  EXPECT_EQ(text("nan", "f64"), "refused");
  EXPECT_EQ(text("inf", "f64"), "refused");
  EXPECT_EQ(text("1e3", "f64", "0..1000"), "1000");
  EXPECT_EQ(text("3", "u32", "4.."), "refused");
  EXPECT_EQ(text("5", "u32", "..4"), "refused");
  EXPECT_EQ(text("-3", "i32", "-4..-2"), "-3");
  EXPECT_EQ(text("2", "u32", "1|2|4"), "2");
  EXPECT_EQ(text("3", "u32", "1|2|4"), "refused");
  EXPECT_EQ(text("a,,b , c", "list"), "a,b,c");
  EXPECT_EQ(text("a,d", "list", "a|b"), "refused");
  EXPECT_EQ(text("yes", "bool"), "true");
  EXPECT_EQ(text("maybe", "bool"), "refused");
}

TEST(Suggestion, FindsTheNearestWord) {
  const std::vector<std::string> words = {"dm", "dmda", "dmdas", "lws", "eager", "prio"};
  EXPECT_EQ(nearest("dmad", words), "dmda");
  EXPECT_EQ(nearest("LWS", words), "lws");
  EXPECT_EQ(nearest("eagre", words), "eager");
  EXPECT_EQ(nearest("priority", words), "prio");
  EXPECT_EQ(nearest("zebra", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("lws", {}), "");
  EXPECT_EQ(nearest(std::string(5000, 'a'), words), "");
  EXPECT_EQ(did_you_mean("dmad", words), " (did you mean \"dmda\"?)");
}

// A set-user-id program of root, copied from this one: the system marks it as privileged.
TEST_F(ConfigTest, PrivilegedProcessIgnoresTheEnvironment) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to make a set-user-id program";
  const std::string copy = "/tmp/consort_config_suid_" + std::to_string(getpid());
  std::filesystem::copy_file("/proc/self/exe", copy);
  ASSERT_EQ(chmod(copy.c_str(), 04755), 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("CONSORT_WINDOW", "7", 1);
    setenv("CONSORT_CONFIG", "/no/such/file", 1);
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(77);
    const char *const argv[] = {copy.c_str(), "--print-window", nullptr};
    execv(copy.c_str(), const_cast<char *const *>(argv));
    _exit(77);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  std::filesystem::remove(copy);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 78) GTEST_SKIP() << "set-user-id programs do not work here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace consort

#include <sys/auxv.h>
int main(int argc, char **argv) {
  if (argc == 2 && std::string(argv[1]) == "--print-window") {
    if (!getauxval(AT_SECURE)) return 78;
    auto c = consort::Config::load(nullptr);
    return c && (*c)->number("window") == 2048 ? 0 : 1;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
