// The "vector" interface: n contiguous elements of one size. Functions are in dense.hpp, partitions in
// filters.hpp.
#include "../dense.hpp"
#include "../filters.hpp"

namespace {
using namespace layouts;

constexpr consort_filter filters[] = {
    filter<Vector, Chunks<>>("blocks"),
    retyping<Vector, Ndim, Cyclic>("cyclic"),
    filter<Vector, Listed>("list", CONSORT_FI_COVER | CONSORT_FI_LIST),
    filter<Vector, Halves>("halves"),
    filter<Vector, Haloed>("overlap", CONSORT_FI_COVER | CONSORT_FI_OVERLAP),
    retyping<Vector, Variable, Slices<0>>("slices"),
};
constexpr consort_interface_ops ops = dense_ops<Vector>(filters);
constexpr consort_plugin plugin = layout_plugin("vector", "n elements of one size, contiguous", ops);
}  // namespace

CONSORT_MODULE(vector, INTERFACE, layouts::kPluginFlags, "vector", "0.1.0", plugin);
