// trace_format.hpp — the file of a trace (docs/trace.md): a first line, then chunks of text lines, of records, or of points
// that relate ticks to the runtime's clock. Lines say how each type of record is laid out, so that a reader finds the
// fields that it knows in files of later versions, and skips the rest.
//
// Shared by the kernel, which writes it, and by all that read it. Numbers are in little endian. [any]
#pragma once
#include <cstdint>
#include <string_view>

namespace consort::shared::trace_format {

inline constexpr std::string_view kFirstLine = "consort trace 2\n", kFirstLineOfText = "consort trace 1\n";

// Head of a chunk. The payload follows; the next chunk begins behind it, and both are multiples of 8 bytes.
struct Chunk {
  uint32_t mark, kind, bytes, thread;  // bytes: of the payload; thread: number of the ring, of events
};
inline constexpr uint32_t kMark = 0x6b6e6843;  // "Chnk"
enum ChunkKind : uint32_t {
  kLines = 1,   // text, padded by line ends
  kEvents = 2,  // records
  kClock = 3,   // pairs of 64-bit numbers: ticks, and ns of the runtime's clock at the same time
  kReset = 4,   // what stands before it counts no more, save points of the clock and descriptions of records
  kEnd = 5,     // a 64-bit number: events that were dropped. The last chunk of a file that was closed
};

// Head of a record; its fields follow.
struct Record {
  uint16_t type, words;  // words: of 8 bytes, with this head; 0 is not valid
};
inline constexpr uint16_t kPadding = 0;  // a type: to be skipped
inline constexpr uint32_t kMostRecord = 0xffff * 8;

// What a field is. ticks: of the clock that stamps records; a reader turns them into ns.
enum class Type : uint8_t { kU16, kU32, kI32, kU64, kI64, kF32, kId, kNs, kTick, kTicks32, kLetter, kText, kList };
struct TypeName { std::string_view name; Type type; uint8_t bytes; };
inline constexpr TypeName kTypes[] = {
    {"u16", Type::kU16, 2}, {"u32", Type::kU32, 4},   {"i32", Type::kI32, 4},         {"u64", Type::kU64, 8},
    {"i64", Type::kI64, 8}, {"f32", Type::kF32, 4},   {"id", Type::kId, 8},           {"ns", Type::kNs, 8},
    {"tick", Type::kTick, 8}, {"ticks32", Type::kTicks32, 4}, {"letter", Type::kLetter, 1},
    {"text", Type::kText, 0},  // to the record's end, or to a zero
    {"list", Type::kList, 0},  // of a submission: after `nafter` ids, `nuses` 32-bit numbers: use << 30 | number of a datum
};

// The lines that describe the kernel's records: "record", number, name, then NAME:TYPE:OFFSET for each field. Several
// layouts may have one name. The structs are in kernel/observe/trace_records.hpp, which holds them to these lines.
inline constexpr std::string_view kLayouts =
    "record\t1\trun\tworker:u16:4\timpl:u16:6\ttask:id:8\tbegin:tick:16\ttook:ticks32:24\tcodelet:u32:28\n"
    "record\t2\trun\tworker:u16:4\timpl:u16:6\ttask:id:8\tbegin:tick:16\tend:tick:24\tcodelet:u32:32\tstatus:i32:36\texpected:i64:40\n"
    "record\t3\trun\tworker:u16:4\timpl:u16:6\ttask:id:8\tbegin:ns:16\tend:ns:24\tcodelet:u32:32\tstatus:i32:36\texpected:i64:40\n"
    "record\t4\tcopy\tfrom:u16:4\tto:u16:6\tbegin:ns:8\tend:ns:16\tbytes:u64:24\tdatum:id:32\tstatus:i32:40\treason:letter:44\n"
    "record\t5\tdecision\tworker:u32:4\tat:ns:8\ttask:id:16\tend:ns:24\trun:f32:32\n"
    "record\t6\tfetch\tworker:u32:4\tbegin:ns:8\tend:ns:16\ttask:id:24\n"
    "record\t7\tsleep\tworker:u32:4\tbegin:ns:8\tend:ns:16\n"
    "record\t8\tevict\tspace:u32:4\tat:ns:8\tdatum:id:16\tbytes:u64:24\n"
    "record\t9\tused\tspace:u32:4\tat:ns:8\tbytes:u64:16\tlimit:u64:24\n"
    "record\t10\tcodelet\tnumber:u32:4\tname:text:8\n"
    "record\t11\tdatum\tnumber:u32:4\tdatum:id:8\tbytes:u64:16\twhole:id:24\tspace:i32:32\n"
    "record\t12\ttask\tkind:u32:4\ttask:id:8\tat:ns:16\tpriority:i32:24\tnuses:u32:28\tnafter:u32:32\tuses:list:40\n";

// Letters of the uses in a list, by number.
inline constexpr std::string_view kUses = "rcuw";
inline constexpr uint32_t kUseShift = 30;

}  // namespace consort::shared::trace_format
