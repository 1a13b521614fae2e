// Divisions, and the filters that come with StarPU.
#include "filters.hpp"

#include <cstring>
#include <memory>

#include "layouts.hpp"

struct starpu_data_interface_ops {
  starpu_data_interface_id kind;
};

starpu_data_interface_ops starpu_interface_matrix_ops{STARPU_MATRIX_INTERFACE_ID};
starpu_data_interface_ops starpu_interface_block_ops{STARPU_BLOCK_INTERFACE_ID};
starpu_data_interface_ops starpu_interface_vector_ops{STARPU_VECTOR_INTERFACE_ID};
starpu_data_interface_ops starpu_interface_csr_ops{STARPU_CSR_INTERFACE_ID};
starpu_data_interface_ops starpu_interface_bcsr_ops{STARPU_BCSR_INTERFACE_ID};
starpu_data_interface_ops starpu_interface_variable_ops{STARPU_VARIABLE_INTERFACE_ID};
starpu_data_interface_ops starpu_interface_void_ops{STARPU_VOID_INTERFACE_ID};
starpu_data_interface_ops starpu_interface_coo_ops{STARPU_COO_INTERFACE_ID};

namespace starpu_layer {
namespace {

constexpr int kKinds = STARPU_MAX_INTERFACE_ID;
const AnyLayout &any(const void *p) { return *static_cast<const AnyLayout *>(p); }
AnyLayout &any(void *p) { return *static_cast<AnyLayout *>(p); }
const Division &division_at(const void *params) { return **static_cast<const Division *const *>(params); }

uint32_t count(const void *, const void *params) { return division_at(params).parts; }

consort_status part(const void *, const void *params, uint32_t i, const void *father, void *out) {
  const Division &d = division_at(params);
  if (i >= d.parts) return CONSORT_E_INVAL;
  AnyLayout child;
  divide(d, any(father), i, child);
  std::memcpy(out, &child, size_of(d.child));
  return CONSORT_OK;
}

// The addresses of a part of a struct without addresses are steps into it: a shape has none.
consort_status shape_of_part(const void *shape, const void *params, uint32_t i, void *out) {
  const consort_status s = part(shape, params, i, shape, out);
  if (s < 0) return s;
  AnyLayout &child = any(out);
  if (is_dense(child)) {
    child.variable.ptr = child.variable.dev_handle = child.variable.offset = 0;  // all dense structs begin so
  }
  return CONSORT_OK;
}

consort_status view_of_part(const void *shape, const void *view, const void *params, uint32_t i, void *out) {
  return part(shape, params, i, view, out);
}

struct FilterTable {
  std::string names[2 * kKinds];
  consort_filter filters[2 * kKinds];
  uint32_t n = 0;
  explicit FilterTable(int father) {
    for (int overlap = 0; overlap < 2; ++overlap)
      for (int child = 0; child < kKinds; ++child) {
        const auto kind = static_cast<starpu_data_interface_id>(child);
        if (!interface_name(kind)) continue;
        Division d;
        d.child = kind;
        d.overlapping = overlap != 0;
        names[n] = filter_name(d);
        uint32_t flags = CONSORT_FI_COVER;
        if (overlap) flags |= CONSORT_FI_OVERLAP;
        if (child != father) flags |= CONSORT_FI_RETYPE;
        filters[n] = {names[n].c_str(), child != father ? interface_name(kind) : nullptr, sizeof(void *), flags, count,
                      shape_of_part, view_of_part};
        ++n;
      }
  }
};

using FilterFunction = void (*)(void *, void *, starpu_data_filter *, unsigned, unsigned);

bool is_shadow(FilterFunction f) {
  return f == starpu_vector_filter_block_shadow || f == starpu_matrix_filter_block_shadow ||
         f == starpu_matrix_filter_vertical_block_shadow || f == starpu_block_filter_block_shadow ||
         f == starpu_block_filter_vertical_block_shadow || f == starpu_block_filter_depth_block_shadow;
}

bool same(const Division &a, const Division &b) {
  return a.filter.filter_func == b.filter.filter_func && a.filter.nchildren == b.filter.nchildren &&
         a.filter.filter_arg == b.filter.filter_arg && a.filter.get_nchildren == b.filter.get_nchildren &&
         a.filter.get_child_ops == b.filter.get_child_ops && a.parts == b.parts && a.child == b.child &&
         a.lengths == b.lengths && a.lengths32 == b.lengths32 &&
         (!a.lengths.empty() || !a.lengths32.empty() || a.filter.filter_arg_ptr == b.filter.filter_arg_ptr);
}

}  // namespace

const consort_filter *filters_of(starpu_data_interface_id father, uint32_t *n) {
  static std::unique_ptr<FilterTable> tables[kKinds];
  auto &table = tables[father];
  if (!table) table = std::make_unique<FilterTable>(father);
  *n = table->n;
  return table->filters;
}

std::string filter_name(const Division &d) {
  return std::string("to ") + interface_name(d.child) + (d.overlapping ? " with shadow" : "");
}

const Division *division_of(starpu_data_handle_t handle, const starpu_data_filter &filter) {
  static std::mutex lock;
  static std::vector<std::unique_ptr<Division>> all;
  auto made = std::make_unique<Division>();
  made->filter = filter;
  auto &f = const_cast<starpu_data_filter &>(filter);
  made->parts = filter.get_nchildren ? filter.get_nchildren(&f, handle) : filter.nchildren;
  made->child = filter.get_child_ops ? filter.get_child_ops(&f, 0)->kind : handle->kind;
  made->overlapping = is_shadow(filter.filter_func);
  if (filter.filter_func == starpu_vector_filter_list_long) {
    const auto *p = static_cast<const long *>(filter.filter_arg_ptr);
    made->lengths.assign(p, p + made->parts);
    made->filter.filter_arg_ptr = made->lengths.data();
  } else if (filter.filter_func == starpu_vector_filter_list) {
    const auto *p = static_cast<const uint32_t *>(filter.filter_arg_ptr);
    made->lengths32.assign(p, p + made->parts);
    made->filter.filter_arg_ptr = made->lengths32.data();
  }
  std::lock_guard guard(lock);
  for (const auto &d : all)
    if (same(*d, *made)) return d.get();
  return all.emplace_back(std::move(made)).get();
}

void divide(const Division &d, const AnyLayout &father, uint32_t i, AnyLayout &child) {
  starpu_data_filter filter = d.filter;
  AnyLayout whole;
  std::memset(static_cast<void *>(&child), 0, sizeof child);
  std::memcpy(static_cast<void *>(&whole), &father, size_of(father.id));
  child.id = d.child;
  d.filter.filter_func(&whole, &child, &filter, i, d.parts);
  child.id = d.child;
  // Filters of programs that know no devices set the pointer alone.
  if (is_dense(child) && child.variable.ptr && child.variable.dev_handle + child.variable.offset != child.variable.ptr) {
    child.variable.dev_handle = child.variable.ptr;
    child.variable.offset = 0;
  }
}

namespace {

// The part of n elements that child `id` gets, and where it begins.
struct Piece { unsigned n, begin; };
Piece piece(unsigned n, unsigned parts, unsigned id) {
  unsigned size;
  size_t begin;
  starpu_filter_nparts_compute_chunk_size_and_offset(n, parts, 1, id, 1, &size, &begin);
  return {size, static_cast<unsigned>(begin)};
}
// With `shadow` elements of the neighbours on both sides.
Piece shadowed(unsigned n, unsigned parts, unsigned id, const starpu_data_filter *f) {
  const auto shadow = static_cast<unsigned>(reinterpret_cast<uintptr_t>(f->filter_arg_ptr));
  const Piece p = piece(n - 2 * shadow, parts, id);
  return {p.n + 2 * shadow, p.begin};
}

// Moves the child's addresses by so many bytes.
template <class T>
void place(const T &father, T &child, size_t bytes) {
  if (!father.dev_handle) return;
  if (father.ptr) child.ptr = father.ptr + bytes;
  child.dev_handle = father.dev_handle;
  child.offset = father.offset + bytes;
}

void cut_vector(void *father, void *child, Piece p) {
  const auto &f = *static_cast<const starpu_vector_interface *>(father);
  auto &c = *static_cast<starpu_vector_interface *>(child);
  c = f;
  c.nx = p.n;
  c.slice_base = f.slice_base + p.begin;
  c.allocsize = p.n * f.elemsize;
  place(f, c, p.begin * f.elemsize);
}

void cut_matrix(void *father, void *child, bool along_y, Piece p) {
  const auto &f = *static_cast<const starpu_matrix_interface *>(father);
  auto &c = *static_cast<starpu_matrix_interface *>(child);
  c = f;
  (along_y ? c.ny : c.nx) = p.n;
  c.allocsize = size_t{c.nx} * c.ny * c.elemsize;
  place(f, c, size_t{p.begin} * (along_y ? f.ld : 1) * f.elemsize);
}

void cut_block(void *father, void *child, int axis, Piece p) {
  const auto &f = *static_cast<const starpu_block_interface *>(father);
  auto &c = *static_cast<starpu_block_interface *>(child);
  c = f;
  (axis == 0 ? c.nx : axis == 1 ? c.ny : c.nz) = p.n;
  place(f, c, size_t{p.begin} * (axis == 0 ? 1 : axis == 1 ? f.ldy : f.ldz) * f.elemsize);
}

unsigned nx_of(const void *p) { return any(p).vector.nx; }
unsigned matrix_n(const void *p, bool y) { return y ? any(p).matrix.ny : any(p).matrix.nx; }
unsigned block_n(const void *p, int axis) { return axis == 0 ? any(p).block.nx : axis == 1 ? any(p).block.ny : any(p).block.nz; }

}  // namespace
}  // namespace starpu_layer

