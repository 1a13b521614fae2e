// ring — a token goes around the ranks of a job: each rank receives it from the rank before, adds one, and sends it on.
// All turns are submitted at once, and nothing waits in between: messages and tasks use the same datum, which orders them.
// Run it by `consort run -n 4 -- ring`. Rank 0 prints what the token counts at the end: turns times ranks.
#include <consort/distributed.hpp>

#include "../example.hpp"

namespace {

const consort::Codelet increment{"increment", consort::cpu([](long &token) { ++token; })};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"turns", 20, "how often the token goes around"}});
  consort::Runtime rt(size.settings());
  consort::Job job(rt);
  const uint32_t me = job.rank(), ranks = job.ranks(), next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;

  long value = 0;
  const auto token = rt.variable(value, "token");
  constexpr uint64_t tag = 42;
  for (size_t turn = 0; turn < size["turns"]; ++turn) {
    if (ranks > 1 && (turn > 0 || me > 0)) job.receive(token, before, tag);
    rt.submit(increment, consort::readwrite(token));
    if (ranks > 1 && (turn + 1 < size["turns"] || me + 1 < ranks)) job.send(token, next, tag);
  }
  const long here = *token.read();  // waits for what was submitted on it
  const long expected = static_cast<long>((size["turns"] - 1) * ranks + me + 1);

  if (me + 1 < ranks) return here == expected ? 0 : example::end(false, "ring: rank %u has %ld, not %ld", me, here, expected);
  return example::end(here == expected, "ring: %zu turns on %u ranks, the token is %ld", size["turns"], ranks, here);
} catch (const std::exception &e) {
  return example::failed(e);
}
