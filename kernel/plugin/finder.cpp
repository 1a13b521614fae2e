#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <sys/stat.h>

#include "base/suggestion.hpp"
#include "plugin/config_value.hpp"
#include "plugin/elf_note.hpp"
#include "plugin/file_ownership.hpp"
#include "plugin/registry_parts.hpp"

namespace consort {
namespace {

enum Rank { kNamed, kLinked, kPath, kOwn };

// Compares versions: 1.10.0 > 1.9.2; 1.0.0 > 1.0.0-rc1; numbers by value, all else as text.
int compare_versions(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      size_t m = i, n = j;
      while (m < a.size() && digit(a[m])) ++m;
      while (n < b.size() && digit(b[n])) ++n;
      if (m - i != n - j) return m - i < n - j ? -1 : 1;
      if (const int c = a.substr(i, m - i).compare(b.substr(j, n - j)); c != 0) return c;
      i = m, j = n;
    } else {
      if (a[i] != b[j]) return a[i] == '-' ? -1 : b[j] == '-' ? 1 : a[i] < b[j] ? -1 : 1;
      ++i, ++j;
    }
  }
  if (i < a.size()) return a[i] == '-' ? -1 : 1;
  if (j < b.size()) return b[j] == '-' ? 1 : -1;
  return 0;
}

}  // namespace

void Registry::Finder::refuse(Item &item, std::string reason, int32_t level) {
  item.found.usable = false;
  item.found.reason = std::move(reason);
  log_.write(level, item.found.reason);
}

void Registry::Finder::add_file(const std::string &path, int rank) {
  struct stat about;
  if (::stat(path.c_str(), &about) == 0) {
    const std::pair<dev_t, ino_t> file{about.st_dev, about.st_ino};
    if (std::find(seen_.begin(), seen_.end(), file) != seen_.end()) return;
    seen_.push_back(file);
    if (const std::string others = other_writers(about); !others.empty())
      log_.write(kLogWarn, "plugin file " + path + " " + others);
  }
  std::vector<consort_devices_note> devices;
  auto notes = read_notes(path, &devices);
  if (!notes) {
    Item item{};
    item.source.rank = rank;
    item.found.path = path;
    item.found.name = path.substr(path.rfind('/') + 1);
    // a shared object that is no plugin; it may lie in the folder
    const bool foreign = notes.error().status == CONSORT_E_UNSUPPORTED;
    refuse(item, path + " " + notes.error().text, rank == kNamed || !foreign ? kLogWarn : kLogInfo);
    items_.push_back(std::move(item));
    return;
  }
  for (const consort_note &note : *notes) {
    Item item{{note.name, note.version, path, "", note.kind, true, note.flags, note.abi_major, note.abi_minor,
               note.host_major, note.host_minor, note.sanitizer},
              {note, nullptr, rank, ""}};
    for (const consort_devices_note &d : devices)
      if (std::strcmp(d.name, note.name) == 0 && note.kind == CONSORT_KIND_DRIVER) item.source.devices = d.paths;
    if (auto fine = check_note(note, path); !fine) refuse(item, fine.error().text, kLogWarn);
    items_.push_back(std::move(item));
  }
}

void Registry::Finder::add_folder(const std::string &folder, int rank) {
  struct CloseFolder {
    void operator()(DIR *d) const noexcept { ::closedir(d); }
  };
  const std::unique_ptr<DIR, CloseFolder> dir(::opendir(folder.c_str()));
  if (!dir) {
    log_.write(rank != kOwn || errno != ENOENT ? kLogWarn : kLogDebug,
               "plugin folder " + folder + " cannot be read: " + std::strerror(errno));
    return;
  }
  struct stat about;
  if (::fstat(::dirfd(dir.get()), &about) == 0)
    if (const std::string others = other_writers(about); !others.empty())
      log_.write(kLogWarn, "plugin folder " + folder + " " + others);
  std::vector<std::string> names;
  while (const dirent *entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name.size() > 3 && name.ends_with(".so") && name[0] != '.') names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());  // the same order on every machine
  log_.write(kLogDebug, "plugin folder " + folder + ": " + std::to_string(names.size()) + " files");
  for (const std::string &name : names) add_file(folder + "/" + name, rank);
}

void Registry::Finder::add_files() {
  for (const std::string &word : config_.list("plugins"))
    if (word[0] == '+') add_file(word.substr(1), kNamed);
  for (const std::string &folder : split_list(config_.text("plugin_path"), ':')) add_folder(folder, kPath);
  if (const std::string own = own_folder(); !own.empty()) add_folder(own + "/consort/plugins", kOwn);
}

