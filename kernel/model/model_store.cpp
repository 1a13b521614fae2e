#include "model/model_store.hpp"

#include <algorithm>
#include <new>
#include <tuple>

#include "machine/platform.hpp"
#include "model/models.hpp"

namespace consort {

CacheFile file_of(const StoredModel &m, const std::string &folder) {
  return CacheFile(folder.empty() ? "" : folder + "/" + m.file_name(), StoredModel::kKind, StoredModel::kVersion, m.about());
}

void ModelStore::open(const Platform &rt, std::string folder, Use use, bool write) {
  rt_ = &rt;
  folder_ = std::move(folder);
  use_ = use;
  write_ = write;
  if (!folder_.empty()) machine_ = machine_words(false);
}

StoredModel ModelStore::head_of(const Model &m) const {
  StoredModel s;
  s.machine = machine_;
  s.name = m.name();
  s.what = m.what();
  for (const Model::Impl &i : m.impls()) s.impls.push_back({i.klass, i.name});
  return s;
}

std::string ModelStore::path_of(const Model &m) const { return file_of(head_of(m), folder_).path(); }

// Reads the model's cells, if there is a valid file.
bool ModelStore::take(StoredModel *stored, const char *whose) const {
  const CacheFile file = file_of(*stored, folder_);
  std::string body, why;
  auto state = file.read(&body, &why);
  if (state == CacheFile::State::kGood)
    if (auto r = stored->read_body(body); !r) state = CacheFile::State::kUnusable, why = r.error().text;
  if (state == CacheFile::State::kUnusable)
    rt_->log(1, std::string(whose) + " of \"" + stored->name + "\", " + file.path() + ": " + why +
                    ": it is measured anew");
  return state == CacheFile::State::kGood;
}

void ModelStore::read(const Models &models, Model &m) const noexcept {
  if (folder_.empty() || use_ == Use::kDropped || !m.has_history()) return;
  const auto &kinds = models.kinds();
  try {
    if (StoredModel stored = head_of(m); take(&stored, "stored model"))
      for (StoredCell &c : stored.cells) {
        const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto &k) {
          return one_line(k.klass) == c.klass && one_line(k.arch) == c.arch;
        });
        if (kind == kinds.end()) m.keep_foreign(std::move(c));
        else m.restore(c, static_cast<uint32_t>(kind - kinds.begin()), use_ == Use::kOnDemand);
      }
    if (StoredModel brought = StoredModel::brought(machine_, one_line(m.name()), m.what());
        use_ == Use::kOnDemand && take(&brought, "model that was brought here"))
      for (const StoredCell &c : brought.cells)
        for (uint32_t kind = 0; kind < kinds.size(); ++kind) {
          if (kinds[kind].klass != c.klass) continue;
          uint32_t of_its_class = 0;
          for (uint32_t impl = 0; impl < m.impls().size(); ++impl)
            if (m.impls()[impl].klass == c.klass && of_its_class++ == c.impl) m.bring(c, kind, impl);
        }
    m.restored();
  } catch (const std::bad_alloc &) {  // the model is measured instead
  }
}

void ModelStore::write(const Models &models, Model &m) const noexcept {
  if (folder_.empty() || !write_ || !m.has_news()) return;
  try {
    StoredModel stored = head_of(m);
    stored.cells = m.foreign();
    m.each_row([&](const Row &row) {
      if (row.brought) return;
      for (uint32_t kind = 0; kind < models.kinds().size(); ++kind)
        for (uint32_t impl = 0; impl < m.impls().size(); ++impl) {
          Cell &cell = row.cells[m.place(kind, impl)];
          const auto values = cell.window.values();
          if (values.empty()) continue;
          stored.cells.push_back({models.kinds()[kind].klass, models.kinds()[kind].arch, impl, row.footprint, row.bytes,
                                  std::max<uint64_t>(cell.count.load(std::memory_order_relaxed), values.size()),
                                  cell.outliers.load(std::memory_order_relaxed),
                                  {values.begin(), values.end()},
                                  {}});
          const uint32_t n = m.has_measures() ? m.curves().shape().measures : 0;
          if (std::all_of(row.at, row.at + n, [](double x) { return std::isfinite(x); }))
            stored.cells.back().at.assign(row.at, row.at + n);
        }
    });
    std::sort(stored.cells.begin(), stored.cells.end(), [](const StoredCell &a, const StoredCell &b) {
      return std::tie(a.klass, a.arch, a.bytes, a.footprint, a.impl) <
             std::tie(b.klass, b.arch, b.bytes, b.footprint, b.impl);
    });
    if (auto r = file_of(stored, folder_).write(stored.body()); !r)
      rt_->log(1, "model of \"" + m.name() + "\" is not kept: " + r.error().text);
  } catch (const std::bad_alloc &) {
    rt_->log(1, "a model is not kept: no memory");
  }
}

}  // namespace consort
