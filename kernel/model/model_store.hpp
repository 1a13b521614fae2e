// model_store.hpp — models that outlive the runtime: read when a model is made, written when the runtime stops.
//
// Owned by Models. read() by whoever makes the model, before anybody else sees it; write_all() at the end, when nothing
// runs.
#pragma once
#include <string>

#include "base/cache_file.hpp"
#include "model/model_file.hpp"

namespace consort {

class Model;
class Models;
struct Platform;

// The file of that model in a folder; folder "": none, nothing is kept. May throw bad_alloc.
CacheFile file_of(const StoredModel &, const std::string &folder);

class ModelStore {
 public:
  // on_demand: what is stored is told at once; anew: once it was measured again; dropped: it is not read.
  enum class Use { kOnDemand, kAnew, kDropped };
  void open(const Platform &, std::string folder, Use use, bool write);  // folder "": nothing is kept
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
