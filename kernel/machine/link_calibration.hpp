// link_calibration.hpp — how fast links are: what drivers say of them, what was measured on this machine, and which is believed.
//
// [control], once, at the start of a runtime, before anything goes by the figures. The setting `links` says how far it
// goes: a runtime that starts reads what is stored, and measures only where it is told to.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "machine/link_benchmark.hpp"
#include "machine/link_calibration_file.hpp"

namespace consort {

struct Platform;

// Why a measured figure is not believed; "": it is. told: the driver's word, 0 unknown. others: measured, of links
// like it.
std::string nonsense_in(const LinkMeasurement &, const LinkMeasurement &told,
                        const std::vector<LinkMeasurement> &others);

// Into the topology: figures that are believed. What cannot be measured or stored is logged; nothing of it is an error.
void settle_figures(Platform &);

}  // namespace consort
