// board.hpp — consort.boot/1 through PMIx, for the host that asks.
#pragma once
#include <consort/plugin/host.hpp>
#include <consort/transport.h>

namespace pmix {

// The ranks that a launcher with PMIx has started; one rank without a launcher. All ranks call it. Throws an Error.
consort_boot boot(consort::plugin::Host, uint64_t deadline);

// What boot() has returned to this host is not used any more.
void forget(consort::plugin::Host) noexcept;

}  // namespace pmix
