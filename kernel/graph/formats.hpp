// formats.hpp — one datum in several layouts: units of some classes use it as another, internal datum.
//
// Belongs to the access order of the registered datum, which is format 0. The others have no handle, no home, and its
// lock. The submitter knows which formats hold the contents at the end of the chain. So a task that needs another
// format gets that one's datum in place of the registered one, behind a converting task. Under the right.
#pragma once
#include <consort/formats.h>

#include <vector>

#include "graph/access_order.hpp"

namespace consort {

struct SubmissionDraft;
struct ThreadState;

struct Formats {
  static constexpr uint32_t kMost = 8;
  struct Format {
    Datum *datum;
    // of units that use it; of format 0: none, it is for all other classes
    uint64_t classes;
    consort_codelet_id to, from;
    bool holds;                                 // whether it has the contents at the end of the chain
  };
  explicit Formats(TaskGraph &runtime) : rt(runtime) {}
  ~Formats();                                   // the other data are freed with the datum

  TaskGraph &rt;
  std::vector<Format> all;

  uint32_t of_class(uint32_t klass) const noexcept;
};

// nullptr: the datum has one format.
inline Formats *formats_of(const Datum &d) noexcept {
  const AccessOrder *discipline = discipline_if_any(d);
  return discipline ? discipline->formats.get() : nullptr;
}

// Calls f for the internal formats of a datum.
template <class F>
void for_each_other_format(Datum &d, F f) {
  const AccessOrder *discipline = discipline_if_any(d);
  if (!discipline || !discipline->formats) return;
  for (size_t i = 1; i < discipline->formats->all.size(); ++i) f(*discipline->formats->all[i].datum);
}

// Adds a format to a datum that has an access order.
consort_status add_format(TaskGraph &, Datum &, AccessOrder &, const consort_format_desc &);

// Replaces the draft's data by the formats that it needs, and converts the data that it reads. < 0: refused, error text
// set; conversions made so far are harmless.
consort_status enter_formats(SubmissionDraft &) noexcept;
// Precondition: nothing can fail any more. What the task writes is then held by no other format.
void settle_formats(SubmissionDraft &) noexcept;

// Precondition: all tasks have ended, and no call submits. Converts contents back to the format in the application's
// memory. *any: tasks were submitted. Returns the status of the first refusal.
consort_status bring_formats_home(TaskGraph &, ThreadState &, bool *any) noexcept;

}  // namespace consort
