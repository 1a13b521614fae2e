// Files of measured links, and the frame of all cache files. Input: a byte; 0: the file as it is, else the lines of a
// file whose head and checksum are valid.
#include "fuzz.hpp"
#include "kernel/machine/link_calibration_file.hpp"

#include <cmath>
#include <filesystem>

using namespace consort;

namespace {

std::string own_folder() {
  std::string folder = "/tmp/consort-fuzz-links-XXXXXX";
  fuzz::expect(mkdtemp(folder.data()), "a folder can be made");
  return folder;
}
struct Folder {
  const std::string path = own_folder();
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

void check(LinkCalibrationFile::State state, const LinkCalibrationFile::Figures &figures, const std::string &why) {
  if (state == LinkCalibrationFile::State::kUnusable) fuzz::expect(!why.empty(), "an unusable file has a reason");
  if (state == LinkCalibrationFile::State::kGood)
    for (const auto &[ends, f] : figures)
      fuzz::expect(std::isfinite(f.bytes_per_s) && std::isfinite(f.latency_ns), "figures are finite", ends.first);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  static const std::string about = "machine m\n";
  static const LinkCalibrationFile file(folder.path, "cuda", about);
  static const CacheFile frame(file.path(), "links", 1, about);
  fuzz::Bytes in(data, size);
  if (in.flag()) {
    const auto written = frame.write(std::string(in.rest()));
    fuzz::expect(bool(written), "a file can be kept");
  } else {
    FILE *f = std::fopen(file.path().c_str(), "w");
    fuzz::expect(f && std::fwrite(in.rest().data(), 1, in.rest().size(), f) == in.rest().size() && std::fclose(f) == 0,
                 "a file can be written");
  }
  LinkCalibrationFile::Figures figures, again;
  std::string why;
  const auto state = file.read(&figures, &why);
  check(state, figures, why);
  if (state == LinkCalibrationFile::State::kGood) {
    fuzz::expect(bool(file.write(figures)), "figures can be kept");
    fuzz::expect(file.read(&again, &why) == LinkCalibrationFile::State::kGood, "a written file is read", why);
  }
  return 0;
}
