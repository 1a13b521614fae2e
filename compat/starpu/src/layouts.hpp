// layouts.hpp — StarPU's layouts as interfaces of Consort. A view is StarPU's struct, so a codelet gets it as it is.
//
// One set of functions serves all: the field `id` that each struct begins with says which it is. A shape is the struct
// without addresses. Addresses are pairs: dev_handle and offset where the struct has them.
#pragma once
#include <consort/interface.h>

#include "handle.hpp"

namespace starpu_layer {

// Entry of the module that is linked into the layer: one interface for each layout.
const consort_module *layouts_module(const consort_host *host);
// "starpu_vector" …; nullptr: no such layout.
const char *interface_name(starpu_data_interface_id kind);
// sizeof of the layout's struct.
uint32_t size_of(starpu_data_interface_id kind);

// The dense layouts by numbers: elements along three axes, the fastest first, and steps along the outer two.
struct Box {
  uint64_t elem = 0, n[3] = {1, 1, 1}, step[2] = {0, 0};
  uint64_t elements() const { return n[0] * n[1] * n[2]; }
  // Bytes from the first element to the end of the last.
  uint64_t reach() const {
    return elements() ? ((n[0] - 1) + (n[1] - 1) * step[0] + (n[2] - 1) * step[1] + 1) * elem : 0;
  }
};
bool is_dense(const AnyLayout &layout);
Box box_of(const AnyLayout &layout);

// An array of a layout.
struct Array { consort_addr at; uint64_t bytes; };
// The arrays of a view, those without bytes left out; returns how many, at most 3.
uint32_t arrays_of(const AnyLayout &view, Array *out);
// Copies the contents of a view in main memory into a packed buffer of bytes_of() bytes, or back.
void copy_packed(const AnyLayout &view, char *packed, bool out_of_view);

}  // namespace starpu_layer
