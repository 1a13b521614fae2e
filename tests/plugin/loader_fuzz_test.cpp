// Plugin files with damage, by the thousand: the note reader and discovery answer, and never touch what is not there.
// A few seconds; with CONSORT_FULL=1 about half a minute. A failure names the seed of its round.
#include <cstring>
#include <random>

#include <elf.h>

#include "base/clock.hpp"
#include "loader_support.hpp"
#include "plugin/elf_note.hpp"

namespace consort {
namespace {

const bool kFull = getenv("CONSORT_FULL") != nullptr;
const uint64_t kNs = kFull ? 20'000'000'000 : 1'500'000'000;

// Sits at the end of its own memory, so that a sanitizer sees a read beyond it.
void read(const std::string &file, uint64_t seed) {
  const std::unique_ptr<std::byte[]> memory(new std::byte[file.size()]);
  std::memcpy(memory.get(), file.data(), file.size());
  auto notes = read_notes(std::span<const std::byte>(memory.get(), file.size()));
  if (!notes) {
    ASSERT_FALSE(notes.error().text.empty()) << seed;
    ASSERT_LT(notes.error().status, 0) << seed;
    return;
  }
  ASSERT_LE(notes->size(), kNotesPerFile) << seed;
  for (const consort_note &n : *notes) {
    ASSERT_NE(std::memchr(n.name, 0, sizeof n.name), nullptr) << seed;
    ASSERT_NE(std::memchr(n.version, 0, sizeof n.version), nullptr) << seed;
    if (auto fine = check_note(n, "x.so"); !fine) {
      ASSERT_FALSE(fine.error().text.empty()) << seed;
    }
  }
}

// Damage where it matters: the header, the program headers, the notes; sometimes anywhere.
std::string damaged(const std::string &good, std::mt19937_64 &random) {
  std::string file = good;
  const auto pick = [&](uint64_t n) { return static_cast<size_t>(random() % n); };
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  const size_t note = note_at(file);
  const struct { size_t at, size;
  } places[] = {{0, sizeof header},
                {header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)},
                {note, sizeof(consort_note)},
                {0, file.size()}};
  static constexpr uint64_t nasty[] = {0,
                                       1,
                                       3,
                                       4,
                                       7,
                                       8,
                                       0x7f,
                                       0xff,
                                       0xffff,
                                       0x10000,
                                       0x7fffffff,
                                       0xffffffff,
                                       0x100000000,
                                       0x7fffffffffffffff,
                                       0xfffffffffffffff0,
                                       ~uint64_t{0}};
  for (size_t n = 1 + pick(4); n > 0; --n) {
    const auto &place = places[pick(std::size(places))];
    const size_t width = size_t{1} << pick(4), at = place.at + pick(place.size - width);
    uint64_t value = pick(2) ? nasty[pick(std::size(nasty))] : pick(3) ? random() : file.size() - pick(128);
    std::memcpy(file.data() + (pick(2) ? at / width * width : at), &value, width);
  }
  if (pick(4) == 0) file.resize(pick(file.size()));
  return file;
}

TEST(LoaderFuzz, DamagedFilesInMemory) {
  const std::string good = read_file(kFixtures + "good.so"), foreign = read_file(kFixtures + "foreign.so");
  const uint64_t end = Clock(false, 0).now() + kNs;
  uint64_t seed = 1;
  for (; Clock(false, 0).now() < end; ++seed) {
    std::mt19937_64 random(seed);
    read(damaged(good, random), seed);
    if (HasFatalFailure()) return;
  }
  std::printf("%llu damaged files\n", static_cast<unsigned long long>(seed));
  EXPECT_GT(seed, 100u);
}

TEST(LoaderFuzz, RandomNoteSections) {
  std::string file = read_file(kFixtures + "good.so");
  const size_t at = note_at(file);
  for (uint64_t seed = 1; seed <= (kFull ? 200000u : 5000u); ++seed) {
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < sizeof(consort_note); ++i)
      if (random() % 3 == 0) file[at + i] = static_cast<char>(random());
    read(file.substr(0, 8192), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(LoaderFuzz, EveryTruncation) {
  const std::string good = read_file(kFixtures + "good.so");
  for (size_t n = 0; n < good.size(); n += kFull ? 1 : 64) read(good.substr(0, n), n);
  for (size_t n = 0; n < 1024 && n < good.size(); ++n) read(good.substr(0, n), n);
}

// Folders of damaged files: discovery lists each with a reason or takes it, in one line each, and a good one among
// them still loads.
TEST(LoaderFuzz, DiscoveryAmongDamagedFiles) {
  const std::string good = read_file(kFixtures + "good.so");
  const uint64_t end = Clock(false, 0).now() + kNs;
  for (uint64_t seed = 1; Clock(false, 0).now() < end; ++seed) {
    std::mt19937_64 random(seed);
    const Folder folder;
    for (int i = 0; i < 20; ++i) write_all(folder / ("damaged" + std::to_string(i) + ".so"), damaged(good, random));
    folder.add("good_newer", "zz");
    Lines lines;
    auto r = open_registry(folder.path(), &lines);
    ASSERT_TRUE(r) << seed;
    size_t here = 0;
    for (const auto &f : (*r)->found()) {
      here += f.path.starts_with(folder.path());
      ASSERT_EQ(f.usable, f.reason.empty()) << seed;
      ASSERT_EQ(f.reason.find('\n'), f.reason.npos) << seed;
    }
    ASSERT_GE(here, 21u) << seed;
    const auto *sound = find(**r, "good", "1.10.0");
    ASSERT_TRUE(sound && sound->path == folder / "zz.so") << seed;
  }
}

}  // namespace
}  // namespace consort
