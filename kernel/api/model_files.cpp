// model_files.cpp — model.h: models stored on this machine.
#include <consort/model.h>
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <tuple>

#include "api/entry.hpp"
#include "model/model_store.hpp"
#include "model/sample_window.hpp"

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
  if (CacheFile::read_any(path, StoredModel::kKind, StoredModel::kVersion, &text, &why) != CacheFile::State::kGood)
    return error(CONSORT_E_INVAL, why.empty() ? "it is gone" : why);
  auto head = m.read_about(text);
  if (!head) return head.error();
  if (auto body = m.read_body(std::string_view(text).substr(*head)); !body) return body.error();
  return m;
}

void tell_row(const StoredModel &m, const StoredCell &c, void (*row)(void *, const consort_model_row *), void *user) {
  const SampleWindow::Figure f = figure_of(c.samples);
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

Result<std::string> folder_of(const consort_settings *settings) {
  auto config = Config::load(settings);
  if (!config) return config.error();
  std::string folder((*config)->text("model_folder"));
  return folder.empty() ? CacheFile::folder(StoredModel::kRoom) : folder;
}

// Returns values with that median and spread, distributed normally.
std::vector<float> samples_like(double median, double spread) {
  static constexpr double kNormal[] = {-1.38, -0.89, -0.55, -0.27, 0, 0.27, 0.55, 0.89, 1.38};
  std::vector<float> all;
  for (const double z : kNormal) all.push_back(static_cast<float>(std::clamp(median + z * spread, median / 100, 9e17)));
  return all;
}

Result<StoredCell> brought_cell(const consort_model_row &r, uint32_t i) {
  const auto bad = [&](const char *why) { return error(CONSORT_E_INVAL, "rows[" + std::to_string(i) + "]: " + why); };
  if (r.size < offsetof(consort_model_row, told)) return bad("its size is not that of consort_model_row");
  if (!r.klass || !*r.klass) return bad("it names no class of units");
  if (r.impl_number >= StoredModel::kBroughtImpls) return bad("impl_number is above 3");
  if (!(r.median >= 1e-12) || !(r.median <= 9e17)) return bad("median is not above 0, or not from 1e-12 to 9e17");
  if (r.bytes == UINT64_MAX) return bad("bytes is no size");
  if (!r.count) return bad("count is 0");
  StoredCell c;
  c.klass = one_line(r.klass);
  c.arch = "*";
  c.impl = r.impl_number;
  c.footprint = r.bytes + 1;         // not searched for: the row goes by bytes
  c.bytes = r.bytes;
  c.samples = samples_like(r.median, r.spread > 0 && std::isfinite(r.spread) ? r.spread : 0);
  c.count = std::max<uint64_t>(r.count, c.samples.size());
  return c;
}

}  // namespace

extern "C" consort_status consort_keep_model(const consort_settings *settings, const char *name, uint32_t what,
                                             const consort_model_row *rows, uint32_t n, char *path, size_t room) {
  if (!name || !*name) return set_error(CONSORT_E_INVAL, "name is NULL or empty: a codelet's name, as its model has it");
  if (what > CONSORT_MODEL_ENERGY) return set_errorf(CONSORT_E_INVAL, "what is %u: time and energy are kept", what);
  if (n && !rows) return set_error(CONSORT_E_INVAL, "rows is NULL");
  return guarded([&]() -> consort_status {
    auto folder = folder_of(settings);
    if (!folder) return set_error(folder.error());
    if (folder->empty())
      return set_error(CONSORT_E_INVAL, "no folder to keep models in: HOME is not set; the setting model_folder names one");
    StoredModel m = StoredModel::brought(machine_words(false), one_line(name), what);
    std::multimap<std::tuple<std::string, uint64_t, uint32_t>, StoredCell> sorted;  // equal keys keep their order
    for (uint32_t i = 0; i < n; ++i) {
      auto cell = brought_cell(rows[i], i);
      if (!cell) return set_error(cell.error());
      sorted.emplace(std::tuple(cell->klass, cell->bytes, cell->impl), std::move(*cell));
    }
    for (auto &[key, cell] : sorted) m.cells.push_back(std::move(cell));
    const CacheFile file = file_of(m, *folder);
    if (path && room) std::snprintf(path, room, "%s", file.path().c_str());
    if (!n) {
      if (::unlink(file.path().c_str()) == 0 || errno == ENOENT) return CONSORT_OK;
      return set_errorf(CONSORT_E_IO, "cannot remove %s: %s", file.path().c_str(), std::strerror(errno));
    }
    const auto r = file.write(m.body());
    return r ? CONSORT_OK : set_error(r.error());
  });
}

extern "C" consort_status consort_list_models(const consort_settings *settings,
                                              void (*file)(void *, const consort_model_file *),
                                              void (*row)(void *, const consort_model_row *), void *user) {
  if (!file) return set_error(CONSORT_E_INVAL, "file is NULL");
  return guarded([&]() -> consort_status {
    auto folder = folder_of(settings);
    if (!folder) return set_error(folder.error());
    const std::string here = machine_words(false);
    for (const std::string &name : files_in(*folder)) {
      const std::string path = *folder + "/" + name;
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
