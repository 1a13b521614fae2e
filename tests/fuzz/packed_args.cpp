// A task's own values: packed at submission, unpacked where the task runs.
#include <vector>

#include "fuzz.hpp"
#include "kernel/task/packed_args.hpp"

using namespace consort;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  std::vector<consort_arg> args(in.below(20));
  std::vector<std::unique_ptr<char[]>> values;
  for (consort_arg &a : args) {
    a = {};
    a.kind = in.below(4);
    a.bytes = in.below(40);
    a.scalar = in.take<uint64_t>();
    if (a.kind != CONSORT_ARG_BYTES) continue;
    if (in.below(8) == 0) {
      a.scalar = 0, a.bytes = in.flag() ? a.bytes : 0xffffffff;
      continue;
    }
    values.push_back(std::make_unique<char[]>(a.bytes ? a.bytes : 1));
    for (uint32_t i = 0; i < a.bytes; ++i) values.back()[i] = static_cast<char>(in.byte());
    a.scalar = reinterpret_cast<uint64_t>(values.back().get());
  }
  const auto n = static_cast<uint32_t>(args.size());
  const uint64_t bytes = packed_bytes(args.data(), n);
  if (bytes == ~uint64_t{0}) return 0;
  const std::unique_ptr<std::byte, decltype(&std::free)> room(static_cast<std::byte *>(std::malloc(bytes ? bytes : 1)), std::free);  // 16-aligned
  pack_args(args.data(), n, room.get());
  static Task task;
  task.pub.access = reinterpret_cast<decltype(task.pub.access)>(room.get());
  task.pub.naccess = 0;
  task.nargs = static_cast<decltype(task.nargs)>(n);
  std::vector<consort_arg> out(n);
  unpack_args(task, out.data());
  for (uint32_t i = 0; i < n; ++i) {
    fuzz::expect(out[i].kind == args[i].kind && out[i].bytes == args[i].bytes, "an argument keeps its kind and size");
    if (args[i].kind == CONSORT_ARG_SCALAR) fuzz::expect(out[i].scalar == args[i].scalar, "a value is kept");
    else if (args[i].bytes)
      fuzz::expect(std::memcmp(reinterpret_cast<const void *>(out[i].scalar), reinterpret_cast<const void *>(args[i].scalar), args[i].bytes) == 0,
                   "bytes are kept");
  }
  return 0;
}
