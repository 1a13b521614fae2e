// Manifests and function tables of plugins: sizes, holes, names. Input: fields in their order; pointers come from a few.
#include "fuzz.hpp"
#include "kernel/plugin/manifest.hpp"

using namespace consort;

namespace {

const char *const kTexts[] = {nullptr, "", "lws", "1.2.0", "a name that is longer than the thirty-two bytes of a note", "x y"};
const char *any_text(fuzz::Bytes &in) { return kTexts[in.below(std::size(kTexts))]; }

// Memory as large as the table says it is: a host has to believe that much.
struct Table {
  explicit Table(fuzz::Bytes &in) : size(in.flag() ? in.take<uint32_t>() : in.below(400)), room(std::max<size_t>(std::min<size_t>(size, 1 << 16), 4)), bytes(new char[room]()) {
    std::memcpy(bytes.get(), &size, sizeof size);
    for (size_t at = 4; at < room && at < 64; at += 4) {
      const uint32_t word = in.byte() & 3;
      if (at % 8 == 4 && at == 4) std::memcpy(bytes.get() + at, &word, std::min(sizeof word, room - at));
    }
  }
  const uint32_t size;
  const size_t room;
  const std::unique_ptr<char[]> bytes;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  Table table(in);
  consort_param params[3] = {};
  consort_plugin p = {};
  p.kind = static_cast<uint16_t>(in.below(9));
  p.abi_major = in.byte();
  p.abi_minor = in.byte();
  p.flags = in.take<uint32_t>();
  p.name = any_text(in);
  p.version = any_text(in);
  p.summary = any_text(in);
  p.license = any_text(in);
  p.params = in.flag() ? params : nullptr;
  p.nparams = in.flag() ? in.take<uint32_t>() : in.below(4);
  p.ops = in.flag() ? table.bytes.get() + (in.flag() && table.room > 8 ? 0 : in.below(4) ? 0 : 1) : nullptr;
  if (p.ops != table.bytes.get() && p.ops) {
    if (table.room < 8) p.ops = table.bytes.get();  // a size can be read there
  }
  p.size = in.flag() ? static_cast<uint32_t>(sizeof p) : in.take<uint32_t>();
  // A manifest that says it is longer is that long.
  const size_t room = std::max<size_t>(std::min<size_t>(p.size, 1 << 16), sizeof p);
  const std::unique_ptr<char[]> bytes(new char[room]());
  std::memcpy(bytes.get(), &p, sizeof p);
  consort_note note = {};
  note.kind = p.kind, note.flags = p.flags, note.abi_major = p.abi_major, note.abi_minor = p.abi_minor;
  std::snprintf(note.name, sizeof note.name, "%s", in.flag() && p.name ? p.name : "lws");
  std::snprintf(note.version, sizeof note.version, "%s", in.flag() && p.version ? p.version : "1.2.0");
  Manifest m;
  const auto filled = m.fill(in.byte() == 255 ? nullptr : reinterpret_cast<const consort_plugin *>(bytes.get()),
                             in.flag() ? &note : nullptr, "plugin x");
  if (!filled) return fuzz::expect_refusal(filled.error().status, filled.error().text), 0;
  fuzz::expect(m.plugin.init && m.plugin.fini && m.plugin.quiesce && m.plugin.get && m.plugin.summary, "no function is missing");
  if (m.plugin.kind == CONSORT_KIND_DRIVER) {
    fuzz::expect(m.ops.driver.count(nullptr) == 0, "a hole of count() counts nothing");
    fuzz::expect(m.ops.driver.submit && m.ops.driver.poll, "no function is missing");
  }
  return 0;
}
