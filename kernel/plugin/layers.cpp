// The registry's way through layers: who is named, and who then stands in a plugin's place.
//
// [control], under the registry's mutex. Where no layer is named, a plugin's tables stay what they were.
#include <algorithm>
#include <cstring>

#include "plugin/registry.hpp"
#include "plugin/registry_parts.hpp"

namespace consort {

// Before anything else is started, so that they end last. One that is not there, or does not start, is an error.
Result<void> Registry::open_layers() {
  if (layers_open_) return {};
  std::vector<Plugin *> layers;
  if (config_->flag("check"))
    log_.write(kLogWarn, config_->origin("check") +
                             ": check does nothing any more: layers = \"checks\" watches thread tags, and more than these");
  for (const std::string &name : config_->list("layers")) {
    const auto said = [&](const Error &e) { return error(e.status, config_->origin("layers") + ": " + e.text); };
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

// The last named comes first, so the first named is outermost. What a layer is given stays as it is: it may be called
// as long as the layer lives.
Result<void> Registry::pass_layers(Live &live) {
  if (live.passed || live.manifest.plugin.kind == CONSORT_KIND_LAYER) return {};
  if (layers_.empty()) return live.passed = true, Result<void>();
  Manifest manifest(live.manifest);  // the plugin's own, until all have answered
  manifest.plugin.ops = &manifest.ops;
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    auto beneath = std::make_unique<Manifest>(manifest);
    beneath->plugin.ops = &beneath->ops;
    const consort_plugin &inner = beneath->plugin;
    const std::string who = "layer \"" + std::string((*layer)->manifest->name) + "\" over " + kind_name(inner.kind) +
                            " \"" + inner.name + "\"";
    clear_error();
    const consort_plugin *outer = nullptr;
    const consort_status status = guarded(who, "wrap", [&] {
      return outer = (*layer)->layer()->wrap((*layer)->self, live.host->table(), &inner), consort_status{CONSORT_OK};
    });
    live.beneath.push_back(std::move(beneath));  // for good: the layer has seen it
    if (status < 0) return error(status, words(status));
    if (!outer) return error(CONSORT_E_UNSUPPORTED, who + " refuses: " + words(CONSORT_E_UNSUPPORTED));
    if (outer == &inner) continue;
    Manifest wrapped;
    if (auto filled = wrapped.fill(outer, nullptr, who); !filled) return filled.error();
    const consort_plugin &w = wrapped.plugin;
    if (w.kind != inner.kind || w.flags != inner.flags || w.abi_major != inner.abi_major ||
        w.abi_minor != inner.abi_minor || std::strcmp(w.name, inner.name) != 0 ||
        std::strcmp(w.version, inner.version) != 0)
      return error(CONSORT_E_ABI,
                   who + " answers another plugin: it must keep kind, name, version, flags and ABI version");
    if (!wrapped.holes.empty())
      log_.write(kLogWarn, who + " lacks functions, which answer as unsupported: " + wrapped.holes);
    manifest = std::move(wrapped);
    manifest.plugin.ops = &manifest.ops;
  }
  live.manifest = std::move(manifest);
  live.manifest.plugin.ops = &live.manifest.ops;
  live.passed = true;
  return {};
}

}  // namespace consort
