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

constexpr consort_plugin plugin = {.size = sizeof(consort_plugin),
                                   .kind = CONSORT_KIND_LAYER,
                                   .abi_major = CONSORT_LAYER_MAJOR,
                                   .abi_minor = CONSORT_LAYER_MINOR,
                                   .flags = 0,
                                   .name = "checks",
                                   .version = "0.1.0",
                                   .summary = "holds plugins to what the headers say",
                                   .license = "Apache-2.0",
                                   .params = params,
                                   .nparams = sizeof params / sizeof *params,
                                   .reserved = 0,
                                   .ops = &Plugin<Checks>::ops,
                                   .init = Plugin<Checks>::init,
                                   .quiesce = Plugin<Checks>::quiesce,
                                   .fini = Plugin<Checks>::fini,
                                   .get = nullptr};

}  // namespace
}  // namespace checks

CONSORT_MODULE(checks, LAYER, 0, "checks", "0.1.0", checks::plugin);
