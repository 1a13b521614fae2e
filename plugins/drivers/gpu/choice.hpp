// choice.hpp — start of a GPU driver: settings, the vendor's library, selection of devices; the parameters common to these
// drivers.
#pragma once
#include <cstdlib>

#include "../streams/settings.hpp"
#include "device.hpp"
#include "libraries.hpp"

namespace gpu {

template <class V>
consort_status Driver<V>::read() {
  by_default = streams::is_by_default(host);
  const auto number = [&](const char *key) { return std::strtol(text(key).c_str(), nullptr, 10); };
  settings.units = static_cast<uint32_t>(number("units"));
  settings.depth = static_cast<uint32_t>(number("depth"));
  settings.priority = static_cast<int32_t>(number("priority"));
  settings.peers = text("peers") == "true";
  settings.near = text("near") == "true";
  settings.options = text("options");
  settings.folders = text("folders");
  settings.compiler = text("compiler");
  libraries.read(*this);
  settings.cache = streams::cache_folder(text("cache"), kName);
  if (const std::string limit = text("limit"); !streams::parse_bytes(limit, &settings.limit))
    return fail(CONSORT_E_INVAL, "limit = \"" + limit + "\" is not a size: write bytes, or 512M, 2G");
  return CONSORT_OK;
}

template <class V>
consort_status Driver<V>::start() {
  const auto none = [&](const std::string &why) { return fail(CONSORT_E_UNSUPPORTED, "no device: " + why); };
  std::string why;
  if (!api.open(text("library").c_str(), &why)) return none(why);
  int there = 0;
  if (const int e = api.init(&there)) return none(V::why_none(e) + " (" + api.words(e) + ")");
  if (!there) return none(V::why_none(0));
  const auto wanted = streams::split(text("devices"));
  std::string others;
  for (int i = 0; i < there; ++i) {
    const std::string label = api.device_name(i);
    if (streams::chosen(wanted, static_cast<uint32_t>(i), label)) devices.push_back({i, label});
    else others += (others.empty() ? "" : ", ") + std::to_string(i) + " \"" + label + "\"";
  }
  if (devices.empty()) return none("none selected by " + std::string(kName) + ".devices: " + others);
  if (!others.empty()) host->log(host, 3, (std::string(kName) + ": not selected: " + others).c_str());
  return CONSORT_OK;
}

#define GPU_PARAMS                                                                                                          \
  {"devices", "list", "", nullptr, "devices by number or part of their name; empty: all that the vendor's library reports"},   \
      {"limit", "string", "0", nullptr, "memory used per device: bytes, 512M, 2G; 0: the memory that is free at open"},   \
      {"units", "u32", "1", "1..16", "units per device, each with its own stream: kernels that may run concurrently"},  \
      {"depth", "u32", "64", "1..4096", "ops in flight per queue"},                                                          \
      {"priority", "i32", "0", nullptr, "priority of the units' streams: lower is more urgent; copies have the highest"}, \
      {"peers", "bool", "true", nullptr, "direct copies between devices that can access each other's memory"},     \
      {"near", "bool", "true", nullptr, "threads that drive a device run on cores near it, as the system reports"},            \
      {"options", "string", "", nullptr, "options of the kernel compiler"},                                                     \
      {"folders", "string", "", nullptr, "folders of kernel files, separated by :, searched before the working directory"},  \
      {"cache", "string", "auto", nullptr, "folder of built kernels; auto: below consort in the user's cache; off: none"}

}  // namespace gpu
