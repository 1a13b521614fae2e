// The "coo" interface: a sparse matrix as a list of entries, each with its row and its column. Functions are in
// arrays.hpp and sparse.hpp.
#include "../sparse.hpp"

namespace {
using namespace layouts;

constexpr consort_filter filters[] = {
    entries<Chunks<0>>("blocks"),
    entries<Listed>("list", CONSORT_FI_COVER | CONSORT_FI_LIST),
};
constexpr consort_interface_ops ops = arrays_ops<Coo>(filters);
constexpr consort_plugin plugin = layout_plugin("coo", "sparse matrix as a list of entries", ops);
}  // namespace

CONSORT_MODULE(coo, INTERFACE, layouts::kPluginFlags, "coo", "0.1.0", plugin);
