// Feeds the corpora to the targets, under any compiler: fuzz_replay TARGET FOLDER... Each file, and the empty input, must
// leave the process alive. The name of the file at hand is on stderr when it does not.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz.hpp"

#define TARGET(name) extern "C" int fuzz_##name(const uint8_t *, size_t);
#include "fuzz_targets.inc"
#undef TARGET

namespace {

struct Target {
  const char *name;
  int (*run)(const uint8_t *, size_t);
};
constexpr Target kTargets[] = {
#define TARGET(name) {#name, fuzz_##name},
#include "fuzz_targets.inc"
#undef TARGET
};

char at_hand[4096];

void feed(const Target &t, const std::string &name, const std::string &input) {
  std::snprintf(at_hand, sizeof at_hand, "fuzz_replay: %s ended the process with the input %s\n", t.name, name.c_str());
  const fuzz::Copy copy(input);
  t.run(reinterpret_cast<const uint8_t *>(copy.data()), copy.size());
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: fuzz_replay TARGET FOLDER|FILE...\n"), 2;
  const auto *t = std::find_if(std::begin(kTargets), std::end(kTargets), [&](const Target &x) { return std::string_view(x.name) == argv[1]; });
  if (t == std::end(kTargets)) return std::fprintf(stderr, "fuzz_replay: no target \"%s\"\n", argv[1]), 2;
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL})
    std::signal(signal, [](int s) {
      (void)!::write(2, at_hand, std::strlen(at_hand));
      std::signal(s, SIG_DFL);
      std::raise(s);
    });
  std::vector<std::string> files;
  for (int i = 2; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto &entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  feed(*t, "(empty)", "");
  for (const std::string &f : files) {
    std::ifstream in(f, std::ios::binary);
    if (!in) return std::fprintf(stderr, "fuzz_replay: cannot read %s\n", f.c_str()), 1;
    feed(*t, f, {std::istreambuf_iterator<char>(in), {}});
  }
  std::printf("%s: %zu inputs\n", t->name, files.size() + 1);
  return files.empty() ? std::fprintf(stderr, "fuzz_replay: the corpus of %s is empty\n", t->name), 1 : 0;
}
