// checks.cpp — the layer that checks plugins and their callers against the headers: thread tags, results,
// allocation and release.
//
// It reports each violation once per plugin, rule and function, at level error; the call continues with a safe result.
#include <consort/layer.h>

#include "checks.hpp"
#include "function_rules.hpp"

namespace checks {
namespace {

constexpr consort_param params[] = {
    {"fatal", "bool", "false", nullptr, "a call with a status result returns E_INTERNAL after a violation"},
    {"plugins", "list", "", nullptr, "plugins to check; empty: all"},
};

constexpr consort_plugin plugin = Plugin<Checks>::table("checks", "checks plugins against the headers", params);

}  // namespace
}  // namespace checks

CONSORT_MODULE(checks, LAYER, 0, "checks", "0.1.0", checks::plugin);
