#include "report.hpp"

#include <consort/consort.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "rules.hpp"

namespace conform {
namespace {

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> all;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    all.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

void add_lines(std::string *out, const char *head, const std::string &text) {
  for (const std::string &line : lines_of(text)) {
    char label[16];
    std::snprintf(label, sizeof label, "        %-7s", head);
    *out += label + line + "\n";
    head = "";
  }
}

std::string seconds_of(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", s);
  return text;
}

std::string seen_of(const Row &r) {
  std::string seen = r.result.verdict.seen;
  const size_t lines = lines_of(seen).size(), all = r.result.verdict.failures;
  if (all > lines && lines) seen += "and " + std::to_string(all - lines) + " more of the kind\n";
  return seen;
}

std::string end_of(const std::string &text, size_t most) {
  std::vector<std::string> lines = lines_of(text);
  std::string out;
  for (size_t i = lines.size() > most ? lines.size() - most : 0; i < lines.size(); ++i) out += lines[i] + "\n";
  return out;
}

std::string quoted(const std::string &text) {  // for a shell
  if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:") == text.npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Returns the number of bytes of the UTF-8 letter here, if JSON and XML permit it, else 0. A plugin may print any
// bytes.
size_t letter_at(const std::string &text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(at + 1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90)) return 0;  // overlong encoding
  if ((first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f)) return 0;  // no valid code points
  if (first == 0xef && second == 0xbf && byte(at + 2) > 0xbd) return 0;                // not permitted in XML
  return bytes;
}
std::string letters_of(const std::string &text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = letter_at(text, at);
    out += bytes ? text.substr(at, bytes) : "\xef\xbf\xbd";
    at += bytes ? bytes : 1;
  }
  return out;
}

std::string json_text(const std::string &text) {
  std::string out = "\"";
  for (const char c : letters_of(text)) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (c == '\n') out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else out += c;
  }
  return out + "\"";
}

std::string xml_text(const std::string &text) {
  std::string out;
  for (const char c : letters_of(text)) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') out += '?';
    else out += c;
  }
  return out;
}

const char *json_ending(Ending e) {
  constexpr const char *names[] = {"passed", "failed", "unsupported", "xfail", "xpass", "not-run"};
  return names[static_cast<int>(e)];
}

}  // namespace

std::string command_of(const Tally &t, const Row &r) {
  std::string c = "consort conform " + quoted(t.subject.path) + " --only " + quoted("^" + r.the_case->full_name() + " ") +
                  " --level " + std::to_string(t.subject.level) + " --seed " + std::to_string(t.subject.seed);
  for (const auto &[key, value] : t.subject.params) c += " --set " + quoted(t.subject.name() + "." + key + "=" + value);
  return c;
}

std::string text_of(const Tally &t, const Row &r) {
  const Rule &rule = r.the_case->rule();
  std::string out;
  char line[256];
  std::snprintf(line, sizeof line, "  %-16s %s  %s (%.2f s)\n", ending_name(r.ending), r.the_case->full_name().c_str(),
                r.the_case->group, r.result.seconds);
  out = line;
  switch (r.ending) {
    case Ending::kPassed: add_lines(&out, "", r.result.verdict.figures); break;
    case Ending::kUnsupported: add_lines(&out, "why", seen_of(r)); break;
    case Ending::kExpectedFailure:
      add_lines(&out, "reason", r.reason);
      add_lines(&out, "seen", seen_of(r));
      break;
    case Ending::kNotRun: break;                 // the last line says why
    case Ending::kUnexpectedPass: add_lines(&out, "reason", r.reason + " (no more: take it out of the file)"); break;
    case Ending::kFailed:
      add_lines(&out, "rule", rule.rule);
      add_lines(&out, "seen", seen_of(r));
      add_lines(&out, "why", rule.why);
      add_lines(&out, "fix", rule.fix);
      add_lines(&out, "again", command_of(t, r));
      add_lines(&out, "output", end_of(r.result.printed, 20));
      break;
  }
  return out;
}

