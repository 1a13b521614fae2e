// new.cpp — `consort new`: creates a folder with a working plugin template, its tests and its build.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "commands.hpp"
#include "json.hpp"
#include "templates.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kKinds = {"scheduler", "driver", "interface", "transport"};
const std::vector<std::string> kLanguages = {"c", "cpp"};

bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)); }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
char upper(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }

// Why this is not a valid plugin name; "": it is valid.
std::string objection(const std::string &name) {
  constexpr size_t most = sizeof consort_note::name - 1;
  if (name.size() > most)
    return "has " + std::to_string(name.size()) + " letters, a plugin's name at most " + std::to_string(most);
  for (const char c : name)
    if (!letter(c) && !digit(c) && c != '-' && c != '_')
      return "has a '" + std::string(1, c) + "' in it; write letters, digits, - and _";
  if (name.empty() || !letter(name[0])) return "does not begin with a letter";
  if (!letter(name.back()) && !digit(name.back())) return "does not end with a letter or a digit";
  if (name.starts_with("consort")) return "begins with \"consort\", which is reserved; choose another name";
  return {};
}

struct Name {
  std::string text, identifier, capitals, hump;  // my-plugin, my_plugin, MY_PLUGIN, MyPlugin

  explicit Name(const std::string &name) : text(name) {
    bool begins = true;
    for (const char c : name) {
      const bool word = letter(c) || digit(c);
      identifier += word ? c : '_';
      capitals += word ? upper(c) : '_';
      if (word) hump += begins ? upper(c) : c;
      begins = !word;
    }
  }
  // In one pass: replaced text is not scanned again.
  std::string in(const std::string &text_with) const {
    const std::pair<std::string_view, const std::string *> words[] = {
        {"new-name", &text}, {"new_name", &identifier}, {"NEW_NAME", &capitals}, {"NewName", &hump}};
    std::string out;
    for (std::string_view rest = text_with; !rest.empty();) {
      const auto *word =
          std::find_if(std::begin(words), std::end(words), [&](const auto &w) { return rest.starts_with(w.first); });
      if (word != std::end(words))
        out += *word->second;
      else
        out += rest[0];
      rest.remove_prefix(word != std::end(words) ? word->first.size() : 1);
    }
    return out;
  }
};

[[noreturn]] void wrong(const std::string &text) { throw std::runtime_error(text); }
struct Misuse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string one_of(const std::string &word, const std::vector<std::string> &words, const char *what) {
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  std::string all;
  for (const std::string &w : words) all += (all.empty() ? "" : ", ") + w;
  throw Misuse("there is no " + std::string(what) + " \"" + word + "\"" + did_you_mean(word, words) + ": " + all);
}

void write(const fs::path &path, const std::string &text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    wrong("cannot make the folder " + path.parent_path().string() + ": " + error.message() +
          "; choose another one with -o");
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) wrong("cannot write " + path.string() + ": check free space and permissions");
}

}  // namespace

int run_new(const NewPlugin &asked, bool json) try {
  const auto &[kind, name, language, folder] = asked;
  one_of(kind, kKinds, "kind of plugin");
  one_of(language, kLanguages, "language");
  if (const std::string why = objection(name); !why.empty()) throw Misuse("the name \"" + name + "\" " + why);
  const fs::path root = folder.empty() ? fs::path(name) : fs::path(folder);
  const bool there = fs::exists(root);
  if (there && !(fs::is_directory(root) && fs::is_empty(root)))
    wrong(root.string() + " exists already: choose another folder with -o, or remove it");

  const Name plugin(name);
  std::vector<std::string> files;
  try {
    for (size_t i = 0; i < kTemplateCount; ++i) {
      const Template &t = kTemplates[i];
      const std::string k = t.kind, l = t.language;
      if ((k != "all" && k != kind) || (l != "all" && l != language)) continue;
      files.push_back((root / plugin.in(t.path)).string());
      write(files.back(), plugin.in(t.text));
    }
  } catch (...) {  // leaves nothing incomplete
    std::error_code ignored;
    if (there)
      for (const auto &entry : fs::directory_iterator(root, ignored)) fs::remove_all(entry, ignored);
    else
      fs::remove_all(root, ignored);
    throw;
  }
  const std::string at = root.string(), source = (root / (name + "." + language)).string();
  const std::string next = "cmake -G Ninja -S " + at + " -B " + at + "/build && ninja -C " + at + "/build && ctest --test-dir " + at + "/build";
  if (json) {
    Json all = document("new");
    all.update({{"kind", kind}, {"name", name}, {"language", language}, {"folder", at}, {"source", source}, {"files", files}, {"next", next}});
    print(all);
    return 0;
  }
  std::printf("%s %s in %s: %s\n\n  %s\n\nREADME.md describes the next steps.\n", kind == "interface" ? "an" : "a", kind.c_str(),
              language == "c" ? "C" : "C++", source.c_str(), next.c_str());
  return 0;
} catch (const Misuse &e) {
  return complain(e.what(), 2);
}

}  // namespace tool
