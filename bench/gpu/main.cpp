// What a GPU costs through Consort, beside the same by the vendor's own calls in one process: rows of JSON. `./run bench gpu`
// calls this. 3: there is no such device, and one line says why.
#include "cases.hpp"

#include <dlfcn.h>

namespace {

using namespace bench;
using namespace bench::gpu;

constexpr struct { const char *name; void (*run)(const Device &); } kCases[] = {
    {"launches", launches}, {"copies", gpu::copies}, {"overlap", gpu::overlap}, {"limited", limited},
#ifdef CONSORT_HAS_OPENBLAS
    {"cholesky", gpu::cholesky}};
#else
    {"cholesky", [](const Device &) { std::fputs("cholesky is left out: it was built without OpenBLAS\n", stderr); }}};
#endif

// What Consort's unit there is ("sm_90", "gfx90a"); empty: there is none, and the runtime has said why.
std::string unit_of(const Device &device) {
  const Machine m(device.machine());
  for (uint32_t w = 0; m; ++w) {
    consort_worker_info info{};
    info.size = sizeof info;
    if (consort_get_worker(m, w, &info) < 0) break;
    if (device.driver == info.klass) return std::string(info.arch).substr(std::string(info.arch).find('/') + 1);
  }
  return "";
}

int run(Device device, const std::string &chosen, std::string *why) {
  std::unique_ptr<Peer> peer;
  if (device.driver != "level_zero" && !(peer = Peer::open(device.driver, device.library, why))) return 3;
  device.peer = peer.get();
  const std::string unit = unit_of(device);
  if (unit.empty()) return *why = "Consort's driver has no unit there", 3;
  if (peer) peer->is(unit);
  if (peer && peer->is_double() && !device.options.smoke) {
    std::fprintf(stderr, "%s is one of the tests' doubles; small sizes, and no speed is judged\n", device.library.c_str());
    device.options.smoke = true, device.options.reps = 1;
  }
  for (const auto &c : kCases)
    if (chosen.empty() || chosen == c.name) c.run(device);
  const std::string said = peer ? peer->complaint() : "";
  if (!said.empty()) std::fprintf(stderr, "gpu: the double has seen what must not be: %s\n", said.c_str());
  return said.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  Options o;
  std::string driver, library, compiler, chosen;
  bool good = true;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (key == "--smoke") o.smoke = true, --i;
    else if (value.empty()) good = false;
    else if (key == "--case") chosen = value;
    else if (key == "--driver") driver = value;
    else if (key == "--library") library = value;
    else if (key == "--compiler") compiler = value;
    else if (key == "--reps") o.reps = std::max(1, std::atoi(value.c_str()));
    else good = false;
  }
  bool known = chosen.empty();
  for (const auto &c : kCases) known |= chosen == c.name;
  if (!known || (!driver.empty() && driver != "cuda" && driver != "hip" && driver != "level_zero")) good = false;
  if (!good || (driver.empty() && !library.empty())) {
    std::fprintf(stderr, "usage: %s [--driver cuda|hip|level_zero [--library PATH] [--compiler PATH]] [--case NAME] [--smoke] [--reps N]; cases:", argv[0]);
    for (const auto &c : kCases) std::fprintf(stderr, " %s", c.name);
    return std::fputs("\n", stderr), 2;
  }
  if (o.smoke) o.reps = 1;
  std::string all;
  for (const char *name : {"cuda", "hip", "level_zero"}) {
    if (!driver.empty() && driver != name) continue;
    Device device{o, name, {{std::string(name) + ".cache", "off"}}, nullptr, library};
    if (!library.empty()) device.settings.push_back({device.driver + ".library", library});
    if (!compiler.empty()) device.settings.push_back({device.driver + ".compiler", compiler});
    std::string why;
    if (const int code = run(device, chosen, &why); code != 3) return code;
    all += (all.empty() ? "" : "; ") + device.driver + ": " + why;
  }
  std::fprintf(stderr, "gpu: no device: %s\n", all.c_str());
  return 3;
}
