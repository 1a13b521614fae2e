// Layers in the registry: starts the named ones and wraps the tables of other plugins.
//
// [control], under the registry's mutex. Without layers a plugin's tables stay unchanged.
#include <consort/defaults.h>

#include <algorithm>
#include <cstring>

#include "plugin/registry.hpp"
#include "plugin/registry_parts.hpp"

namespace consort {

// Starts the layers before all other plugins, so that they end last. A layer that is missing or does not start is an
// error.
Result<void> Registry::open_layers() {
  if (layers_open_) return {};
  std::vector<Plugin *> layers;
  if (config_->flag("check"))
    log_.write(kLogWarn, config_->origin("check") +
                             ": check does nothing any more: layers = \"checks\" watches thread tags, and more than these");
  std::vector<std::string> names = config_->list("layers");
  const size_t listed = names.size();
  if (config_->flag("check_access") && std::find(names.begin(), names.end(), CONSORT_DEFAULT_ACCESS_CHECK) == names.end())
    names.push_back(CONSORT_DEFAULT_ACCESS_CHECK);
  for (const std::string &name : names) {
    const char *key = layers.size() < listed ? "layers" : "check_access";
    const auto said = [&](const Error &e) { return error(e.status, config_->origin(key) + ": " + e.text); };
    auto index = look_up(CONSORT_KIND_LAYER, name);
    if (!index) return said(index.error());
    auto started = start(*index);
    if (!started) return started.error();
    if (std::find(layers.begin(), layers.end(), *started) != layers.end())
      return error(CONSORT_E_INVAL,
                   config_->origin("layers") + ": layer \"" + name + "\" is named twice; once is enough");
    layers.push_back(*started);
  }
  layers_ = std::move(layers);
  layers_open_ = true;
  return {};
}

// Passes the plugin's manifest to each layer, from the last named to the first, so the first named is outermost. The
// tables given to a layer stay unchanged: the layer may call them as long as it lives.
Result<void> Registry::pass_layers(Live &live) {
  if (live.passed || live.manifest.plugin.kind == CONSORT_KIND_LAYER) return {};
  if (layers_.empty()) return live.passed = true, Result<void>();
  Manifest manifest(live.manifest);  // the plugin's own, until all layers have answered
  manifest.plugin.ops = &manifest.ops;
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    auto beneath = std::make_unique<Manifest>(manifest);
    beneath->plugin.ops = &beneath->ops;
    const consort_plugin &inner = beneath->plugin;
    const std::string label = "layer \"" + std::string((*layer)->manifest->name) + "\" over " + kind_name(inner.kind) +
                            " \"" + inner.name + "\"";
    clear_error();
    const consort_plugin *outer = nullptr;
    const consort_status status = guarded(label, "wrap", [&] {
      return outer = (*layer)->layer()->wrap((*layer)->self, live.host->table(), &inner), consort_status{CONSORT_OK};
    });
    live.beneath.push_back(std::move(beneath));  // never freed: the layer has a pointer to it
    if (status < 0) return error(status, words(status));
    if (!outer) return error(CONSORT_E_UNSUPPORTED, label + " refuses: " + words(CONSORT_E_UNSUPPORTED));
    if (outer == &inner) continue;
    Manifest wrapped;
    if (auto filled = wrapped.fill(outer, nullptr, label); !filled) return filled.error();
    const consort_plugin &w = wrapped.plugin;
    if (w.kind != inner.kind || w.flags != inner.flags || w.abi_major != inner.abi_major ||
        w.abi_minor != inner.abi_minor || std::strcmp(w.name, inner.name) != 0 ||
        std::strcmp(w.version, inner.version) != 0)
      return error(CONSORT_E_ABI,
                   label + " answers another plugin: it must keep kind, name, version, flags and ABI version");
    if (!wrapped.holes.empty())
      log_.write(kLogWarn, label + " lacks functions, which answer as unsupported: " + wrapped.holes);
    manifest = std::move(wrapped);
    manifest.plugin.ops = &manifest.ops;
  }
  live.manifest = std::move(manifest);
  live.manifest.plugin.ops = &live.manifest.ops;
  live.passed = true;
  return {};
}

}  // namespace consort
