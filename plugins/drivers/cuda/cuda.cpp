// cuda.cpp — the driver of NVIDIA's GPUs: parameters and table. The implementation common to CUDA and HIP is in ../gpu;
// NVIDIA's library is behind api and compiler.
#include "../gpu/choice.hpp"
#include "../gpu/capture.hpp"
#include "../gpu/commands.hpp"
#include "../gpu/device_life.hpp"
#include "../gpu/device_memory.hpp"
#include "../gpu/lane.hpp"
#include "api.hpp"

namespace cuda {
namespace {

using Table = gpu::CaptureTable<Api>;

constexpr consort_param params[] = {
    {"library", "string", "libcuda.so.1", nullptr, "the driver's library: a name or a path"},
    {"compiler", "string", "auto", nullptr, "NVRTC's library, for kernels given as CUDA C; auto: the newest installed one"},
    {"cublas", "string", "auto", nullptr, "cuBLAS' library, for functions that use it; auto: the program's own, else the newest installed one"},
    {"cusolver", "string", "auto", nullptr, "cuSOLVER's library, likewise"},
    {"cusparse", "string", "auto", nullptr, "cuSPARSE's library, likewise"},
    GPU_PARAMS,
};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_BY_NAME | CONSORT_PF_PROBED, .name = "cuda", .version = "0.1.0",
    .summary = "NVIDIA GPUs: a space and units per device, kernels from CUDA C, PTX and cubin", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0,
    .ops = &Table::ops, .init = Table::init, .quiesce = nullptr, .fini = Table::fini, .get = Table::get,
};

}  // namespace
}  // namespace cuda

CONSORT_MODULE(cuda, DRIVER, CONSORT_PF_BY_NAME | CONSORT_PF_PROBED, "cuda", "0.1.0", cuda::plugin);
CONSORT_DEVICES(cuda, "cuda", "/dev/nvidia[0-9]* /dev/dxg");
