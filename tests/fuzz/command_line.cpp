// Words of the `consort` command, one a line. Nothing is run: they are parsed.
#include "tools/command_line.hpp"

#include <vector>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  std::vector<std::string> words{"consort"};
  while (!in.empty() && words.size() < 64) words.emplace_back(in.line());
  std::vector<const char *> argv;
  for (const std::string &w : words) argv.push_back(w.c_str());
  tool::CommandLine line;
  const auto ended = line.parse(static_cast<int>(argv.size()), argv.data());
  if (ended) {
    fuzz::expect(ended->status == (ended->error.empty() ? 0 : 2), "a call that is wrong has the status 2 and a sentence", ended->error);
    fuzz::expect(!ended->out.empty() || !ended->error.empty(), "a call that ends says something");
    fuzz::expect(ended->error.empty() || ended->error.find("consort help") != std::string::npos, "a refusal says where to read on", ended->error);
    return 0;
  }
  fuzz::expect(!line.app.get_subcommands().empty(), "a good call names a command");
  fuzz::expect(line.judged.level >= 1 && line.judged.level <= 10 && line.width >= 10 && line.width <= 1000 && line.judged.seconds >= 0,
               "numbers of a good call are within their range");
  if (*line.help) {
    const auto told = line.help_on(line.about);
    fuzz::expect(told && (told->status == 0 ? !told->out.empty() : !told->error.empty()), "help answers each word", line.about);
  }
  return 0;
}
