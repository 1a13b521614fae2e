// hip.cpp — the driver of AMD's GPUs: parameters and table. The implementation common to CUDA and HIP is in ../gpu;
// AMD's library is behind api and compiler.
#include "../gpu/choice.hpp"
#include "../gpu/capture.hpp"
#include "../gpu/commands.hpp"
#include "../gpu/device_life.hpp"
#include "../gpu/device_memory.hpp"
#include "../gpu/lane.hpp"
#include "api.hpp"

namespace hip {
namespace {

using Table = gpu::CaptureTable<Api>;

constexpr consort_param params[] = {
    {"library", "string", "auto", nullptr, "HIP's library, a name or a path; auto: the newest known version of libamdhip64"},
    {"compiler", "string", "auto", nullptr, "hiprtc's library, for kernels given as source; auto: the one that belongs to HIP"},
    {"rocblas", "string", "auto", nullptr, "rocBLAS' library, for functions that use it; auto: the program's own, else the newest installed one"},
    {"hipblas", "string", "auto", nullptr, "hipBLAS' library, likewise"},
    GPU_PARAMS,
};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_BY_NAME | CONSORT_PF_PROBED, .name = "hip", .version = "0.1.0",
    .summary = "AMD GPUs: a space and units per device, kernels from HIP source and code objects", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0,
    .ops = &Table::ops, .init = Table::init, .quiesce = nullptr, .fini = Table::fini, .get = Table::get,
};

}  // namespace
}  // namespace hip

CONSORT_MODULE(hip, DRIVER, CONSORT_PF_BY_NAME | CONSORT_PF_PROBED, "hip", "0.1.0", hip::plugin);
CONSORT_DEVICES(hip, "hip", "/dev/kfd");