std::string badge_of(const Tally &t) {
  const Subject &s = t.subject;
  const auto counted = [&](Ending e, const char *what) {
    const uint32_t n = t.count(e);
    return n ? ", " + std::to_string(n) + " " + what : std::string();
  };
  const std::string subject = s.note.kind ? s.name() + " " + s.note.version + " " + kind_name(s.note.kind) : s.path;
  const bool is_open = !t.conforms() && t.count(Ending::kFailed) == 0;
  return std::string(t.conforms() ? "conforms: " : is_open ? "not judged to the end: " : "does not conform: ") + subject +
         " level " + std::to_string(s.level) + " (" +
         std::to_string(t.rows.size()) + " cases" + counted(Ending::kFailed, "failed") +
         counted(Ending::kUnsupported, "unsupported") + counted(Ending::kExpectedFailure, "expected to fail") +
         counted(Ending::kUnexpectedPass, "unexpectedly passing") + counted(Ending::kNotRun, "not run: out of time") + ")";
}

std::string json_of(const std::vector<Tally> &all) {
  std::string out = "{\"command\": \"conform\", \"format\": 1, \"consort\": " + json_text(consort_version()) + ", \"plugins\": [";
  const char *next = "\n ";
  for (const Tally &t : all) {
    out += next;
    next = ",\n ";
    out += "{\"file\": " + json_text(t.subject.path) + ", \"name\": " + json_text(t.subject.name()) +
           ", \"version\": " + json_text(t.subject.note.version) + ", \"kind\": " + json_text(kind_name(t.subject.note.kind)) +
           ", \"level\": " + std::to_string(t.subject.level) + ", \"seed\": " + std::to_string(t.subject.seed) +
           ", \"conforms\": " + (t.conforms() ? "true" : "false") + ", \"badge\": " + json_text(badge_of(t)) + ",\n  \"cases\": [";
    const char *between = "\n   ";
    for (const Row &r : t.rows) {
      out += between;
      between = ",\n   ";
      out += "{\"rule\": " + json_text(r.the_case->rule_id) + ", \"case\": " + json_text(r.the_case->name) +
             ", \"group\": " + json_text(r.the_case->group) + ", \"result\": " + json_text(json_ending(r.ending)) +
             ", \"seconds\": " + seconds_of(r.result.seconds);
      const auto add = [&](const char *key, const std::string &text) {
        if (!text.empty()) out += ", \"" + std::string(key) + "\": " + json_text(text);
      };
      add("seen", seen_of(r));
      add("figures", r.result.verdict.figures);
      add("reason", r.reason);
      if (r.ending == Ending::kFailed) {
        add("again", command_of(t, r));
        add("output", r.result.printed);
      }
      out += "}";
    }
    out += "]}";
  }
  return out + "\n]}\n";
}

std::string junit_of(const std::vector<Tally> &all) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const Tally &t : all) {
    double seconds = 0;
    for (const Row &r : t.rows) seconds += r.result.seconds;
    out += "  <testsuite name=\"" + xml_text(t.subject.note.kind ? t.subject.name() : t.subject.path) + "\" tests=\"" +
           std::to_string(t.rows.size()) + "\" failures=\"" + std::to_string(t.count(Ending::kFailed)) +
           "\" errors=\"" + std::to_string(t.count(Ending::kNotRun)) + "\" skipped=\"" +
           std::to_string(t.count(Ending::kUnsupported) + t.count(Ending::kExpectedFailure)) + "\" time=\"" +
           seconds_of(seconds) + "\">\n";
    for (const Row &r : t.rows) {
      out += "    <testcase classname=\"" + xml_text(std::string(r.the_case->rule_id) + "." + r.the_case->group) + "\" name=\"" +
             xml_text(r.the_case->name) + "\" time=\"" + seconds_of(r.result.seconds) + "\">";
      if (r.ending == Ending::kFailed)
        out += "<failure message=\"" + xml_text(r.the_case->rule().rule) + "\">" + xml_text(seen_of(r) + command_of(t, r) + "\n") +
               "</failure>";
      if (r.ending == Ending::kNotRun) out += "<error message=\"" + xml_text("not run, " + r.reason) + "\"/>";
      if (r.ending == Ending::kUnsupported || r.ending == Ending::kExpectedFailure)
        out += "<skipped message=\"" + xml_text(r.ending == Ending::kUnsupported ? seen_of(r) : r.reason) + "\"/>";
      if (*r.result.verdict.figures || !r.result.printed.empty())
        out += "<system-out>" + xml_text(std::string(r.result.verdict.figures) + r.result.printed) + "</system-out>";
      out += "</testcase>\n";
    }
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace conform