using namespace starpu_layer;

void starpu_filter_nparts_compute_chunk_size_and_offset(unsigned n, unsigned nparts, size_t elemsize, unsigned id,
                                                        unsigned ld, unsigned *chunk_size, size_t *offset) {
  const unsigned each = n / nparts, more = n % nparts;
  *chunk_size = each + (id < more);
  *offset = (size_t{id} * each + std::min(id, more)) * ld * elemsize;
}

void starpu_vector_filter_block(void *father_interface, void *child_interface, struct starpu_data_filter *, unsigned id,
                                unsigned nparts) {
  cut_vector(father_interface, child_interface, piece(nx_of(father_interface), nparts, id));
}

void starpu_vector_filter_block_shadow(void *father_interface, void *child_interface, struct starpu_data_filter *f,
                                       unsigned id, unsigned nparts) {
  cut_vector(father_interface, child_interface, shadowed(nx_of(father_interface), nparts, id, f));
}

void starpu_vector_filter_list_long(void *father_interface, void *child_interface, struct starpu_data_filter *f,
                                    unsigned id, unsigned) {
  const auto *lengths = static_cast<const long *>(f->filter_arg_ptr);
  Piece p{static_cast<unsigned>(lengths[id]), 0};
  for (unsigned i = 0; i < id; ++i) p.begin += static_cast<unsigned>(lengths[i]);
  cut_vector(father_interface, child_interface, p);
}

