// The "block" interface: nz planes of ny lines of nx contiguous elements, with two leading dimensions.
// Functions are in dense.hpp, partitions in filters.hpp.
#include "../dense.hpp"
#include "../filters.hpp"

namespace {
using namespace layouts;

constexpr consort_filter filters[] = {
    filter<Block, Chunks<>>("blocks"),
    filter<Block, Tiles<consort_grid>>("tiles"),
    filter<Block, Cyclic>("cyclic"),
    filter<Block, Listed>("list", CONSORT_FI_COVER | CONSORT_FI_LIST),
    filter<Block, Halves>("halves"),
    filter<Block, Haloed>("overlap", CONSORT_FI_COVER | CONSORT_FI_OVERLAP),
    retyping<Block, Matrix, Slices<0>>("slices"),
    retyping<Block, Ndim, Cyclic>("ndim_cyclic"),
    retyping<Block, Ndim, Slices<1>>("ndim_slices"),
};
constexpr consort_interface_ops ops = dense_ops<Block>(filters);
constexpr consort_plugin plugin = layout_plugin("block", "nz planes of ny lines of nx contiguous elements, with two leading dimensions", ops);
}  // namespace

CONSORT_MODULE(block, INTERFACE, layouts::kPluginFlags, "block", "0.1.0", plugin);
