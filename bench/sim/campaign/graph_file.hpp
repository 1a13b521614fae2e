// graph_file.hpp — a graph of tasks as text, as campaign.py writes it. Plain data; main().
//
//   data BYTES...                                   all data, numbered from 0
//   kernel NAME CLASS=NS:TOLD ...                   ns on each class that can run it; TOLD: what models say, 0: nothing
//   task KERNEL LEVEL CRITICAL RANDOM USE...        three priorities; a use is r3 or w3 (it is read, too)
#pragma once
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace campaign {

[[noreturn]] inline void give_up(const std::string &text) {
  std::fprintf(stderr, "campaign: %s\n", text.c_str());
  std::exit(1);
}

struct OnClass {
  std::string klass;
  double ns, told_ns;
};
struct Kernel {
  std::string name;
  std::vector<OnClass> on;
};
struct Use {
  uint32_t datum;
  bool writes;
};
struct Task {
  uint32_t kernel;
  std::array<int32_t, 3> priorities;
  std::vector<Use> uses;
};
struct GraphFile {
  std::vector<uint64_t> bytes;
  std::vector<Kernel> kernels;
  std::vector<Task> tasks;
};

inline GraphFile read_graph(const std::string &path) {
  std::ifstream file(path);
  if (!file) give_up(path + " cannot be read");
  GraphFile g;
  std::string line, word;
  for (uint32_t number = 1; std::getline(file, line); ++number) {
    std::istringstream in(line);
    const auto bad = [&] { give_up(path + ":" + std::to_string(number) + ": cannot be understood: " + line); };
    in >> word;
    if (word == "data") {
      for (uint64_t b; in >> b;) g.bytes.push_back(b);
    } else if (word == "kernel") {
      Kernel k;
      in >> k.name;
      while (in >> word) {
        OnClass c{word.substr(0, word.find('=')), 0, 0};
        if (c.klass.size() == word.size() ||
            std::sscanf(word.c_str() + c.klass.size(), "=%lf:%lf", &c.ns, &c.told_ns) != 2)
          bad();
        k.on.push_back(c);
      }
      g.kernels.push_back(k);
    } else if (word == "task") {
      Task t{};
      in >> t.kernel;
      for (int32_t &p : t.priorities) in >> p;
      if (!in || t.kernel >= g.kernels.size()) bad();
      while (in >> word) {
        const auto datum = static_cast<uint32_t>(std::strtoul(word.c_str() + 1, nullptr, 10));
        if ((word[0] != 'r' && word[0] != 'w') || datum >= g.bytes.size()) bad();
        t.uses.push_back({datum, word[0] == 'w'});
      }
      g.tasks.push_back(std::move(t));
    } else {
      bad();
    }
  }
  return g;
}

}  // namespace campaign
