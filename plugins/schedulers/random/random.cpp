// random.cpp — each ready task goes to the queue of a worker by lot, all that can run it with the same chance.
//
// A worker takes the oldest of its own queue and nothing else. Drawn from a seed: where one thread drives all workers,
// the same seed draws the same.
#include "../per_worker.hpp"
#include "../table.hpp"

namespace by_lot {
namespace {

struct Lot {
  static constexpr bool kKeeps = false, kSteals = false;
};
using Instance = policies::PerWorker<Lot>;

constexpr consort_param params[] = {
    {"seed", "u64", "1", nullptr, "of the lots"},
};

constexpr consort_scheduler_ops ops = policies::table_of_statics<Instance>(CONSORT_SF_NO_BYPASS | CONSORT_SF_ANY_ORDER);

#define RANDOM_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = RANDOM_FLAGS, .name = "random", .version = "0.1.0",
    .summary = "each task to a worker by lot, and nobody takes another's", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0, .ops = &ops,
    .init = policies::init_seed, .quiesce = policies::quiet_already, .fini = policies::fini_nothing, .get = nullptr,
};

}  // namespace
}  // namespace by_lot

CONSORT_MODULE(random, SCHEDULER, RANDOM_FLAGS, "random", "0.1.0", by_lot::plugin);
