// The "matrix" interface: ny lines of nx contiguous elements, ld elements from line to line. Functions are in
// dense.hpp, partitions in filters.hpp.
#include "../dense.hpp"
#include "../filters.hpp"

namespace {
using namespace layouts;

constexpr consort_filter filters[] = {
    filter<Matrix, Chunks<1>>("rows"),
    filter<Matrix, Chunks<0>>("cols"),
    filter<Matrix, Tiles<consort_tiles>>("tiles"),
    filter<Matrix, Chunks<>>("blocks"),
    filter<Matrix, Cyclic>("cyclic"),
    filter<Matrix, Listed>("list", CONSORT_FI_COVER | CONSORT_FI_LIST),
    filter<Matrix, Halves>("halves"),
    filter<Matrix, Haloed>("overlap", CONSORT_FI_COVER | CONSORT_FI_OVERLAP),
    retyping<Matrix, Vector, Slices<0>>("slices"),
    retyping<Matrix, Ndim, Cyclic>("ndim_cyclic"),
    retyping<Matrix, Ndim, Slices<1>>("ndim_slices"),
};
constexpr consort_interface_ops ops = dense_ops<Matrix>(filters);
constexpr consort_plugin plugin = layout_plugin("matrix", "lines of contiguous elements, with a leading dimension", ops);
}  // namespace

CONSORT_MODULE(matrix, INTERFACE, layouts::kPluginFlags, "matrix", "0.1.0", plugin);
