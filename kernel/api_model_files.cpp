// api_model_files.cpp — model.h: models that are kept on this machine.
#include <consort/model.h>
#include <dirent.h>

#include <algorithm>
#include <cmath>

#include "api.hpp"
#include "model_file.hpp"
#include "samples.hpp"

using namespace consort;

namespace {

std::vector<std::string> files_in(const std::string &folder) {
  std::vector<std::string> names;
  if (DIR *d = folder.empty() ? nullptr : ::opendir(folder.c_str())) {
    while (const dirent *e = ::readdir(d))
      if (std::string name = e->d_name; name.ends_with(".txt")) names.push_back(std::move(name));
    ::closedir(d);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<StoredModel> read_file(const std::string &path) {
  StoredModel m;
  std::string text, why;
  if (KeptFile::read_any(path, StoredModel::kKind, StoredModel::kVersion, &text, &why) != KeptFile::State::kGood)
    return error(CONSORT_E_INVAL, why.empty() ? "it is gone" : why);
  auto head = m.read_about(text);
  if (!head) return head.error();
  if (auto body = m.read_body(std::string_view(text).substr(*head)); !body) return body.error();
  return m;
}

void tell_row(const StoredModel &m, const StoredCell &c, void (*row)(void *, const consort_model_row *), void *user) {
  const Samples::Figure f = figure_of(c.samples);
  consort_model_row r{};
  r.size = sizeof r;
  r.what = m.what;
  r.name = m.name.c_str();
  r.klass = c.klass.c_str();
  r.arch = c.arch.c_str();
  r.impl = m.impls[c.impl].name.c_str();
  r.impl_number = c.impl;
  r.used = f.used;
  r.footprint = c.footprint;
  r.bytes = c.bytes;
  r.count = c.count;
  r.outliers = c.outliers;
  r.median = r.expected = f.median;
  r.spread = f.spread;
  r.told = NAN;
  row(user, &r);
}

}  // namespace

extern "C" consort_status consort_list_models(const consort_settings *settings,
                                              void (*file)(void *, const consort_model_file *),
                                              void (*row)(void *, const consort_model_row *), void *user) {
  if (!file) return set_error(CONSORT_E_INVAL, "file is NULL");
  return guarded([&]() -> consort_status {
    auto config = Config::load(settings);
    if (!config) return set_error(config.error());
    std::string folder((*config)->text("model_folder"));
    if (folder.empty()) folder = KeptFile::folder(StoredModel::kRoom);
    const std::string here = machine_words(false);
    for (const std::string &name : files_in(folder)) {
      const std::string path = folder + "/" + name;
      auto m = read_file(path);
      const consort_model_file f{sizeof f,
                                 m ? m->what : 0,
                                 path.c_str(),
                                 m ? m->machine.c_str() : "",
                                 m ? m->name.c_str() : "",
                                 m ? "" : m.error().text.c_str(),
                                 m ? static_cast<uint32_t>(m->cells.size()) : 0,
                                 m && m->machine == here};
      file(user, &f);
      for (size_t i = 0; row && m && i < m->cells.size(); ++i) tell_row(*m, m->cells[i], row, user);
    }
    return CONSORT_OK;
  });
}
