// checkpoint_folder.hpp — the files of a job's checkpoints in one folder, through a driver with consort/files.h.
//
// Each rank writes a part, under a temporary name until finish(). The first rank then reads the ends of all parts and
// writes the manifest in place of the one before: that is the moment at which a checkpoint is complete. Until then the
// earlier one is. One thread at a time. Texts of errors begin with the setting and the folder.
#pragma once
#include <consort/files.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "remote/checkpoint_file.hpp"

namespace consort {

class Registry;
struct Plugin;

class CheckpointFolder {
 public:
  // control: held while the driver is asked for its extension. locks: for the one rank that writes manifests.
  static Result<std::unique_ptr<CheckpointFolder>> open(Registry &, std::mutex &control, const std::string &driver,
                                                        const std::string &path, bool locks);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  const std::string &path() const noexcept { return path_; }
  // The last complete checkpoint; empty: there is none. A damaged manifest is an error.
  Result<std::optional<CheckpointManifest>> manifest();

  class Part {
   public:
    ~Part();
    // Adds the contents, and completes *datum, which has tag and layout.
    Result<void> add(SavedDatum *datum, std::string_view contents);
    Result<void> finish();

   private:
    friend class CheckpointFolder;
    Part(CheckpointFolder &folder, const PartHead &head) noexcept : folder_(folder), head_(head) {}
    CheckpointFolder &folder_;
    const PartHead head_;
    void *file_ = nullptr;
    uint64_t end_ = 0;
    std::vector<SavedDatum> index_;
  };
  Result<std::unique_ptr<Part>> begin(const PartHead &);
  // Adds a part that another rank has written to the manifest.
  Result<void> take_part(const PartHead &expected, CheckpointManifest *);
  Result<void> commit(const CheckpointManifest &);
  // Removes parts of earlier checkpoints, and such as no rank of this one has. A part that stays is no error.
  void clean(const CheckpointManifest &) noexcept;

  Result<void> read(const CheckpointManifest &, const SavedDatum &, void *out);

 private:
  CheckpointFolder(std::string path, const Plugin &plugin) : path_(std::move(path)), plugin_(plugin) {}
  Result<void> check(consort_status, const char *function) const;
  Error refuse(consort_status, const std::string &text) const;
  Error refuse_file(const std::string &name, const std::string &why) const;
  // file NULL: there is none.
  Result<void> open_file(const std::string &name, uint64_t *bytes, void **file);
  Result<std::string> read_file(void *file, uint64_t at, uint64_t bytes);

  const std::string path_;
  const Plugin &plugin_;
  const consort_files_ops *ops_ = nullptr;
  void *folder_ = nullptr;
  void *read_ = nullptr;                    // the part that was read last
  uint32_t read_rank_ = 0;
  uint64_t read_serial_ = 0;
};

}  // namespace consort
