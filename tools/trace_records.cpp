// trace_records.cpp — the records of a trace (docs/trace.md), checked before they are believed.
#include <stdexcept>

#include "trace.hpp"

namespace tool {
namespace {

using R = consort::shared::TraceReader;

[[noreturn]] void refuse_record(const std::string &path, const R::Record &r, const std::string &what) {
  throw std::runtime_error(path + ": a record \"" + std::string(r.name()) + "\": " + what);
}

uint32_t index_of(const std::string &path, const R::Record &r, R::Field field, size_t below) {
  const uint64_t n = r.number(field);
  if (n >= below) refuse_record(path, r, std::to_string(n) + " is not a valid number here");
  return static_cast<uint32_t>(n);
}

template <class Span> void expect_span(const std::string &path, const R::Record &r, const Span &span) {
  if (span.t1 < span.t0) refuse_record(path, r, "it ends before it begins");
}

}  // namespace

bool Trace::take_record(const std::string &path, const Record &r) {
  const std::string_view name = r.name();
  const auto worker = [&] { return index_of(path, r, R::kWorker, workers.size()); };
  const auto space = [&](R::Field f) { return index_of(path, r, f, spaces.size()); };
  if (name == "run") {
    runs.push_back({worker(), r.number(R::kBegin), r.end(), index_of(path, r, R::kCodelet, kMostNames), r.number(R::kTask),
                    index_of(path, r, R::kImpl, kMostNames), r.whole(R::kExpected, -1), static_cast<int32_t>(r.whole(R::kStatus))});
    expect_span(path, r, runs.back());
  } else if (name == "copy") {
    const auto why = static_cast<char>(r.number(R::kReason));
    copies.push_back({space(R::kFrom), space(R::kTo), r.number(R::kBegin), r.end(), r.number(R::kBytes), r.number(R::kDatum),
                      static_cast<int32_t>(r.whole(R::kStatus)), why == 'd' || why == 'p' || why == 's' ? why : '?'});
    expect_span(path, r, copies.back());
  } else if (name == "decision") {
    decisions.push_back({r.number(R::kAt), r.number(R::kTask), worker(), r.real(R::kRun), r.end()});
  } else if (name == "fetch") {
    fetches.push_back({worker(), r.number(R::kBegin), r.end(), r.number(R::kTask)});
    expect_span(path, r, fetches.back());
  } else if (name == "sleep") {
    sleeps.push_back({worker(), r.number(R::kBegin), r.end()});
    expect_span(path, r, sleeps.back());
  } else if (name == "evict") {
    evictions.push_back({space(R::kSpace), r.number(R::kAt), r.number(R::kDatum), r.number(R::kBytes)});
  } else if (name == "used") {
    memory.push_back({space(R::kSpace), r.number(R::kAt), r.number(R::kBytes), r.number(R::kLimit)});
  } else {
    return false;
  }
  return true;
}

void Trace::take_fact(const std::string &path, const Record &r, std::unordered_map<uint64_t, uint64_t> *ids) {
  if (r.name() == "codelet") {
    const uint32_t i = index_of(path, r, R::kNumber, kMostNames);
    if (codelets.size() <= i) codelets.resize(i + 1);
    codelets[i] = r.text(R::kName);
  } else if (r.name() == "datum") {
    (*ids)[r.number(R::kNumber)] = r.number(R::kDatum);
    data.push_back({r.number(R::kDatum), r.number(R::kBytes), r.whole(R::kSpace), r.number(R::kWhole)});
  }
}

void Trace::take_task(const std::string &path, const Record &r, const std::unordered_map<uint64_t, uint64_t> &ids) {
  if (r.name() != "task") return;
  if (cut && r.number(R::kKind) >= kinds.size()) {  // its line was not written any more
    ++unlogged;
    return;
  }
  const uint32_t kind = index_of(path, r, R::kKind, kinds.size());
  const bool sound = r.lists([&](uint64_t id) { after.push_back(id); },
                             [&](char how, uint32_t number) {
                               const auto at = ids.find(number);
                               if (at != ids.end()) uses.push_back({at->second, how});
                             });
  if (!sound) refuse_record(path, r, "its lists are longer than it");
  tasks.push_back({r.number(R::kTask), r.number(R::kAt), kind, static_cast<int32_t>(r.whole(R::kPriority)),
                   static_cast<uint32_t>(uses.size()), static_cast<uint32_t>(after.size())});
  kind_of[tasks.back().id] = kind;
}

}  // namespace tool
