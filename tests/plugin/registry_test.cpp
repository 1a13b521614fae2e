// Finding, choosing, loading, starting and ending plugins.
#include "plugin/registry.hpp"

#include <algorithm>
#include <cstring>

#include <dlfcn.h>
#if CONSORT_SAN == 1
#include <sanitizer/lsan_interface.h>
#endif

#include "base/clock.hpp"
#include "loader_support.hpp"

namespace consort {
namespace {

std::string load_error(Registry &r, uint32_t kind, const char *name) {
  auto p = r.load(kind, name);
  EXPECT_FALSE(p) << name;
  return p ? "" : p.error().text;
}
std::string load_error(const std::string &fixture, uint32_t kind, Pairs set = {}) {
  const Folder folder;
  folder.add(fixture);
  Lines lines;
  auto r = open_registry(folder.path(), &lines, set);
  EXPECT_TRUE(r);
  std::string text = load_error(**r, kind, fixture.c_str());
  for (size_t at; (at = text.find(folder.path())) != text.npos;) text.replace(at, folder.path().size(), "DIR");
  EXPECT_EQ(text.find('\n'), text.npos) << "one line";
  return text;
}

TEST(Registry, FindsWithoutLoading) {
  const Folder folder;
  folder.add("good");
  folder.add("moody");
  folder.add("foreign");
  write_all(folder / "notes.txt", "no plugin");
  write_all(folder / ".hidden.so", "no plugin");
  Lines lines;
  auto r = open_registry(folder.path(), &lines);
  ASSERT_TRUE(r) << r.error().text;
  const auto *good = find(**r, "good");
  ASSERT_TRUE(good);
  EXPECT_TRUE(good->usable);
  EXPECT_EQ(good->kind, CONSORT_KIND_SCHEDULER);
  EXPECT_EQ(good->version, "1.2.0");
  EXPECT_EQ(good->path, folder / "good.so");
  EXPECT_EQ(good->reason, "");
  EXPECT_EQ(good->flags, CONSORT_PF_VIRTUAL);
  const auto *foreign = find(**r, "foreign.so");
  ASSERT_TRUE(foreign);
  EXPECT_FALSE(foreign->usable);
  EXPECT_NE(foreign->reason.find("has no note of a Consort plugin"), std::string::npos);
  EXPECT_FALSE(find(**r, "notes.txt"));
  EXPECT_FALSE(find(**r, ".hidden.so"));
  EXPECT_EQ(dlopen((folder / "good.so").c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(Registry, LoadsAndInitialisesOnce) {
  const Folder folder;
  folder.add("good");
  Lines lines;
  {
    auto r = open_registry(folder.path(), &lines, {{"good.depth", "99"}});
    ASSERT_TRUE(r);
    auto p = (*r)->load(CONSORT_KIND_SCHEDULER, "good");
    ASSERT_TRUE(p) << p.error().text;
    EXPECT_EQ(*(*r)->load(CONSORT_KIND_SCHEDULER, "good"), *p);
    EXPECT_EQ(lines.count("2 good: 99"), 1u) << lines.all();
    EXPECT_STREQ((*p)->manifest->name, "good");
    EXPECT_EQ((*p)->path, folder / "good.so");
    ASSERT_NE((*p)->scheduler(), nullptr);
    EXPECT_EQ((*p)->driver(), nullptr);
    EXPECT_EQ((*p)->interface(), nullptr);
    EXPECT_EQ((*p)->manifest->ops, (*p)->scheduler());
    EXPECT_EQ((*p)->scheduler()->size, sizeof(consort_scheduler_ops));
    EXPECT_EQ((*p)->scheduler()->urgency, nullptr) << "optional hooks stay NULL";
    EXPECT_EQ(host_plugin((*p)->host), *p);
    EXPECT_NE((*p)->manifest->get((*p)->self, "com.acme.x/1"), nullptr);
    EXPECT_EQ((*p)->manifest->get((*p)->self, "com.acme.y/1"), nullptr);
    EXPECT_FALSE(lines.has("fini"));
  }
  EXPECT_EQ(lines.count("2 good: fini"), 1u);
}

TEST(Registry, NotFoundSuggestsAName) {
  const Folder folder;
  folder.add("good");
  Lines lines;
  auto r = open_registry(folder.path(), &lines);
  EXPECT_EQ(load_error(**r, CONSORT_KIND_SCHEDULER, "godo"),
            "scheduler \"godo\" not found (did you mean \"good\"?); consort plugins lists what there is");
  EXPECT_EQ(load_error(**r, CONSORT_KIND_DRIVER, "good"),
            "driver \"good\" not found; consort plugins lists what there is");
  EXPECT_EQ(load_error(**r, 99, "good"), "plugin \"good\" not found; consort plugins lists what there is");
  EXPECT_EQ(r->get()->load(CONSORT_KIND_SCHEDULER, "x").error().status, CONSORT_E_UNSUPPORTED);
}

TEST(Registry, LoadExplainsRefusalAtDiscovery) {
  const Folder folder;
  std::string file = read_file(kFixtures + "good.so");
  const uint16_t minor = 7;
  std::memcpy(file.data() + note_at(file) + offsetof(consort_note, host_minor), &minor, sizeof minor);
  write_all(folder / "good.so", file);
  Lines lines;
  auto r = open_registry(folder.path(), &lines);
  EXPECT_EQ(load_error(**r, CONSORT_KIND_SCHEDULER, "good")
                .find("scheduler \"good\" cannot be used: plugin \"good\" (" + (folder / "good.so") +
                      ") was built for host ABI 0.7, this host has 0.2"),
            0u);
  EXPECT_EQ(lines.count("1 plugin \"good\""), 1u);
  EXPECT_EQ(dlopen((folder / "good.so").c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << "refused before it is loaded";
}

TEST(Registry, ApplicationRefusesFilesBeforeLoading) {
  const Folder folder;
  folder.add("good", "a");
  folder.add("good_newer", "b");
  struct Asked {
    std::string refused;
    std::vector<std::string> paths;
  } asked{folder / "b.so", {}};
  const Registry::Admission admission{[](void *user, const char *path) -> const char * {
    auto *me = static_cast<Asked *>(user);
    me->paths.push_back(path);
    return me->refused == path ? "has no signature" : nullptr;
  }, &asked};
  Lines lines;
  auto r = Registry::open(config_of({{"plugin_path", folder.path().c_str()}, {"log", "debug"}}), {}, Lines::write, &lines, nullptr, 0,
                          admission);
  ASSERT_TRUE(r);
  EXPECT_TRUE(find(**r, "good", "1.2.0")->usable) << "the lower version, as the higher one is refused";
  EXPECT_EQ(find(**r, "good", "1.10.0")->reason, folder / "b.so" + " has no signature");
  EXPECT_EQ(std::count(asked.paths.begin(), asked.paths.end(), folder / "a.so"), 1);
  EXPECT_EQ(std::count(asked.paths.begin(), asked.paths.end(), folder / "b.so"), 1);
  EXPECT_EQ(dlopen((folder / "b.so").c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << "refused before it is loaded";
}

TEST(Registry, WorldWritablePlacesWarn) {
  const Folder folder;
  folder.add("good");
  Lines lines;
  (void)open_registry(folder.path(), &lines);
  EXPECT_EQ(lines.count("may be written by"), 0u) << lines.all();
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
  std::filesystem::permissions(folder / "good.so", std::filesystem::perms(0666));
  auto r = open_registry(folder.path(), &lines);
  EXPECT_TRUE(find(**r, "good")->usable);
  EXPECT_EQ(lines.count("1 plugin folder " + folder.path() + " may be written by every user (mode 0777)"), 1u) << lines.all();
  EXPECT_EQ(lines.count("1 plugin file " + (folder / "good.so") + " may be written by every user (mode 0666)"), 1u) << lines.all();
}

TEST(Registry, UnknownStatusBecomesInternal) {
  const Folder folder;
  folder.add("numbers");
  Lines lines;
  auto r = open_registry(folder.path(), &lines, {{"numbers.where", "init"}});
  const auto loaded = (*r)->load(CONSORT_KIND_DRIVER, "numbers");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().status, CONSORT_E_INTERNAL);
  EXPECT_NE(loaded.error().text.find("plugin \"numbers\": init() answered -77"), std::string::npos) << loaded.error().text;
  EXPECT_NE(loaded.error().text.find("c\\x1b[2Jd\\nconsort error: forged"), std::string::npos) << loaded.error().text;
  EXPECT_TRUE(lines.has("1 numbers: a\\x1b[2Jb\\nconsort error: forged")) << lines.all();
}

TEST(Registry, HigherVersionWins) {
  const Folder folder;
  folder.add("good", "a");
  folder.add("good_newer", "b");
  folder.add("good", "c");
  Lines lines;
  auto r = open_registry(folder.path(), &lines);
  EXPECT_TRUE(find(**r, "good", "1.10.0")->usable);
  size_t losers = 0;
  for (const auto &f : (*r)->found())
    losers += f.name == "good" && !f.usable &&
              f.reason.find("good 1.10.0 (" + (folder / "b.so") + ") is taken instead of 1.2.0") != f.reason.npos;
  EXPECT_EQ(losers, 2u);
  EXPECT_EQ(lines.count("gives way"), 2u);
  auto p = (*r)->load(CONSORT_KIND_SCHEDULER, "good");
  ASSERT_TRUE(p);
  EXPECT_STREQ((*p)->manifest->version, "1.10.0");
}

TEST(Registry, NamedFileBeatsAHigherVersion) {
  const Folder folder, other;
  folder.add("good_newer", "good");
  other.add("good");
  Lines lines;
  const std::string plus = "+" + (other / "good.so");
  auto r = open_registry(folder.path(), &lines, {{"plugins", plus.c_str()}});
  auto p = (*r)->load(CONSORT_KIND_SCHEDULER, "good");
  ASSERT_TRUE(p) << p.error().text;
  EXPECT_STREQ((*p)->manifest->version, "1.2.0");
  EXPECT_EQ((*p)->path, other / "good.so");
}

TEST(Registry, FirstFolderWinsAndFilesAreFoundOnce) {
  const Folder a, b;
  a.add("good");
  b.add("good");
  std::filesystem::create_symlink(b / "good.so", b / "again.so");
  Lines lines;
  auto r = open_registry(a.path() + ":" + b.path() + ":/no/such/folder", &lines);
  ASSERT_TRUE(r);
  auto p = (*r)->load(CONSORT_KIND_SCHEDULER, "good");
  ASSERT_TRUE(p);
  EXPECT_EQ((*p)->path, a / "good.so");
  size_t n = 0;
  for (const auto &f : (*r)->found()) n += f.name == "good";
  EXPECT_EQ(n, 2u);
  EXPECT_TRUE(lines.has("1 plugin folder /no/such/folder cannot be read: No such file or directory"));
}

TEST(Registry, AppliesTheSelection) {
  const Folder folder;
  folder.add("good");
  folder.add("wrong_tags");
  folder.add("moody");
  folder.add("noisy");
  const auto usable = [&](const char *selection) {
    Lines lines;
    auto r = open_registry(folder.path(), &lines, {{"plugins", selection}});
    EXPECT_TRUE(r);
    std::string names;
    for (const auto &f : (*r)->found())
      if (f.path.starts_with(folder.path()) && f.usable) names += f.name + " ";
    return names;
  };
  EXPECT_EQ(usable(""), "moody noisy good wrong_tags ");
  EXPECT_EQ(usable("^noisy"), "moody good wrong_tags ");
  EXPECT_EQ(usable("moody"), "moody good wrong_tags ") << "of its kind only those named";
  EXPECT_EQ(usable("moody, good"), "moody good ");
  EXPECT_EQ(usable("moody,^wrong_tags"), "moody good ");
  Lines lines;
  auto r = open_registry(folder.path(), &lines, {{"plugins", "^noisy"}});
  EXPECT_EQ(load_error(**r, CONSORT_KIND_DRIVER, "noisy"),
            "driver \"noisy\" cannot be used: left out by code: \"^noisy\"");
}

TEST(Registry, NamesAbsentSelectedPlugins) {
  const Folder folder;
  folder.add("good");
  Lines lines;
  auto r = open_registry(folder.path(), &lines, {{"plugins", "goood"}});
  ASSERT_TRUE(r) << "listing still works";
  EXPECT_EQ(load_error(**r, CONSORT_KIND_SCHEDULER, "good"),
            "code: plugin \"goood\" not found (did you mean \"good\"?); consort plugins lists what there is");
  write_all(folder / "damaged.so", "not named by anybody, so only listed");
  ASSERT_TRUE((*open_registry(folder.path(), &lines))->load(CONSORT_KIND_SCHEDULER, "good"));
  const std::string named = "+" + (folder / "damaged.so");
  auto t = open_registry(folder.path(), &lines, {{"plugins", named.c_str()}});
  EXPECT_EQ(load_error(**t, CONSORT_KIND_SCHEDULER, "good"), "code: " + (folder / "damaged.so") + " is no ELF file");
  auto s = open_registry(folder.path(), &lines, {{"plugins", "+/no/such.so"}});
  EXPECT_EQ((*s)->load_drivers().error().text, "code: /no/such.so cannot be read: No such file or directory");
}

TEST(Registry, ChecksSettingsOfPlugins) {
  const Folder folder;
  folder.add("good");
  Lines lines;
  auto r = open_registry(folder.path(), &lines, {{"good.depht", "3"}});
  EXPECT_EQ(load_error(**r, CONSORT_KIND_SCHEDULER, "good"),
            "code: plugin \"good\" has no key \"depht\" (did you mean \"depth\"?); consort config lists what there is");
  auto s = open_registry(folder.path(), &lines, {{"godo.depth", "3"}});
  EXPECT_EQ(load_error(**s, CONSORT_KIND_SCHEDULER, "good"),
            "code: key \"godo.depth\" is for a plugin \"godo\", which was not found (did you mean \"good\"?); consort "
            "plugins lists what there is");
}

TEST(Registry, NamesEachManifestFault) {
  const auto error = [](const char *name) { return load_error(name, CONSORT_KIND_INTERFACE); };
  EXPECT_EQ(error("bad_other_name"),
            "plugin \"bad_other_name\" (DIR/bad_other_name.so) says another name in its manifest than in its note: "
            "repeat it in CONSORT_MODULE(...)");
  EXPECT_EQ(error("bad_other_flags"),
            "plugin \"bad_other_flags\" (DIR/bad_other_flags.so) says another set of flags in its manifest than in its "
            "note: repeat it in CONSORT_MODULE(...)");
  EXPECT_EQ(error("bad_no_ops"),
            "plugin \"bad_no_ops\" (DIR/bad_no_ops.so) has no function table: set ops in its manifest");
  EXPECT_EQ(error("bad_small_ops")
                .find("plugin \"bad_small_ops\" (DIR/bad_small_ops.so) gives its function table a size of 24 bytes, "
                      "expected at least "),
            0u);
  EXPECT_EQ(error("bad_huge_ops")
                .find("plugin \"bad_huge_ops\" (DIR/bad_huge_ops.so) gives its function table a size of 1048576 bytes"),
            0u);
  EXPECT_EQ(error("bad_small_manifest"),
            "plugin \"bad_small_manifest\" (DIR/bad_small_manifest.so) gives its manifest a size of 16 bytes: begin it "
            "with sizeof(consort_plugin)");
  EXPECT_EQ(error("bad_null_plugin"),
            "plugin \"bad_null_plugin\" (DIR/bad_null_plugin.so) has a NULL in its list of plugins");
  EXPECT_EQ(error("bad_no_params"),
            "plugin \"bad_no_params\" (DIR/bad_no_params.so) announces 3 parameters but has no list of them");
  EXPECT_EQ(error("bad_no_filters"),
            "plugin \"bad_no_filters\" (DIR/bad_no_filters.so) announces 2 filters but has no list of them");
  EXPECT_EQ(error("bad_many_filters"),
            "plugin \"bad_many_filters\" (DIR/bad_many_filters.so) announces 4097 filters but there may be at most 4096");
  EXPECT_EQ(error("bad_hollow_filter"),
            "plugin \"bad_hollow_filter\" (DIR/bad_hollow_filter.so) has a filter, number 0, without a name, count(), "
            "shape() or alias(): give all four");
  EXPECT_EQ(error("bad_no_conversions"),
            "plugin \"bad_no_conversions\" (DIR/bad_no_conversions.so) announces 3 conversions but has no list of them");
  EXPECT_EQ(
      error("bad_bad_default"),
      "plugin \"bad_bad_default\" declares parameter 0, \"depth\": its default expects u32 in 1..1024, not \"2000\"");
  EXPECT_EQ(error("bad_bad_type")
                .find("plugin \"bad_bad_type\" declares parameter 0, \"depth\": type \"colour\" is not known"),
            0u);
  EXPECT_EQ(error("bad_twice"), "plugin \"bad_twice\" declares parameter 1, \"depth\", twice");
}

TEST(Registry, NamesPluginsThatDoNotStart) {
  EXPECT_EQ(
      load_error("throws", CONSORT_KIND_DRIVER),
      "driver \"throws\" did not start: plugin \"throws\": init threw an exception, which must not cross the boundary");
  EXPECT_EQ(load_error("refuses", CONSORT_KIND_DRIVER),
            "plugin \"refuses\" (DIR/refuses.so) gives no plugins: this plugin takes no host at all");
  EXPECT_EQ(load_error("moody", CONSORT_KIND_DRIVER, {{"moody.mood", "unsupported"}}),
            "driver \"moody\" did not start: no such device in this machine");
  EXPECT_EQ(load_error("moody", CONSORT_KIND_DRIVER, {{"moody.mood", "silent"}}),
            "driver \"moody\" did not start: E_IO, without a word: it should call host->fail");
  EXPECT_NE(load_error("no_entry", CONSORT_KIND_DRIVER).find("consort_plugin_entry"), std::string::npos);
  EXPECT_NE(load_error("unresolved", CONSORT_KIND_DRIVER).find("a_symbol_that_nobody_has"), std::string::npos);
}

TEST(Registry, NullFunctionsBecomeStubs) {
  const Folder folder;
  folder.add("moody");
  Lines lines;
  auto r = open_registry(folder.path(), &lines);
  auto p = (*r)->load(CONSORT_KIND_DRIVER, "moody");
  ASSERT_TRUE(p) << p.error().text;
  const consort_driver_ops &o = *(*p)->driver();
  EXPECT_EQ(o.count((*p)->self), 3u);
  void *dev = nullptr;
  EXPECT_EQ(o.open((*p)->self, 0, 1, &dev), CONSORT_E_UNSUPPORTED);
  consort_space_desc space{};
  consort_unit_desc unit{};
  consort_link_desc link{};
  consort_addr at{};
  consort_done done;
  consort_queue_desc queue{};
  uint64_t code;
  void *q;
  EXPECT_EQ(o.space(dev, 0, &space), CONSORT_E_INVAL);
  EXPECT_EQ(o.unit(dev, 0, &unit), CONSORT_E_INVAL);
  EXPECT_EQ(o.link(dev, &space, &space, &link), CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(o.alloc(dev, 0, 1, 1, 0, &at), CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(o.attach(dev, 0, at, 1, &at), CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(o.load_impl(dev, "", "", 0, "", &code), CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(o.queue_open(dev, 0, 0, &queue, &q), CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(o.submit(nullptr, nullptr, 3), 0u);
  EXPECT_EQ(o.poll(nullptr, &done, 1), 0u);
  EXPECT_EQ(o.event_fd(nullptr), -1) << "promised by DRV_FD";
  EXPECT_EQ(o.arm(nullptr), CONSORT_E_UNSUPPORTED);
  o.free(dev, 0, at, 1), o.detach(dev, 0, at), o.queue_close(nullptr), o.close(dev);
  EXPECT_EQ(o.next_event, nullptr);
  EXPECT_EQ(o.codelet, nullptr);
  EXPECT_STREQ((*p)->manifest->summary, "");
  EXPECT_EQ((*p)->manifest->get((*p)->self, "x"), nullptr);
  EXPECT_TRUE(lines.has("lacks functions, which answer as unsupported: open close space")) << lines.all();
}

TEST(Registry, LoadsSelectedDrivers) {
  const Folder folder;
  folder.add("moody");
  folder.add("throws");
  folder.add("noisy");
  const auto drivers = [&](Pairs set, Lines *lines) {
    set.push_back({"plugins", "moody,throws,noisy,shy"});
    auto r = open_registry(folder.path(), lines, set);
    auto d = (*r)->load_drivers();
    std::string names;
    if (!d) return d.error().text;
    for (const Plugin *p : *d) names += std::string(p->manifest->name) + " ";
    return names;
  };
  folder.add("shy");  // which says that it must be named
  Lines lines, others;
  EXPECT_EQ(drivers({}, &lines), "moody noisy ");
  EXPECT_EQ(drivers({{"drivers", "*,shy"}}, &others), "shy moody noisy ");
  EXPECT_EQ(drivers({{"drivers", "*,^shy,shy"}}, &others), "moody noisy ");
  EXPECT_EQ(lines.count("driver \"throws\" did not start"), 1u);
  EXPECT_EQ(drivers({{"drivers", "noisy, moody"}}, &lines), "noisy moody ") << "in the order of the list";
  EXPECT_EQ(drivers({{"drivers", "^noisy"}}, &lines), "moody ");
  EXPECT_EQ(drivers({{"drivers", "*,^noisy,^nobody"}}, &lines), "moody ");
  EXPECT_EQ(drivers({{"drivers", "moody,throws"}}, &lines).find("driver \"throws\" did not start"), 0u)
      << "named, so it must";
  EXPECT_EQ(drivers({{"drivers", "moodi"}}, &lines),
            "code: driver \"moodi\" not found (did you mean \"moody\"?); consort plugins lists what there is");
  Lines quiet;
  EXPECT_EQ(drivers({{"moody.mood", "unsupported"}, {"drivers", "moody,noisy"}}, &quiet), "noisy ");
  EXPECT_EQ(quiet.count("1 driver \"moody\" did not start: no such device in this machine"), 1u);
  EXPECT_EQ(drivers({{"moody.mood", "broken"}, {"drivers", "moody,noisy"}}, &quiet),
            "driver \"moody\" did not start: the device answers nonsense");
}

// The kernel knows none of these devices: their drivers say where to look.
struct Probing : testing::Test {
  Folder folder;
  const consort_test::Folder machine{"machine"};
  Lines lines;
  std::vector<std::unique_ptr<Registry>> open;
  Probing() {
    for (const char *name : {"shy", "probed_a", "probed_b", "probed_all"}) folder.add(name);
  }
  void has(const std::string &path) const {
    std::filesystem::create_directories(std::filesystem::path(machine.path() + path).parent_path());
    write_all(machine.path() + path, "");
  }
  // The drivers that start, each with a letter for each device: used, or left out.
  std::string drivers(Pairs set = {}) {
    const std::string root = machine.path();
    set.insert(set.end(), {{"plugins", "shy,probed_a,probed_b,probed_all"}, {"device_root", root.c_str()}});
    auto r = open_registry(folder.path(), &lines, set);
    auto d = (*r)->load_drivers();
    if (!d) return d.error().text;
    std::string names;
    for (const Plugin *p : *d) {
      names += std::string(p->manifest->name) + ":";
      for (uint32_t i = 0; i < p->driver()->count(p->self); ++i) names += p->uses(i) ? 'u' : 'l';
      names += " ";
    }
    open.push_back(std::move(*r));
    return names;
  }
};

TEST_F(Probing, DriversStartWhereTheirDevicesShow) {
  EXPECT_EQ(drivers(), "");
  EXPECT_TRUE(lines.has("3 driver \"probed_a\" is not started: no device: nothing matches /dev/probed_a[0-9] /sys/bus/test/*:* below ")) << lines.all();
  EXPECT_FALSE(lines.has("plugin \"probed_a\"")) << "nothing is loaded to find out";
  has("/dev/probed_b0");
  EXPECT_EQ(drivers(), "probed_b:u ");
  EXPECT_TRUE(lines.has("2 probed_b: started by default"));
  has("/dev/probed_ax");
  EXPECT_EQ(drivers(), "probed_b:u ") << "no match";
  EXPECT_EQ(drivers({{"drivers", "*,^probed_b"}}), "");
  EXPECT_EQ(drivers({{"drivers", "probed_a"}}), "probed_a:u ") << "named: wherever its devices are";
  EXPECT_TRUE(lines.has("2 probed_a: started by its name"));
  EXPECT_EQ(drivers({{"time", "virtual"}}), "");
}

TEST_F(Probing, ADeviceOfTwoDriversIsUsedOnce) {
  has("/dev/probed_a0"), has("/dev/probed_b0"), has("/dev/probed_all0");
  EXPECT_EQ(drivers(), "probed_a:u probed_b:u probed_all:llul ");
  EXPECT_TRUE(lines.has("2 probed_all: device 1 at 0000:0b:00.0 is not used: driver \"probed_b\" has it; drivers = \"*, probed_all\" uses it")) << lines.all();
  EXPECT_TRUE(lines.has("2 probed_all: device 3 is not used: other drivers have devices, and its place on the bus is unknown")) << lines.all();
  EXPECT_EQ(drivers({{"drivers", "*,^probed_a,^probed_b"}}), "probed_all:uuuu ");
  EXPECT_EQ(drivers({{"drivers", "*,probed_all"}}), "probed_all:uuuu probed_a:l probed_b:l ") << "a named driver keeps its devices";
}

TEST_F(Probing, TheLastDriverIsNotLoadedWithoutADeviceForIt) {
  has("/sys/bus/test/0000:0a:00.0"), has("/sys/bus/test/0000:0b:00.0");
  EXPECT_EQ(drivers(), "probed_a:u probed_b:u ");
  EXPECT_TRUE(lines.has("2 driver \"probed_all\" is not started: driver \"probed_a\" has its devices")) << lines.all();
  has("/sys/bus/test/0000:0c:00.0");
  EXPECT_EQ(drivers(), "probed_a:u probed_b:u probed_all:llul ");
}

TEST(Registry, InspectLoadsButDoesNotStart) {
  const Folder folder;
  folder.add("good");
  Lines lines;
  {
    auto r = open_registry(folder.path(), &lines);
    auto m = (*r)->inspect(CONSORT_KIND_SCHEDULER, "good");
    ASSERT_TRUE(m) << m.error().text;
    EXPECT_EQ((*m)->nparams, 5u);
    EXPECT_STREQ((*m)->summary, "for tests");
    EXPECT_FALSE(lines.has("good: 64"));
    EXPECT_FALSE((*r)->inspect(CONSORT_KIND_SCHEDULER, "bad"));
  }
  EXPECT_FALSE(lines.has("fini"));
}

TEST(Registry, LeavesBusyPluginsLoaded) {
#if CONSORT_SAN == 1
  const __lsan::ScopedDisabler it_is_leaked_on_purpose;
#endif
  const Folder folder;
  folder.add("moody");
  Lines lines;
  const consort_host *host = nullptr;
  {
    auto r = open_registry(folder.path(), &lines, {{"moody.mood", "restless"}});
    auto p = (*r)->load(CONSORT_KIND_DRIVER, "moody");
    ASSERT_TRUE(p);
    host = (*p)->host;
  }
  EXPECT_TRUE(lines.has("0 driver \"moody\" does not become quiet and is left as it is")) << lines.all();
  void *mapped = dlopen((folder / "moody.so").c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(mapped, nullptr) << "though it may be unloaded";
  if (mapped) dlclose(mapped);
  host->log(host, 0, "still here");
  EXPECT_TRUE(lines.has("0 moody: still here"));
}

// -- linked into the program --

uint32_t three(void *) { return 3; }
const consort_driver_ops linked_ops = [] {
  consort_driver_ops o{};
  o.size = sizeof o, o.count = three;
  return o;
}();
const consort_plugin linked_plugin = [] {
  consort_plugin p{};
  p.size = sizeof p, p.kind = CONSORT_KIND_DRIVER, p.abi_major = CONSORT_DRIVER_MAJOR,
  p.abi_minor = CONSORT_DRIVER_MINOR;
  p.name = "linked", p.version = "0.2.0", p.ops = &linked_ops;
  return p;
}();
const consort_module *linked(const consort_host *h) {
  static const consort_plugin *const list[] = {&linked_plugin};
  static const consort_module module = {sizeof(consort_module), 1, list};
  return h->major == CONSORT_HOST_MAJOR ? &module : nullptr;
}
const consort_module *broken(const consort_host *) {
  static const consort_module module = {sizeof(consort_module), 0, nullptr};
  return &module;
}

TEST(Registry, LoadsLinkedModules) {
  Lines lines;
  consort_entry_fn *const modules[] = {linked};
  auto r = Registry::open(config_of({}), {}, Lines::write, &lines, modules, 1);
  ASSERT_TRUE(r) << r.error().text;
  EXPECT_EQ(find(**r, "linked")->path, "");
  auto p = (*r)->load(CONSORT_KIND_DRIVER, "linked");
  ASSERT_TRUE(p) << p.error().text;
  EXPECT_EQ((*p)->driver()->count((*p)->self), 3u);
  EXPECT_EQ((*p)->path, "");

  consort_entry_fn *const bad[] = {broken};
  EXPECT_EQ(Registry::open(config_of({}), {}, Lines::write, &lines, bad, 1)
                .error()
                .text.find("modules[0] answers its entry with a damaged list"),
            0u);
  consort_entry_fn *const null[] = {nullptr};
  EXPECT_EQ(Registry::open(config_of({}), {}, Lines::write, &lines, null, 1).error().text,
            "settings: modules[0] is NULL");
  EXPECT_FALSE(Registry::open(config_of({}), {}, Lines::write, &lines, nullptr, 1));
}

TEST(Registry, SeveralRegistriesCoexist) {
  const Folder folder;
  folder.add("good");
  folder.add("moody");
  Lines lines;
  auto outer = open_registry(folder.path(), &lines);
  auto p = (*outer)->load(CONSORT_KIND_SCHEDULER, "good");
  for (int i = 0; i < 200; ++i) {
    Lines inner;
    auto r = open_registry(folder.path(), &inner);
    auto q = (*r)->load(CONSORT_KIND_SCHEDULER, "good");
    ASSERT_TRUE(q);
    ASSERT_NE(*q, *p);
    ASSERT_TRUE((*r)->load(CONSORT_KIND_DRIVER, "moody")) << "unmapped and mapped anew each time";
  }
}

TEST(Registry, FindsTwoHundredFilesQuickly) {
  const Folder folder;
  for (int i = 0; i < 200; ++i) folder.add(i % 2 ? "good" : "moody", "p" + std::to_string(i));
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    Lines lines;
    const uint64_t start = Clock(false, 0).now();
    auto r = Registry::open(config_of({{"plugin_path", folder.path().c_str()}}), {}, Lines::write, &lines, nullptr, 0);
    best = std::min(best, Clock(false, 0).now() - start);
    ASSERT_TRUE(r);
    ASSERT_GE((*r)->found().size(), 200u);
  }
  RecordProperty("discovery_of_200_us", static_cast<int>(best / 1000));
  std::printf("200 plugin files: %.1f ms\n", static_cast<double>(best) * 1e-6);
  EXPECT_LT(best, 500'000'000u);
}

}  // namespace
}  // namespace consort
