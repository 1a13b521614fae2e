// eager.cpp — one queue: tasks start in the order in which they became ready, on whoever comes first.
#include "../central.hpp"
#include "../fifo.hpp"

namespace eager {
namespace {

using Instance = policies::Central<policies::FifoQueue>;

constexpr consort_scheduler_ops ops = {
    .size = sizeof(consort_scheduler_ops), .flags = CONSORT_SF_NO_BYPASS,
    .create = Instance::create, .destroy = Instance::destroy, .workers = Instance::workers, .push = Instance::push,
    .pop = Instance::pop, .drain = Instance::drain, .quiesce = Instance::quiesce, .submitted = nullptr,
    .adopt = nullptr, .dropped = Instance::dropped, .started = nullptr, .finished = nullptr, .flush = nullptr,
    .urgency = nullptr, .victim = nullptr, .next_event = nullptr, .direct = nullptr,
};

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
