// The "ndim" interface: one to eight dimensions, each with its own step. Functions are in dense.hpp, partitions
// in filters.hpp.
#include "../dense.hpp"
#include "../filters.hpp"

namespace {
using namespace layouts;

constexpr consort_filter filters[] = {
    filter<Ndim, Chunks<>>("blocks"),
    filter<Ndim, Tiles<consort_grid>>("tiles"),
    filter<Ndim, Cyclic>("cyclic"),
    filter<Ndim, Listed>("list", CONSORT_FI_COVER | CONSORT_FI_LIST),
    filter<Ndim, Halves>("halves"),
    filter<Ndim, Haloed>("overlap", CONSORT_FI_COVER | CONSORT_FI_OVERLAP),
    filter<Ndim, Slices<1>>("slices"),
};
constexpr consort_interface_ops ops = dense_ops<Ndim>(filters);
constexpr consort_plugin plugin = layout_plugin("ndim", "one to eight dimensions of any steps", ops);
}  // namespace

CONSORT_MODULE(ndim, INTERFACE, layouts::kPluginFlags, "ndim", "0.1.0", plugin);
