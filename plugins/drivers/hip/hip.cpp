// hip.cpp — the driver of AMD's GPUs: its parameters, its table. What it does is in ../gpu, for this vendor and another;
// in what words AMD's library is asked, in api and compiler.
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
    {"library", "string", "auto", nullptr, "HIP's library, a name or a path; auto: libamdhip64 in the newest known version"},
    {"compiler", "string", "auto", nullptr, "hiprtc's library, for kernels that come as source; auto: HIP's own, or beside it"},
    {"rocblas", "string", "auto", nullptr, "rocBLAS' library, for functions that ask for it; auto: the program's own, else the newest there is"},
    {"hipblas", "string", "auto", nullptr, "hipBLAS' library, likewise"},
    GPU_PARAMS,
};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_BY_NAME, .name = "hip", .version = "0.1.0",
    .summary = "AMD GPUs: a space and units per device, kernels from HIP source and code objects", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0,
    .ops = &Table::ops, .init = Table::init, .quiesce = nullptr, .fini = Table::fini, .get = Table::get,
};

}  // namespace
}  // namespace hip

CONSORT_MODULE(hip, DRIVER, CONSORT_PF_BY_NAME, "hip", "0.1.0", hip::plugin);
