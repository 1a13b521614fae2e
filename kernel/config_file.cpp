#include "config_file.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// toml++ 3.3 asserts (and with NDEBUG assumes) that "[" is followed by a key, which a damaged file need not obey. Its
// next lines refuse that politely: so it neither asserts nor assumes.
#include <toml++/impl/preprocessor.h>
#undef TOML_ASSERT
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT(expr) static_assert(true)
#define TOML_ASSERT_ASSUME(expr) static_assert(true)
#include <toml++/toml.h>

namespace consort {
namespace {

std::string place_of(const std::string &place, const toml::source_region &where) {
  return place + ":" + std::to_string(where.begin.line);
}

template <class N>
std::string print(N n) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, n).ptr};
}

// Numbers, truth and text; nothing else has a meaning here.
bool read_scalar(const toml::node &node, std::string *out) {
  if (const auto *s = node.as_string()) return *out = s->get(), true;
  if (const auto *n = node.as_integer()) return *out = print(n->get()), true;
  if (const auto *f = node.as_floating_point()) return *out = print(f->get()), true;
  if (const auto *b = node.as_boolean()) return *out = b->get() ? "true" : "false", true;
  return false;
}

Result<std::string> read_array(const toml::array &array, const std::string &at) {
  std::string joined;
  for (const toml::node &element : array) {
    std::string text;
    if (!read_scalar(element, &text))
      return error(CONSORT_E_INVAL, at + " may hold numbers, truth values and texts only");
    if (text.find(',') != text.npos)
      return error(CONSORT_E_INVAL, at + ": \"" + text + "\" has a comma, which would end it");
    joined += (joined.empty() ? "" : ",") + text;
  }
  return joined;
}

Result<void> flatten(const toml::table &table, const std::string &prefix, const std::string &place,
                     std::vector<ConfigLine> *out) {
  for (auto &&[name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const toml::table *inner = node.as_table()) {
      if (auto done = flatten(*inner, key + ".", place, out); !done) return done.error();
      continue;
    }
    ConfigLine line{key, {}, place_of(place, node.source())};
    if (const toml::array *array = node.as_array()) {
      auto joined = read_array(*array, line.place + ": the array \"" + key + "\"");
      if (!joined) return joined.error();
      line.value = std::move(*joined);
    } else if (!read_scalar(node, &line.value)) {
      return error(CONSORT_E_INVAL,
                   line.place + ": \"" + key + "\" is a date or a time, which nothing here expects: put it in quotes");
    }
    out->push_back(std::move(line));
  }
  return {};
}

}  // namespace

Result<std::vector<ConfigLine>> read_toml(std::string_view text, const std::string &place) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error &e = parsed.error();
    return error(CONSORT_E_INVAL, place_of(place, e.source()) + ": " + std::string(e.description()));
  }
  std::vector<ConfigLine> lines;
  if (auto done = flatten(parsed.table(), "", place, &lines); !done) return done.error();
  return lines;
}

Result<std::string> read_config_file(const char *path) {
  constexpr off_t kMost = 16 << 20;
  const std::string name = "config file \"" + std::string(path) + "\"";
  const auto failed = [&](const char *why) { return error(CONSORT_E_IO, name + ": " + why); };
  struct Descriptor {
    int fd;
    ~Descriptor() { if (fd >= 0) ::close(fd); }
  } const file{::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat about;
  if (file.fd < 0 || ::fstat(file.fd, &about) != 0) return failed(std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return failed("not a plain file");
  if (about.st_size > kMost) return failed("larger than 16 MiB: is it the right file?");
  std::string text(static_cast<size_t>(about.st_size), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = ::read(file.fd, text.data() + have, text.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(std::strerror(errno));
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  text.resize(have);
  return text;
}

}  // namespace consort
