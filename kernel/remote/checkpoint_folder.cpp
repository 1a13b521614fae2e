#include "remote/checkpoint_folder.hpp"

#include <algorithm>
#include <new>

#include "base/last_error.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"

namespace consort {
namespace {

// Closes a file at the end of a scope.
class Open {
 public:
  explicit Open(const consort_files_ops &ops) noexcept : ops_(ops) {}
  ~Open() {
    if (file) ops_.close(file);
  }
  Open(const Open &) = delete;
  Open &operator=(const Open &) = delete;
  void *file = nullptr;

 private:
  const consort_files_ops &ops_;
};

}  // namespace

Result<std::unique_ptr<CheckpointFolder>> CheckpointFolder::open(Registry &registry, std::mutex &control, const std::string &driver,
                                                                 const std::string &path, bool locks) {
  auto plugin = registry.load(CONSORT_KIND_DRIVER, driver);
  if (!plugin) return plugin.error();
  std::unique_ptr<CheckpointFolder> f(new CheckpointFolder(path, **plugin));
  if ((*plugin)->manifest->get) {
    const std::lock_guard one_at_a_time(control);
    f->ops_ = static_cast<const consort_files_ops *>((*plugin)->manifest->get((*plugin)->self, CONSORT_FILES_ID));
  }
  if (!f->ops_ || !CONSORT_HAS(f->ops_, consort_files_ops, list))
    return error(CONSORT_E_UNSUPPORTED, "checkpoint_driver = \"" + driver + "\": this driver keeps no files; name one that does, such as a disk");
  clear_error();
  const uint32_t how = CONSORT_FILES_CREATE | (locks ? CONSORT_FILES_LOCK : 0);
  if (auto opened = f->check(f->ops_->open_folder((*plugin)->self, path.c_str(), how, &f->folder_), "open_folder()"); !opened) {
    f->folder_ = nullptr;
    return opened.error();
  }
  return f;
}

CheckpointFolder::~CheckpointFolder() {
  if (read_) ops_->close(read_);
  if (folder_) ops_->close_folder(folder_);
}

Error CheckpointFolder::refuse(consort_status s, const std::string &text) const {
  return error(s, "checkpoint = \"" + path_ + "\": " + text);
}

Error CheckpointFolder::refuse_file(const std::string &name, const std::string &why) const {
  return refuse(CONSORT_E_IO, "the file " + name + " cannot be used: " + why +
                                  "; put back a copy of the folder, or start anew with an empty one");
}

// The text is the driver's.
Result<void> CheckpointFolder::check(consort_status s, const char *function) const {
  s = plugin_status(s, plugin_.manifest->name, function);
  if (s >= 0) return {};
  return refuse(s, *error_text() ? error_text() : std::string(function) + " of the driver failed and gave no reason");
}

Result<void> CheckpointFolder::open_file(const std::string &name, uint64_t *bytes, void **file) {
  *bytes = 0;
  clear_error();
  auto opened = check(ops_->open(folder_, name.c_str(), bytes, file), "open()");
  if (!opened) *file = nullptr;
  return opened;
}

Result<std::string> CheckpointFolder::read_file(void *file, uint64_t at, uint64_t bytes) {
  std::string text(bytes, '\0');
  clear_error();
  if (auto got = check(ops_->read(file, at, text.data(), bytes), "read()"); !got) return got.error();
  return text;
}

Result<std::optional<CheckpointManifest>> CheckpointFolder::manifest() {
  Open open(*ops_);
  uint64_t bytes;
  if (auto opened = open_file(kManifestName, &bytes, &open.file); !opened) return opened.error();
  if (!open.file) return std::optional<CheckpointManifest>();
  if (bytes > kMostManifest) return refuse_file(kManifestName, "it is larger than any manifest");
  auto text = read_file(open.file, 0, bytes);
  if (!text) return text.error();
  CheckpointManifest m;
  std::string why;
  if (!decode(*text, &m, &why)) return refuse_file(kManifestName, why);
  return std::optional(std::move(m));
}

// -- writing -----------------------------------------------------------------------------------------------------

CheckpointFolder::Part::~Part() {
  if (file_) folder_.ops_->close(file_);
}

Result<std::unique_ptr<CheckpointFolder::Part>> CheckpointFolder::begin(const PartHead &head) {
  std::unique_ptr<Part> part(new Part(*this, head));
  const std::string bytes = encode(head);
  clear_error();
  if (auto made = check(ops_->create(folder_, part_name(head.serial, head.rank).c_str(), &part->file_), "create()"); !made) {
    part->file_ = nullptr;
    return made.error();
  }
  if (auto written = check(ops_->write(part->file_, bytes.data(), bytes.size()), "write()"); !written) return written.error();
  part->end_ = bytes.size();
  return part;
}

Result<void> CheckpointFolder::Part::add(SavedDatum *datum, std::string_view contents) {
  datum->offset = end_, datum->bytes = contents.size();
  datum->rank = head_.rank, datum->sum = checksum(contents);
  index_.push_back(*datum);
  clear_error();
  auto written = folder_.check(folder_.ops_->write(file_, contents.data(), contents.size()), "write()");
  if (written) end_ += contents.size();
  else index_.pop_back();
  return written;
}

Result<void> CheckpointFolder::Part::finish() {
  const std::string index = encode_index(index_), end = index + encode_trail(end_, index);
  clear_error();
  if (auto written = folder_.check(folder_.ops_->write(file_, end.data(), end.size()), "write()"); !written) return written;
  if (auto kept = folder_.check(folder_.ops_->commit(file_), "commit()"); !kept) return kept;
  folder_.ops_->close(std::exchange(file_, nullptr));
  return {};
}

Result<void> CheckpointFolder::take_part(const PartHead &expected, CheckpointManifest *m) {
  const std::string name = part_name(expected.serial, expected.rank);
  Open open(*ops_);
  uint64_t bytes, index_at, index_bytes;
  if (auto opened = open_file(name, &bytes, &open.file); !opened) return opened;
  if (!open.file)
    return refuse(CONSORT_E_IO, "the file " + name + " of rank " + std::to_string(expected.rank) +
                                    " is not seen here: name a folder that all ranks share");
  if (bytes < kPartHead + kPartTrail) return refuse_file(name, "it was cut short");
  auto head = read_file(open.file, 0, kPartHead), trail = read_file(open.file, bytes - kPartTrail, kPartTrail);
  if (!head || !trail) return head ? trail.error() : head.error();
  PartHead found;
  SavedPart part{bytes, 0};
  std::string why;
  if (!decode(*head, &found, &why) || !decode_trail(*trail, bytes, &index_at, &index_bytes, &part.sum, &why)) return refuse_file(name, why);
  if (found != expected) return refuse_file(name, "it belongs to another checkpoint");
  auto index = read_file(open.file, index_at, index_bytes);
  if (!index) return index.error();
  std::vector<SavedDatum> data;
  if (!decode_index(*index, part.sum, index_at, expected.rank, &data, &why)) return refuse_file(name, why);
  m->parts.push_back(part);
  m->data.insert(m->data.end(), data.begin(), data.end());
  return {};
}

Result<void> CheckpointFolder::commit(const CheckpointManifest &m) {
  const std::string bytes = encode(m);
  Open open(*ops_);
  clear_error();
  if (auto made = check(ops_->create(folder_, kManifestName, &open.file), "create()"); !made) {
    open.file = nullptr;
    return made;
  }
  if (auto written = check(ops_->write(open.file, bytes.data(), bytes.size()), "write()"); !written) return written;
  return check(ops_->commit(open.file), "commit()");
}

void CheckpointFolder::clean(const CheckpointManifest &m) noexcept try {
  std::vector<std::string> all;
  (void)ops_->list(folder_, [](void *to, const char *name) {
    try {
      static_cast<std::vector<std::string> *>(to)->push_back(name);
    } catch (const std::bad_alloc &) {  // the file stays
    }
  }, &all);
  for (const std::string &name : all) {
    uint64_t serial;
    uint32_t rank;
    if (!read_part_name(name, &serial, &rank)) continue;
    if (serial < m.serial || (serial == m.serial && rank >= m.parts.size())) (void)ops_->remove(folder_, name.c_str());
  }
} catch (const std::bad_alloc &) {  // the files stay
}

// -- reading -----------------------------------------------------------------------------------------------------

Result<void> CheckpointFolder::read(const CheckpointManifest &m, const SavedDatum &d, void *out) {
  const std::string name = part_name(m.serial, d.rank);
  if (!read_ || read_rank_ != d.rank || read_serial_ != m.serial) {
    if (read_) ops_->close(std::exchange(read_, nullptr));
    uint64_t bytes;
    if (auto opened = open_file(name, &bytes, &read_); !opened) return opened;
    if (!read_) return refuse_file(name, "it is missing");
    read_rank_ = d.rank, read_serial_ = m.serial;
    if (bytes != m.parts[d.rank].bytes) {
      ops_->close(std::exchange(read_, nullptr));
      return refuse_file(name, "it has " + std::to_string(bytes) + " bytes, the manifest says " + std::to_string(m.parts[d.rank].bytes));
    }
  }
  clear_error();
  if (auto got = check(ops_->read(read_, d.offset, out, d.bytes), "read()"); !got) return got;
  if (checksum({static_cast<const char *>(out), d.bytes}) != d.sum)
    return refuse_file(name, "the contents of the datum with tag " + std::to_string(d.tag) + " differ from what was written");
  return {};
}

}  // namespace consort
