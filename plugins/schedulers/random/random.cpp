// random.cpp — each ready task goes to the queue of a random eligible worker, uniformly.
//
// A worker takes the oldest task of its own queue and nothing else. Random numbers come from a seed: if one thread drives all
// workers, equal seeds give equal choices.
#include "../per_worker.hpp"
#include "../table.hpp"

namespace by_lot {
namespace {

struct Lot {
  static constexpr bool kKeeps = false, kSteals = false;
};
using Instance = policies::PerWorker<Lot>;

constexpr consort_param params[] = {
    {"seed", "u64", "1", nullptr, "seed of the random choices"},
};

constexpr consort_scheduler_ops ops = policies::table_of_statics<Instance>(CONSORT_SF_NO_BYPASS | CONSORT_SF_ANY_ORDER);

constexpr consort_plugin plugin =
    policies::record("random", "each task to a random worker, without stealing",
                     ops, policies::init_seed, policies::fini_nothing, params);

}  // namespace
}  // namespace by_lot

CONSORT_MODULE(random, SCHEDULER, POLICY_FLAGS, "random", "0.1.0", by_lot::plugin);
