// The "bcsr" interface: a sparse matrix by rows whose entries are small dense blocks. Functions are in arrays.hpp
// and sparse.hpp; the partition into blocks is here.
#include "../sparse.hpp"

namespace {
using namespace layouts;

// Each block is a matrix. The blocks are the contents without the structure, so writing all of them does not write the whole.
uint32_t count(const void *shape, const void *) {
  const uint64_t n = static_cast<const consort_bcsr_shape *>(shape)->nnz;
  return n > UINT32_MAX ? 0 : static_cast<uint32_t>(n);
}
consort_status block_shape(const void *shape, const void *, uint32_t i, void *child) {
  const auto &s = *static_cast<const consort_bcsr_shape *>(shape);
  if (i >= s.nnz) return CONSORT_E_INVAL;
  *static_cast<consort_matrix_shape *>(child) = {s.c, s.r, s.elem};
  return CONSORT_OK;
}
consort_status block_alias(const void *, const void *view, const void *, uint32_t i, void *child) {
  const auto &v = *static_cast<const consort_bcsr_view *>(view);
  if (i >= v.nnz) return CONSORT_E_INVAL;
  *static_cast<consort_matrix_view *>(child) = {{v.value.base, v.value.off + i * Bcsr::entry(v)}, v.c, v.r, v.c, v.elem};
  return CONSORT_OK;
}

constexpr consort_filter filters[] = {
    bands<Bcsr>("rows"),
    {"blocks", "matrix", 0, CONSORT_FI_RETYPE, count, block_shape, block_alias},
};
constexpr consort_interface_ops ops = arrays_ops<Bcsr>(filters);
constexpr consort_plugin plugin = layout_plugin("bcsr", "sparse matrix by compressed rows of dense blocks", ops);
}  // namespace

CONSORT_MODULE(bcsr, INTERFACE, layouts::kPluginFlags, "bcsr", "0.1.0", plugin);
