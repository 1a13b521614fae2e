// Loading: files that are refused on opening, and their messages; which modules stay mapped.
#include "plugin/loader.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "loader_support.hpp"

namespace consort {
namespace {

bool is_mapped(const std::string &path) {
  void *h = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (h) dlclose(h);
  return h != nullptr;
}

TEST(Loader, OpenedPluginsStayMapped) {
  const Folder folder;
  folder.add("good");
  {
    auto m = Module::open(folder / "good.so", false);
    ASSERT_TRUE(m) << m.error().text;
    EXPECT_NE(m->entry(), nullptr);
    EXPECT_EQ(dlsym(RTLD_DEFAULT, "consort_plugin_entry"), nullptr) << "its symbols are its own";
  }
  EXPECT_TRUE(is_mapped(folder / "good.so"));
}

TEST(Loader, UnloadablePluginIsUnmappedByItsLastOwner) {
  const Folder folder;
  folder.add("moody");
  {
    auto a = Module::open(folder / "moody.so", true);
    ASSERT_TRUE(a) << a.error().text;
    const Module copy = *a;
    a = Module();
    EXPECT_TRUE(is_mapped(folder / "moody.so"));
  }
  EXPECT_FALSE(is_mapped(folder / "moody.so"));
}

TEST(Loader, ErrorsQuoteTheSystem) {
  auto unresolved = Module::open(kFixtures + "unresolved.so", false);
  ASSERT_FALSE(unresolved);
  EXPECT_NE(unresolved.error().text.find("a_symbol_that_nobody_has"), std::string::npos) << unresolved.error().text;
  auto no_entry = Module::open(kFixtures + "no_entry.so", false);
  ASSERT_FALSE(no_entry);
  EXPECT_NE(no_entry.error().text.find("consort_plugin_entry"), std::string::npos) << no_entry.error().text;
  auto none = Module::open("/no/such.so", false);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().text.find("/no/such.so cannot be loaded: "), 0u);
  for (const auto *r : {&unresolved, &no_entry, &none})
    EXPECT_EQ(r->error().text.find('\n'), std::string::npos) << "one line";
}

TEST(Loader, OwnFolderIsTheFolderOfTheProgram) {
  EXPECT_EQ(own_folder(), std::filesystem::canonical("/proc/self/exe").parent_path().string());
}

// This program has the kernel linked into it.
TEST(OwnFolder, IsTheFolderOfTheProgram) {
  EXPECT_EQ(own_folder(), std::filesystem::canonical("/proc/self/exe").parent_path().string());
}

TEST(OwnFolder, IgnoresTheNameOfTheProgram) {
  for (const char *name : {"/nowhere/else", "loader", "", "/usr/bin/env"}) {
    const pid_t child = fork();
    if (child == 0) {
      if (chdir("/") == 0) execl("/proc/self/exe", name, "--gtest_filter=OwnFolder.IsTheFolderOfTheProgram", nullptr);
      _exit(99);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "called \"" << name << "\"";
  }
}

}  // namespace
}  // namespace consort
