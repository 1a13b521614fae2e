// `consort model import`: another runtime's tables of times. Every imported table must be stored, and listed as sound.
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "fuzz.hpp"
#include "tools/models.hpp"

namespace {

struct Folder {
  std::string path = "/tmp/consort-fuzz-model-XXXXXX";
  Folder() { fuzz::expect(mkdtemp(path.data()), "a folder can be made"); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

void row(void *, const consort_model_row *r) {
  fuzz::expect(r->median > 0 && std::isfinite(r->median) && std::isfinite(r->spread) && r->count > 0, "an imported row is sound");
}
void file(void *, const consort_model_file *f) { fuzz::expect(!*f->reason, "an imported model is read again", f->reason); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  static fuzz::MemoryFile from;
  fuzz::Bytes in(data, size);
  const bool energy = in.flag();
  from.set(in.rest());
  tool::Settings settings;
  settings.assignments = {"model_folder=" + folder.path};
  int status = 1;
  try {
    status = tool::run_model_import(settings, from.path(), "f", {"cuda=gpu"}, energy);
  } catch (const std::exception &e) {
    fuzz::expect(std::string_view(e.what()).starts_with(from.path()), "a refusal names the file", e.what());
    return 0;
  }
  consort_settings s;
  fuzz::expect(settings.resolve(&s), "settings are understood");
  if (status == 0)
    fuzz::expect(consort_list_models(&s, file, row, nullptr) == CONSORT_OK, "models are listed", consort_error());
  return 0;
}
