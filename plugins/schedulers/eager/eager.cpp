// eager.cpp — one queue: tasks start in the order in which they became ready, on the first worker that pops.
#include "../central.hpp"
#include "../fifo.hpp"
#include "../table.hpp"

namespace eager {
namespace {

using Instance = policies::Central<policies::FifoQueue>;

constexpr consort_scheduler_ops ops = policies::table_of_statics<Instance>(CONSORT_SF_NO_BYPASS);

constexpr consort_plugin plugin = policies::record("eager", "one queue, first come, first served", ops);

}  // namespace
}  // namespace eager

CONSORT_MODULE(eager, SCHEDULER, POLICY_FLAGS, "eager", "0.1.0", eager::plugin);
