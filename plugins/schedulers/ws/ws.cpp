// ws.cpp — basic work stealing: a queue for each worker, newest first for its owner; a worker without tasks takes the
// oldest task of another worker, starting at a random one.
//
// Tasks of other threads go to a random worker. Random numbers come from a seed: if one thread drives all workers, equal seeds
// give equal choices.
#include "../per_worker.hpp"
#include "../table.hpp"

namespace ws {
namespace {

struct Steal {
  static constexpr bool kKeeps = true, kSteals = true;
};
using Instance = policies::PerWorker<Steal>;

constexpr consort_param params[] = {
    {"seed", "u64", "1", nullptr, "seed of random choices: the queue for another thread's task, a thief's first victim"},
};

constexpr consort_scheduler_ops ops = policies::table_of_statics<Instance>(CONSORT_SF_ANY_ORDER);

constexpr consort_plugin plugin =
    policies::record("ws", "work stealing: a queue per worker, random victims",
                     ops, policies::init_seed, policies::fini_nothing, params);

}  // namespace
}  // namespace ws

CONSORT_MODULE(ws, SCHEDULER, POLICY_FLAGS, "ws", "0.1.0", ws::plugin);
