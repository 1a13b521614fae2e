#include "plugin/default_devices.hpp"

#include <consort/start.h>

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/last_error.hpp"

namespace consort {

DefaultDevices::DefaultDevices(const Config &config, const Log &log)
    : log_(log), root_(config.text("device_root")), off_(config.text("time") == "virtual") {}

std::vector<std::string> DefaultDevices::matches(const std::string &paths) const {
  std::vector<std::string> all;
  std::istringstream words(paths);
  for (std::string pattern; words >> pattern;) {
    glob_t found{};
    if (::glob((root_ + pattern).c_str(), 0, nullptr, &found) == 0)
      for (size_t i = 0; i < found.gl_pathc; ++i) all.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
  }
  return all;
}

std::string DefaultDevices::owner(const std::string &place) const {
  const auto at = owners_.find(place);
  return at == owners_.end() ? "" : at->second;
}

bool DefaultDevices::are_there(const std::string &driver, const std::string &paths, bool left) const {
  const auto no = [&](int32_t level, const std::string &why) {
    log_.write(level, "driver \"" + driver + "\" is not started: " + why);
    return false;
  };
  if (off_) return no(kLogDebug, "in virtual time, devices are used only if `drivers` names them");
  if (paths.empty()) return no(kLogDebug, "its file does not say where devices show; it starts by its name");
  const std::vector<std::string> all = matches(paths);
  if (all.empty()) return no(kLogDebug, "no device: nothing matches " + paths + (root_.empty() ? "" : " below " + root_));
  const bool rest = std::any_of(all.begin(), all.end(), [&](const std::string &path) {
    return owner(path.substr(path.rfind('/') + 1)).empty();
  });
  if (left && !rest) return no(kLogInfo, "driver \"" + owner(all[0].substr(all[0].rfind('/') + 1)) + "\" has its devices");
  return true;
}

void DefaultDevices::add(Plugin &plugin) {
  const std::string name = plugin.manifest->name;
  if (!(plugin.manifest->flags & CONSORT_PF_PROBED)) return;
  const auto *places = static_cast<const consort_places *>(plugin.manifest->get(plugin.self, CONSORT_PLACES_ID));
  const bool tells = places && CONSORT_HAS_FN(places, consort_places, place);
  const bool last = plugin.manifest->flags & CONSORT_PF_LAST;
  const uint32_t n = plugin.driver()->count(plugin.self);
  std::vector<std::string> own(n);
  for (uint32_t i = 0; i < n; ++i) {
    char text[64] = "";
    if (tells && places->place(plugin.self, i, text, sizeof text) >= 0) text[sizeof text - 1] = 0, own[i] = text;
    std::transform(own[i].begin(), own[i].end(), own[i].begin(), [](unsigned char c) { return std::tolower(c); });
  }
  clear_error();
  if (plugin.by_default) {
    plugin.left_out.assign(n, false);
    for (uint32_t i = 0; i < n; ++i) {
      const std::string other = own[i].empty() ? "" : owner(own[i]);
      const bool unknown = own[i].empty() && last && others_;  // it may be a device of theirs
      plugin.left_out[i] = !other.empty() || unknown;
      if (plugin.left_out[i])
        log_.write(kLogInfo, name + ": device " + std::to_string(i) + (own[i].empty() ? "" : " at " + own[i]) + " is not used: " +
                                 (unknown ? "other drivers have devices, and its place on the bus is unknown"
                                          : "driver \"" + other + "\" has it") +
                                 "; drivers = \"*, " + name + "\" uses it");
    }
  }
  for (const std::string &place : own)
    if (!place.empty()) owners_.emplace(place, name);
  others_ |= n > 0;
}

}  // namespace consort
