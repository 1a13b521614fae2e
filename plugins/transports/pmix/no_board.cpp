// Without the headers of PMIx: a job of one rank, or a refusal below a launcher.
#include "board.hpp"
#include "solo.hpp"

namespace pmix {

consort_boot boot(consort::plugin::Host, uint64_t) { return solo(); }
void forget(consort::plugin::Host) noexcept {}

}  // namespace pmix
