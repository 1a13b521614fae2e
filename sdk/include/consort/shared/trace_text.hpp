// trace_text.hpp — a trace in its text form: a line for each event (docs/trace.md). Reports get it, and `consort trace
// export --format text` writes it.
//
// Shared by kernel, command and tests. [any]
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "fields.hpp"
#include "trace_reader.hpp"

namespace consort::shared {

class TraceText {
 public:
  // May throw bad_alloc. Returns false if this is no trace: *why.
  static bool write(std::string_view all, std::string *text, std::string *why) {
    TraceReader reader;
    if (!reader.open(all)) return *why = reader.why(), false;
    TraceText parts;
    reader.each_line([&](std::string_view line) { parts.take_line(line); });
    reader.each_record([&](const TraceReader::Record &r) { parts.take_record(r); });
    reader.each_record([&](const TraceReader::Record &r) { parts.take_task(r); });
    *text = std::string(trace_format::kFirstLineOfText) + parts.lines_;
    for (const auto &[number, name] : parts.names_) {
      *text += "codelet\t";
      append(text, number, '\t');
      *text += name + "\n";
    }
    *text += parts.data_ + parts.tasks_ + parts.runs_ + parts.others_;
    append_line(text, "end", reader.lost());
    return true;
  }

 private:
  using R = TraceReader;

  static std::string one_line(std::string_view text) {  // a name does not break its line
    std::string name(text);
    for (char &c : name)
      if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return name;
  }
  void take_line(std::string_view line) {
    if (line.starts_with("record\t") || line.starts_with("ticks\t")) return;  // of the file's form
    lines_.append(line).append("\n");
  }
  void take_record(const R::Record &r) {
    const std::string_view name = r.name();
    if (name == "run")
      append_line(&runs_, "run", r.number(R::kWorker), r.number(R::kBegin), r.end(), r.number(R::kCodelet), Hex{r.number(R::kTask)},
                  r.number(R::kImpl), r.whole(R::kExpected, -1), r.whole(R::kStatus));
    else if (name == "copy")
      append_line(&others_, "copy", r.number(R::kFrom), r.number(R::kTo), r.number(R::kBegin), r.end(), r.number(R::kBytes),
                  Hex{r.number(R::kDatum)}, r.whole(R::kStatus), letter(r.number(R::kReason)));
    else if (name == "decision")
      append_line(&others_, "decision", r.number(R::kAt), Hex{r.number(R::kTask)}, r.number(R::kWorker), r.real(R::kRun), r.end());
    else if (name == "fetch")
      append_line(&others_, "fetch", r.number(R::kWorker), r.number(R::kBegin), r.end(), Hex{r.number(R::kTask)});
    else if (name == "sleep")
      append_line(&others_, "sleep", r.number(R::kWorker), r.number(R::kBegin), r.end());
    else if (name == "evict")
      append_line(&others_, "evict", r.number(R::kSpace), r.number(R::kAt), Hex{r.number(R::kDatum)}, r.number(R::kBytes));
    else if (name == "used")
      append_line(&others_, "used", r.number(R::kSpace), r.number(R::kAt), r.number(R::kBytes), r.number(R::kLimit));
    else if (name == "codelet")
      names_[r.number(R::kNumber)] = one_line(r.text(R::kName));
    else if (name == "datum") {
      ids_[r.number(R::kNumber)] = r.number(R::kDatum);
      append_line(&data_, "datum", Hex{r.number(R::kDatum)}, r.number(R::kBytes), r.whole(R::kSpace), Hex{r.number(R::kWhole)});
    }
  }
  void take_task(const R::Record &r) {                  // after all data
    if (r.name() != "task") return;
    std::string uses, after;
    if (!r.lists([&](uint64_t id) { append(&(after.empty() ? after : after += ','), Hex{id}); },
                 [&](char how, uint32_t number) {
                   const auto at = ids_.find(number);
                   if (at != ids_.end()) append(&(uses.empty() ? uses : uses += ','), how, Hex{at->second});
                 }))
      return;
    tasks_ += "task\t";
    append(&tasks_, Hex{r.number(R::kTask)}, '\t', r.number(R::kKind), '\t', r.whole(R::kPriority), '\t');
    tasks_ += uses + "\t" + after;
    append_line(&tasks_, "", r.number(R::kAt));
  }
  static char letter(uint64_t c) noexcept { return c == 'p' || c == 's' ? static_cast<char>(c) : 'd'; }

  std::string lines_, data_, tasks_, runs_, others_;
  std::map<uint64_t, std::string> names_;
  std::unordered_map<uint64_t, uint64_t> ids_;
};

}  // namespace consort::shared
