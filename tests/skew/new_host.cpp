// new_host.cpp — the kernel's judgement about a plugin's file, in a world of another version. It is built of the
// kernel's plugin/elf_note.cpp and plugin/manifest.cpp, with headers of that version.
//   new_host FILE.so...
// One line for each file: "taken: NAME table of N bytes[, lacks: FUNCTIONS]" or "refused: WHY".
#include <cstdio>
#include <cstring>

#include <dlfcn.h>

#include "plugin/elf_note.hpp"
#include "plugin/manifest.hpp"

namespace {

using namespace consort;

consort_host host_table() {
  consort_host h{};
  h.size = sizeof h, h.major = CONSORT_HOST_MAJOR, h.minor = CONSORT_HOST_MINOR;
  h.fail = [](const consort_host *, consort_status code, const char *text) {
    return std::printf("said: %s\n", text), code;
  };
  return h;
}

std::string judge(const std::string &path) {
  auto notes = read_notes(path);
  if (!notes) return "refused: " + path + " " + notes.error().text;
  const consort_note &note = notes->front();
  if (auto fine = check_note(note, path); !fine) return "refused: " + fine.error().text;
  void *file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!file) return std::string("refused: ") + dlerror();
  const consort_host host = host_table();
  auto *entry = reinterpret_cast<consort_entry_fn *>(dlsym(file, "consort_plugin_entry"));
  const consort_module *module = entry ? entry(&host) : nullptr;
  if (!module) return "refused by its entry";
  Manifest manifest;
  if (auto filled = manifest.fill(module->plugins[0], &note, path); !filled) return "refused: " + filled.error().text;
  uint32_t size;
  std::memcpy(&size, manifest.plugin.ops, sizeof size);
  uint32_t theirs;
  std::memcpy(&theirs, module->plugins[0]->ops, sizeof theirs);
  return "taken: " + std::string(manifest.plugin.name) +
         (theirs == size  ? ", its table as long as mine"
          : theirs > size ? ", its table longer"
                          : ", its table shorter") +
         (manifest.holes.empty() ? "" : ", lacks " + manifest.holes);
}

}  // namespace

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) std::puts(judge(argv[i]).c_str());
}