// Asks for the manifest at once: that costs one call, and there is no note to read.
Result<void> Registry::Finder::add_module(consort_entry_fn *entry, uint32_t index) {
  const std::string label = "modules[" + std::to_string(index) + "]";
  if (!entry) return error(CONSORT_E_INVAL, "settings: " + label + " is NULL");
  const Host host({}, log_, nullptr, label);
  auto module = ask_module(entry, host.table(), label);
  if (!module) return module.error();
  for (uint32_t i = 0; i < (*module)->nplugins; ++i) {
    Manifest manifest;
    if (auto filled = manifest.fill((*module)->plugins[i], nullptr, label); !filled) return filled.error();
    const consort_plugin &p = manifest.plugin;
    consort_note note{};  // the note that its file would have; a linked plugin gets the same version check
    note.host_major = CONSORT_HOST_MAJOR, note.host_minor = CONSORT_HOST_MINOR, note.sanitizer = CONSORT_SAN;
    note.kind = static_cast<uint16_t>(p.kind), note.flags = static_cast<uint16_t>(p.flags);
    note.abi_major = p.abi_major, note.abi_minor = p.abi_minor;
    std::strcpy(note.name, p.name);  // fill() has checked the length
    if (auto fine = check_note(note, label); !fine) return fine.error();
    items_.push_back({{p.name, p.version, "", "", p.kind, true, static_cast<uint16_t>(p.flags), p.abi_major,
                       p.abi_minor, CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR, CONSORT_SAN},
                      {{}, entry, kLinked, ""}});
  }
  return {};
}

Result<void> Registry::Finder::select() {
  const std::string origin = config_.origin("plugins");
  for (const Item &i : items_)  // files named by path
    if (i.source.rank == kNamed && !i.found.usable) return error(CONSORT_E_UNSUPPORTED, origin + ": " + i.found.reason);
  std::vector<std::string> wanted, names;
  for (const std::string &word : config_.list("plugins")) {
    if (word[0] == '^') {
      for (Item &i : items_)
        if (i.found.usable && i.found.name == word.substr(1))
          refuse(i, "left out by " + origin + ": \"" + word + "\"", kLogInfo);
    } else if (word[0] != '+') {
      wanted.push_back(word);
    }
  }
  for (const Item &i : items_)
    if (i.found.kind) names.push_back(i.found.name);
  if (wanted.empty()) return {};
  const auto is_wanted = [&](const Found &f) {
    return std::find(wanted.begin(), wanted.end(), f.name) != wanted.end();
  };
  std::vector<uint32_t> kinds;  // kinds of the wanted plugins; other plugins of these kinds are left out
  for (const std::string &word : wanted) {
    const Item *refused = nullptr;
    bool there = false;
    for (const Item &i : items_) {
      if (i.found.name != word || i.found.kind == 0) continue;
      if (i.found.usable) there = true, kinds.push_back(i.found.kind);
      else refused = &i;
    }
    if (there) continue;
    if (refused) return error(CONSORT_E_UNSUPPORTED, origin + ": " + refused->found.reason);
    return error(CONSORT_E_UNSUPPORTED, origin + ": plugin \"" + word + "\" not found" + did_you_mean(word, names) +
                                            "; consort plugins lists what there is");
  }
  for (Item &i : items_)
    if (i.found.usable && i.source.rank != kNamed && !is_wanted(i.found) &&
        std::find(kinds.begin(), kinds.end(), i.found.kind) != kinds.end())
      refuse(i, "left out by " + origin + ": \"" + std::string(config_.text("plugins")) + "\" names others of its kind",
             kLogInfo);
  return {};
}

void Registry::Finder::ask_admission() {
  if (!admission_.fn) return;
  for (size_t i = 0; i < items_.size(); ++i) {
    const std::string path = items_[i].found.path;
    const bool asked = std::any_of(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(i),
                                   [&](const Item &other) { return other.found.path == path; });
    if (asked || path.empty() || !items_[i].found.usable) continue;
    const char *why = admission_.fn(admission_.user, path.c_str());
    if (!why) continue;
    const std::string reason = path + " " + why;
    for (Item &item : items_)
      if (item.found.path == path && item.found.usable) refuse(item, reason, kLogWarn);
  }
}

Result<void> Registry::Finder::choose() {
  Result<void> selected = select();
  ask_admission();
  // Order: a file named by path, then the higher version, then the nearer place, then the one found first.
  const auto beats = [](const Item &a, const Item &b) {
    if ((a.source.rank == kNamed) != (b.source.rank == kNamed)) return a.source.rank == kNamed;
    if (const int c = compare_versions(a.found.version, b.found.version); c != 0) return c > 0;
    return a.source.rank < b.source.rank;
  };
  for (size_t i = 0; i < items_.size(); ++i)
    for (size_t j = i + 1; j < items_.size() && items_[i].found.usable; ++j) {
      Item *winner = &items_[i], *loser = &items_[j];
      if (!loser->found.usable || winner->found.kind != loser->found.kind || winner->found.name != loser->found.name)
        continue;
      if (beats(*loser, *winner)) std::swap(winner, loser);
      const std::string place = winner->found.path.empty() ? "linked into the program" : winner->found.path;
      refuse(*loser,
             (loser->found.path.empty() ? std::string("linked into the program") : loser->found.path) +
                 " gives way: " + winner->found.name + " " + winner->found.version + " (" + place +
                 ") is taken instead of " + loser->found.version,
             kLogInfo);
    }
  return selected;
}

void Registry::Finder::take(std::vector<Found> *found, std::vector<Source> *sources) {
  for (size_t i = 0; i < items_.size(); ++i) items_[i].order = i;
  std::sort(items_.begin(), items_.end(), [](const Item &a, const Item &b) {
    const int names = a.found.name.compare(b.found.name);
    if (a.found.kind != b.found.kind) return a.found.kind < b.found.kind;
    return names != 0 ? names < 0 : a.order < b.order;
  });
  for (Item &i : items_) {
    found->push_back(std::move(i.found));
    sources->push_back(std::move(i.source));
  }
}

}  // namespace consort
