// ws.cpp — work stealing in its plainest form: a queue for each worker, newest first at home; who has nothing takes the
// oldest of another's, beginning at one by lot.
//
// What outsiders bring goes to a worker by lot. Drawn from a seed: where one thread drives all workers, the same seed
// draws the same.
#include "../per_worker.hpp"
#include "../table.hpp"

namespace ws {
namespace {

struct Steal {
  static constexpr bool kKeeps = true, kSteals = true;
};
using Instance = policies::PerWorker<Steal>;

constexpr consort_param params[] = {
    {"seed", "u64", "1", nullptr, "of the lots: whose queue an outsider's task goes to, whom a thief asks first"},
};

constexpr consort_scheduler_ops ops = policies::table_of_statics<Instance>(CONSORT_SF_ANY_ORDER);

#define WS_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = WS_FLAGS, .name = "ws", .version = "0.1.0",
    .summary = "work stealing: a queue per worker, victims by lot", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0, .ops = &ops,
    .init = policies::init_seed, .quiesce = policies::quiet_already, .fini = policies::fini_nothing, .get = nullptr,
};

}  // namespace
}  // namespace ws

CONSORT_MODULE(ws, SCHEDULER, WS_FLAGS, "ws", "0.1.0", ws::plugin);
