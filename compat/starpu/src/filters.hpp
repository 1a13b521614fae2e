// filters.hpp — StarPU's filter functions as filters of Consort's interfaces.
//
// A function divides the struct of the father, addresses included. Consort asks it twice: with a struct without addresses
// for the sizes of a part, and for its place in each replica. So it must depend on sizes alone.
#pragma once
#include <consort/interface.h>

#include "handle.hpp"

namespace starpu_layer {

// One way to divide, with copies of what it needs; kept until the end of the program, since Consort may ask at any time.
struct Division {
  starpu_data_filter filter{};
  uint32_t parts = 0;
  starpu_data_interface_id child = STARPU_UNKNOWN_INTERFACE_ID;
  bool overlapping = false;
  std::vector<long> lengths;        // of a list, in place of the caller's
  std::vector<uint32_t> lengths32;
};

// The filters of a layout: to each layout, without and with overlap.
const consort_filter *filters_of(starpu_data_interface_id father, uint32_t *n);
// The name of the filter for this division.
std::string filter_name(const Division &division);
// The division that a program's filter makes of this handle; the same object for the same division.
const Division *division_of(starpu_data_handle_t handle, const starpu_data_filter &filter);
// Part i of a father.
void divide(const Division &division, const AnyLayout &father, uint32_t i, AnyLayout &child);

}  // namespace starpu_layer