void starpu_vector_filter_list(void *father_interface, void *child_interface, struct starpu_data_filter *f, unsigned id,
                               unsigned) {
  const auto *lengths = static_cast<const uint32_t *>(f->filter_arg_ptr);
  Piece p{lengths[id], 0};
  for (unsigned i = 0; i < id; ++i) p.begin += lengths[i];
  cut_vector(father_interface, child_interface, p);
}

void starpu_vector_filter_divide_in_2(void *father_interface, void *child_interface, struct starpu_data_filter *f,
                                      unsigned id, unsigned) {
  const unsigned first = f->filter_arg;
  cut_vector(father_interface, child_interface, id ? Piece{nx_of(father_interface) - first, first} : Piece{first, 0});
}

#define CONSORT_MATRIX_FILTER(name, along_y, how)                                                                     \
  void name(void *father_interface, void *child_interface, [[maybe_unused]] struct starpu_data_filter *f, unsigned id, \
            unsigned nparts) {                                                                                         \
    const unsigned n = matrix_n(father_interface, along_y);                                                            \
    cut_matrix(father_interface, child_interface, along_y, how);                                                       \
  }
CONSORT_MATRIX_FILTER(starpu_matrix_filter_block, false, piece(n, nparts, id))
CONSORT_MATRIX_FILTER(starpu_matrix_filter_block_shadow, false, shadowed(n, nparts, id, f))
CONSORT_MATRIX_FILTER(starpu_matrix_filter_vertical_block, true, piece(n, nparts, id))
CONSORT_MATRIX_FILTER(starpu_matrix_filter_vertical_block_shadow, true, shadowed(n, nparts, id, f))

#define CONSORT_BLOCK_FILTER(name, axis, how)                                                                         \
  void name(void *father_interface, void *child_interface, [[maybe_unused]] struct starpu_data_filter *f, unsigned id, \
            unsigned nparts) {                                                                                         \
    const unsigned n = block_n(father_interface, axis);                                                                \
    cut_block(father_interface, child_interface, axis, how);                                                           \
  }
CONSORT_BLOCK_FILTER(starpu_block_filter_block, 0, piece(n, nparts, id))
CONSORT_BLOCK_FILTER(starpu_block_filter_block_shadow, 0, shadowed(n, nparts, id, f))
CONSORT_BLOCK_FILTER(starpu_block_filter_vertical_block, 1, piece(n, nparts, id))
CONSORT_BLOCK_FILTER(starpu_block_filter_vertical_block_shadow, 1, shadowed(n, nparts, id, f))
CONSORT_BLOCK_FILTER(starpu_block_filter_depth_block, 2, piece(n, nparts, id))
CONSORT_BLOCK_FILTER(starpu_block_filter_depth_block_shadow, 2, shadowed(n, nparts, id, f))

// Each block of r x c as a matrix of its own.
void starpu_bcsr_filter_canonical_block(void *father_interface, void *child_interface, struct starpu_data_filter *,
                                        unsigned id, unsigned) {
  const auto &f = *static_cast<const starpu_bcsr_interface *>(father_interface);
  auto &c = *static_cast<starpu_matrix_interface *>(child_interface);
  const size_t bytes = size_t{f.r} * f.c * f.elemsize;
  c.nx = f.c, c.ny = f.r, c.ld = f.c, c.elemsize = f.elemsize, c.allocsize = bytes;
  if (f.nzval) c.ptr = c.dev_handle = f.nzval + id * bytes;
}

unsigned starpu_bcsr_filter_canonical_block_get_nchildren(struct starpu_data_filter *, starpu_data_handle_t handle) {
  return handle->home.bcsr.nnz;
}

struct starpu_data_interface_ops *starpu_bcsr_filter_canonical_block_child_ops(struct starpu_data_filter *, unsigned) {
  return &starpu_interface_matrix_ops;
}
