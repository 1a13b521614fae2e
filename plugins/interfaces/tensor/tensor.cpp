// The "tensor" interface: four dimensions, the fastest contiguous, with three leading dimensions.
// Functions are in dense.hpp, partitions in filters.hpp.
#include "../dense.hpp"
#include "../filters.hpp"

namespace {
using namespace layouts;

constexpr consort_filter filters[] = {
    filter<Tensor, Chunks<>>("blocks"),
    filter<Tensor, Tiles<consort_grid>>("tiles"),
    filter<Tensor, Cyclic>("cyclic"),
    filter<Tensor, Listed>("list", CONSORT_FI_COVER | CONSORT_FI_LIST),
    filter<Tensor, Halves>("halves"),
    filter<Tensor, Haloed>("overlap", CONSORT_FI_COVER | CONSORT_FI_OVERLAP),
    retyping<Tensor, Block, Slices<0>>("slices"),
    retyping<Tensor, Ndim, Cyclic>("ndim_cyclic"),
    retyping<Tensor, Ndim, Slices<1>>("ndim_slices"),
};
constexpr consort_interface_ops ops = dense_ops<Tensor>(filters);
constexpr consort_plugin plugin = layout_plugin("tensor", "four dimensions, the fastest contiguous, with three leading dimensions", ops);
}  // namespace

CONSORT_MODULE(tensor, INTERFACE, layouts::kPluginFlags, "tensor", "0.1.0", plugin);
