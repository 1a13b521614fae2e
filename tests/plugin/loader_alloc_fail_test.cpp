// Every allocation of finding and loading plugins, and of reading settings, fails in turn. The result is an error, or
// an exception that the entry points catch. It is never a crash, a leak, or a plugin that is started and not ended.
#include <consort/consort.h>

#include "loader_support.hpp"
#include "support/replace_new.hpp"

namespace {
thread_local long countdown = -1;  // allocations until one fails; < 0: none does
}

bool consort_test::allocation_fails(const void *) { return countdown >= 0 && countdown-- == 0; }

namespace consort {
namespace {

// Runs f with the k-th allocation failing, for k = 0, step, … until it gets through. Answers with which k.
template <class F>
long each_allocation(F f, long step = 1) {
  constexpr long kMost = 100000;
  for (long k = 0; k < kMost; k += step) {
    bool through = false;
    countdown = k;
    try {
      f();
    } catch (const std::bad_alloc &) {
    }
    through = countdown >= 0;
    countdown = -1;
    if (through) return k;
  }
  ADD_FAILURE() << "it never got through";
  return kMost;
}

constexpr const char *kText =
    "window = 3\nplugins = [\"^nobody\"]\n[good]\ndepth = 9\nmode = \"fancy\"\nratio = 0.5\nnames = [\"a\", \"b\"]\n";

TEST(LoaderAllocFail, EachAllocationOfSettingsFails) {
  const long n = each_allocation([] {
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.text = kText;
    auto c = Config::load(&s);
    if (!c) throw std::bad_alloc();
    (void)(*c)->entries();
    (void)(*c)->check_unused();
  });
  EXPECT_GT(n, 20);
}

TEST(LoaderAllocFail, EachAllocationOfBadSettingsFails) {
  for (const char *text : {"window = ", "windw = 3", "window = \"x\"", "x = [[[", "a = 1\na = 2", "x = 2020-01-01"})
    EXPECT_GT(each_allocation([&] {
      consort_settings s = CONSORT_SETTINGS_INIT;
      s.text = text;
      auto c = Config::load(&s);
      EXPECT_FALSE(c);
    }), 3) << text;
}

struct Counts { int inits = 0, finis = 0; };

TEST(LoaderAllocFail, EachAllocationOfDiscoveryAndLoadFails) {
  const Folder folder;
  for (const char *name : {"good", "good_newer", "moody", "foreign", "bad_no_ops", "refuses"}) folder.add(name);
  write_all(folder / "damaged.so", "\x7f" "ELF");
  Counts counts;
  // A line whose text found no memory comes without the plugin's name.
  const LogFn log = [](void *user, int32_t, const char *utf8) {
    auto &c = *static_cast<Counts *>(user);
    const std::string_view line = utf8;
    c.inits += line == "good: 9" || line == "9";
    c.finis += line == "good: fini" || line == "fini";
  };
  const long n = each_allocation([&] {
    const consort_setting set[] = {{"plugin_path", folder.path().c_str()}, {"log", "debug"}};
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.text = kText, s.set = set, s.nset = 2;
    auto c = Config::load(&s);
    if (!c) throw std::bad_alloc();
    auto r = Registry::open(*c, {}, log, &counts, nullptr, 0);
    if (!r) return;
    (void)(*r)->load(CONSORT_KIND_SCHEDULER, "good");
    (void)(*r)->load(CONSORT_KIND_DRIVER, "moody");
    (void)(*r)->load(CONSORT_KIND_DRIVER, "refuses");
    (void)(*r)->load(CONSORT_KIND_INTERFACE, "bad_no_ops");
    (void)(*r)->load(CONSORT_KIND_SCHEDULER, "nobody");
  });
  EXPECT_GT(n, 200);
  EXPECT_GT(counts.inits, 1);
  EXPECT_EQ(counts.inits, counts.finis);
}

TEST(LoaderAllocFail, EachAllocationOfListCallsFails) {
  long rows = 0;
  const long n = each_allocation([&] {
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.log = [](void *, int32_t, const char *) {};
    const consort_status a = consort_list_plugins(
        &s, CONSORT_LIST_LOAD, [](void *user, const consort_plugin_row *) { ++*static_cast<long *>(user); }, &rows);
    const consort_status b = consort_list_config(
        &s, [](void *user, const consort_config_row *) { ++*static_cast<long *>(user); }, &rows);
    EXPECT_TRUE(a == CONSORT_OK || a == CONSORT_E_NOMEM) << a << consort_error();
    EXPECT_TRUE(b == CONSORT_OK || b == CONSORT_E_NOMEM) << b << consort_error();
  }, CONSORT_SAN || std::getenv("STRESS_BRIEF") ? 5 : 1);  // loads all plugins each time
  EXPECT_GT(n, 100);
  EXPECT_GT(rows, 100);
}

}  // namespace
}  // namespace consort
