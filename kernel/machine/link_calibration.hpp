// link_calibration.hpp — bandwidth and latency of links: the driver's figures, the measured ones, and the choice
// between them.
//
// [control], once, at the start of a runtime, before the figures are used. The setting `links` decides whether stored
// figures are read and whether links are measured.
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "machine/link_benchmark.hpp"
#include "machine/link_calibration_file.hpp"

namespace consort {

struct Platform;

// Returns why a measured figure is implausible, or "" if it is plausible. told: the driver's figure, 0 unknown. others:
// measured figures of comparable links.
std::string implausibility_of(const LinkMeasurement &, const LinkMeasurement &told,
                        const std::vector<LinkMeasurement> &others);

// Stores plausible figures in the topology. A link that cannot be measured, or a file that cannot be written, is logged
// and is no error.
void settle_figures(Platform &);

}  // namespace consort
