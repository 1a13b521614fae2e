// eager.cpp — one queue: tasks start in the order in which they became ready, on whoever comes first.
#include "../central.hpp"
#include "../fifo.hpp"
#include "../table.hpp"

namespace eager {
namespace {

using Instance = policies::Central<policies::FifoQueue>;

constexpr consort_scheduler_ops ops = policies::table_of_statics<Instance>(CONSORT_SF_NO_BYPASS);

#define EAGER_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = EAGER_FLAGS, .name = "eager", .version = "0.1.0",
    .summary = "one queue, first come, first served", .license = "Apache-2.0", .params = nullptr, .nparams = 0,
    .reserved = 0, .ops = &ops, .init = policies::init_nothing, .quiesce = policies::quiet_already,
    .fini = policies::fini_nothing, .get = nullptr,
};

}  // namespace
}  // namespace eager

CONSORT_MODULE(eager, SCHEDULER, EAGER_FLAGS, "eager", "0.1.0", eager::plugin);
