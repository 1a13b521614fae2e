// part_wire.hpp — what `consort run --hosts` and its parts on other machines send one another, through ssh.
//
// The part greets first; what its shell prints before is skipped. Then frames go both ways: a byte of the kind, four of
// the length (little-endian), and the contents. Contents are numbers of four bytes, and texts after their length.
// A reader throws std::runtime_error for bytes that are no such frame; nothing is read past its end. [control].
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

enum class FrameKind : char {
  kStart = 'S',                           // to the part: PartStart
  kFile = 'F',                            // both ways: PartFile, of the job's folder
  kInput = 'I',                           // to the part: bytes for rank 0; none: their end
  kTaken = 'T',                           // from the part: how many bytes of the input rank 0 has taken
  kOutput = 'O',                          // from the part: bytes that ranks print
  kSignal = 'K',                          // to the part: the number of a signal for its ranks
  kEnd = 'E',                             // from the part: RankEnd
};
struct Frame {
  FrameKind kind;
  std::string body;
};
constexpr uint32_t kMostInFrame = 1 << 20;
constexpr std::string_view kGreeting{"\n\0consort-part 1\n", 17};

std::string encoded(FrameKind, std::string_view body);

class FrameReader {
 public:
  void add(const char *bytes, size_t n) { bytes_.append(bytes, n); }
  bool next(Frame *);                     // whether a whole one was there; it is taken
  bool skip_to_greeting();                // whether the greeting was there; it and all before are taken
  const std::string &rest() const { return bytes_; }

 private:
  std::string bytes_;
};

struct PartStart {
  std::string job, secret, folder;        // the job's name; where the program runs
  uint32_t first = 0, count = 0, ranks = 0;
  bool bound = false;                     // each rank keeps to its share of the cores
  std::vector<std::string> environment;   // NAME=VALUE; {address} in a value: that of the part's machine
  std::vector<std::string> program;
};
std::string encoded(const PartStart &);
PartStart part_start_of(std::string_view);

struct PartFile {
  std::string name, text;
};
std::string encoded(const PartFile &);
PartFile part_file_of(std::string_view);  // a name that may be written into a job's folder

struct RankEnd {
  uint32_t rank = 0, status = 0;
  bool was_killed = false;                // by a signal
  std::string words;
};
std::string encoded(const RankEnd &);
RankEnd rank_end_of(std::string_view);

std::string encoded(uint32_t);
uint32_t number_of(std::string_view);

}  // namespace tool
