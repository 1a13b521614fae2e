#include "nvrtc_text.hpp"

#include <algorithm>

namespace nvrtc {

namespace {

// Of the language, independent of the locale: <cctype> and <regex> keep the locale's answers in tables that several
// threads fill at once.
constexpr std::string_view blanks = " \t\n\r\v\f";

bool of_a_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

size_t past_blanks(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(blanks, at), text.size());
}

size_t past_word(std::string_view text, size_t at) {
  while (at < text.size() && of_a_word(text[at])) {
    ++at;
  }
  return at;
}

std::string_view without_end_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

bool stands_alone(std::string_view text, size_t at, std::string_view word) {
  size_t end = at + word.size();
  return (at == 0 || !of_a_word(text[at - 1])) && (end >= text.size() || !of_a_word(text[end]));
}

size_t find_word(std::string_view text, std::string_view word, size_t at = 0) {
  for (at = text.find(word, at); at != text.npos && !stands_alone(text, at, word); at = text.find(word, at + 1)) {
  }
  return at;
}

// The last word, if it is this one, is taken off.
bool take_last(std::string_view &text, std::string_view word) {
  bool there = text.ends_with(word) && stands_alone(text, text.size() - word.size(), word);
  if (there) {
    text = without_end_blanks(text.substr(0, text.size() - word.size()));
  }
  return there;
}

// Does the text before __global__ end with `template <...>`?
bool ends_with_template(std::string_view before) {
  before = without_end_blanks(before);
  while (take_last(before, "static") || take_last(before, "inline")) {
  }
  if (!before.ends_with('>')) {
    return false;
  }
  std::string_view statement = before.substr(before.find_last_of(";{}") + 1);
  size_t at = find_word(statement, "template");
  return at != statement.npos && statement.substr(past_blanks(statement, at + 8)).starts_with('<');
}

// The first word before an opening bracket that is none of the compiler's own.
std::string_view called(std::string_view head) {
  for (size_t at = 0; at < head.size();) {
    size_t end = past_word(head, at), bracket = past_blanks(head, end);
    if (end == at) {
      ++at;
    } else if (bracket == head.size() || head[bracket] != '(') {
      at = end;
    } else if (head.substr(at, end - at) == "__launch_bounds__") {
      at = std::min(head.find(')', bracket), head.size());
    } else {
      return head.substr(at, end - at);
    }
  }
  return {};
}

// The text between `extern` and the semicolon, as a pointer's definition; empty where it is something else.
std::string shared_pointer(std::string_view declared) {
  constexpr std::string_view shared = "__shared__", align = "__align__";
  size_t at = past_blanks(declared, 0);
  if (!declared.substr(at).starts_with(shared) || !stands_alone(declared, at, shared)) {
    return {};
  }
  at = past_blanks(declared, at + shared.size());
  if (declared.substr(at).starts_with(align)) {
    at = past_blanks(declared, std::min(declared.find(')', at), declared.size() - 1) + 1);
  }
  std::string_view rest = without_end_blanks(declared.substr(at));
  for (char bracket : {']', '['}) {
    if (!rest.ends_with(bracket)) {
      return {};
    }
    rest = without_end_blanks(rest.substr(0, rest.size() - 1));
  }
  size_t name = rest.size();
  while (name > 0 && of_a_word(rest[name - 1])) {
    --name;
  }
  std::string type(without_end_blanks(rest.substr(0, name)));
  bool plain = std::all_of(type.begin(), type.end(),
                           [](char c) { return of_a_word(c) || c == ':' || blanks.find(c) != blanks.npos; });
  if (!plain || type.empty() || name == rest.size()) {
    return {};
  }
  return type + " *" + std::string(rest.substr(name)) + " = (" + type + " *)consort_dynamic_shared";
}

}  // namespace

std::string bare(std::string text) {
  for (size_t i = 0; i < text.size(); ++i) {
    auto blank_to = [&](size_t end) {
      for (end = std::min(end, text.size()); i < end; ++i) {
        text[i] = text[i] == '\n' ? '\n' : ' ';
      }
      --i;
    };
    if (text.compare(i, 2, "//") == 0) {
      blank_to(text.find('\n', i));
    } else if (text.compare(i, 2, "/*") == 0) {
      size_t end = text.find("*/", i + 2);
      blank_to(end == text.npos ? end : end + 2);
    } else if (text[i] == '"') {
      size_t end = ++i;
      while (end < text.size() && text[end] != '"' && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      blank_to(end);
      ++i;
    }
  }
  return text;
}

std::vector<std::string> kernels_in(const std::string &source) {
  std::string text = bare(source);
  std::vector<std::string> found;
  for (size_t at = find_word(text, "__global__"); at != text.npos; at = find_word(text, "__global__", at + 1)) {
    size_t end = text.find_first_of("{;", at);
    std::string name(called(std::string_view(text).substr(at, end == text.npos ? end : end - at)));
    if (!name.empty() && !ends_with_template(std::string_view(text).substr(0, at)) &&
        std::find(found.begin(), found.end(), name) == found.end()) {
      found.push_back(name);
    }
  }
  return found;
}

std::string without_dynamic_shared(std::string source) {
  for (size_t at = find_word(source, "extern"); at != source.npos; at = find_word(source, "extern", at + 1)) {
    size_t end = source.find(';', at);
    if (end == source.npos) {
      break;
    }
    std::string pointer = shared_pointer(std::string_view(source).substr(at + 6, end - at - 6));
    if (!pointer.empty()) {
      source.replace(at, end - at, pointer);
    }
  }
  return source;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    out += c == '\n' ? "\\n" : c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return out;
}

}  // namespace nvrtc
