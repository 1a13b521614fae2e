// model_store.hpp — storage of models between runs: a model is read when it is made, and written when the runtime
// stops.
//
// Owned by Models. read() is called by the thread that makes the model, before others see it. write_all() is called at
// the end, when nothing runs.
#pragma once
#include <string>

#include "base/cache_file.hpp"
#include "model/model_file.hpp"

namespace consort {

class Model;
class Models;
struct Platform;

// The file of that model in a folder. folder "": no file. May throw bad_alloc.
CacheFile file_of(const StoredModel &, const std::string &folder);

class ModelStore {
 public:
  // kOnDemand: stored values are used at once. kAnew: only after they were measured again. kDropped: files are not
  // read.
  enum class Use { kOnDemand, kAnew, kDropped };
  void open(const Platform &, std::string folder, Use use, bool write);  // folder "": no files
  void read(const Models &, Model &) const noexcept;
  void write(const Models &, Model &) const noexcept;
  bool is_open() const noexcept { return !folder_.empty(); }
  std::string path_of(const Model &) const;      // may throw bad_alloc

 private:
  StoredModel head_of(const Model &) const;
  bool take(StoredModel *, const char *whose) const;  // may throw bad_alloc
  const Platform *rt_ = nullptr;
  std::string folder_, machine_;
  Use use_ = Use::kOnDemand;
  bool write_ = false;
};

}  // namespace consort
