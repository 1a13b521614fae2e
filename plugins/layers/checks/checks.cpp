// checks.cpp — the layer that holds plugins, and who calls them, to what the headers say: thread tags, what calls
// answer, what is taken and given back.
//
// It says each violation once per plugin, rule and function, at level error; a call goes on with an answer that is safe.
#include <consort/layer.h>

#include "checks.hpp"
#include "rules.hpp"

namespace checks {
namespace {

constexpr consort_param params[] = {
    {"fatal", "bool", "false", nullptr, "a call that answers a status answers E_INTERNAL where it broke a rule"},
    {"plugins", "list", "", nullptr, "these alone; empty: all"},
};

constexpr consort_plugin plugin = Plugin<Checks>::table("checks", "holds plugins to what the headers say", params);

}  // namespace
}  // namespace checks

CONSORT_MODULE(checks, LAYER, 0, "checks", "0.1.0", checks::plugin);
