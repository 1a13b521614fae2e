// The "csr" interface: a sparse matrix by rows: entries, their columns, and row pointers. Functions are in
// arrays.hpp and sparse.hpp.
#include "../sparse.hpp"

namespace {
using namespace layouts;

constexpr consort_filter filters[] = {bands<Csr>("rows")};
constexpr consort_interface_ops ops = arrays_ops<Csr>(filters);
constexpr consort_plugin plugin = layout_plugin("csr", "sparse matrix by compressed rows", ops);
}  // namespace

CONSORT_MODULE(csr, INTERFACE, layouts::kPluginFlags, "csr", "0.1.0", plugin);
