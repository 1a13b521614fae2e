// formats.hpp — one datum in several layouts: units of some classes see it as another datum, of the kernel's own.
//
// Belongs to the discipline of the datum as it was registered, which is format 0; the others have no handle, no home,
// and its lock. Which of them hold the contents at the end of the chain is known to whoever submits: so a task that
// needs another format is given that one's datum in place of the registered one, behind a task that converts. Under the
// right.
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
    // of units that see it; of format 0: nothing, it is all that is left over
    uint64_t classes;
    consort_codelet_id to, from;
    bool holds;                                 // the contents, for those who come at the end of the chain
  };
  explicit Formats(TaskGraph &runtime) : rt(runtime) {}
  ~Formats();                                   // the others go with the datum

  TaskGraph &rt;
  std::vector<Format> all;

  uint32_t of_class(uint32_t klass) const noexcept;
};

// Those of the kernel's own, where it has several.
template <class F>
void for_each_other_format(Datum &d, F f) {
  const AccessOrder *discipline = discipline_if_any(d);
  if (!discipline || !discipline->formats) return;
  for (size_t i = 1; i < discipline->formats->all.size(); ++i) f(*discipline->formats->all[i].datum);
}

// One more format of a datum that has a discipline.
consort_status add_format(TaskGraph &, Datum &, AccessOrder &, const consort_format_desc &);

// Gives the draft the formats that it wants in place of its data, and converts what it reads. < 0: refused, told; what
// was converted meanwhile does no harm.
consort_status enter_formats(SubmissionDraft &) noexcept;
// Nothing can fail any more: what it writes, no other format holds.
void settle_formats(SubmissionDraft &) noexcept;

// All tasks are over, and no call submits any more: contents go to the format in the program's own memory. *any:
// tasks that do it were submitted. The answer: why one could not be.
consort_status bring_formats_home(TaskGraph &, ThreadState &, bool *any) noexcept;

}  // namespace consort
