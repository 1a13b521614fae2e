#include "graph/commute.hpp"

#include <algorithm>
#include <cstdlib>

#include "graph/access_order.hpp"
#include "graph/submission_draft.hpp"

namespace consort {
namespace {

constexpr uint32_t kMostRefusals = 8;  // refusals before a task may become the elder

CommuteToken &token_of(const Datum *d) noexcept { return discipline_if_any(*d)->token; }

bool wants_token(uint32_t mode) noexcept { return (mode & CONSORT_M_COMMUTE) && !(mode & Claim::kLoose); }

Datum *only_one(const Task &t) noexcept {
  for (uint32_t i = 0; i < t.pub.naccess; ++i)
    if (t.pub.access[i].mode & CONSORT_M_COMMUTE) return Datum::of(t.pub.access[i].datum);
  return nullptr;
}

void push_again(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  if (t->bits & kBound) return rt.workers[t->extra->worker]->post(t);
  rt.policy.push(rt, number_of(thread.seat), &t, 1, CONSORT_PUSH_RETRIED);
}

// Passes the token on until a task keeps it or none wants it. The first task that now has its only token is returned if
// `answer`; all others are pushed.
Task *pass_on(TaskGraph &rt, ThreadState &thread, CommuteToken &token, bool answer) noexcept {
  while (Task *next = token.give()) {
    CommuteTokenList *list = next->extra ? next->extra->tokens : nullptr;
    if (!list) {
      next->bits |= kTokensHeld;
      if (answer) return next;
      push_again(rt, thread, next);
      return nullptr;
    }
    const bool keeps = rt.elder.load(std::memory_order_relaxed) == next->pub.id;
    if (keeps) ++list->held;
    push_again(rt, thread, next);
    if (keeps) return nullptr;
  }
  return nullptr;
}

bool take_several(TaskGraph &rt, ThreadState &thread, Task *t, CommuteTokenList &list) noexcept {
  for (;;) {
    uint32_t i = list.held;
    while (i < list.n && token_of(list.datum()[i]).try_take()) ++i;
    if (i == list.n) break;
    CommuteToken &refused = token_of(list.datum()[i]);
    TaskName elder = rt.elder.load(std::memory_order_relaxed);
    if (!elder && ++list.refused > kMostRefusals &&
        rt.elder.compare_exchange_strong(elder, t->pub.id, std::memory_order_relaxed))
      elder = t->pub.id;
    if (elder == t->pub.id) list.held = i;
    else
      while (i > list.held) pass_on(rt, thread, token_of(list.datum()[--i]), false);
    if (refused.park(t)) return false;
  }
  list.held = list.n;
  TaskName mine = t->pub.id;
  rt.elder.compare_exchange_strong(mine, 0, std::memory_order_relaxed);
  return true;
}

}  // namespace

bool list_tokens(SubmissionDraft &draft) noexcept {
  if (draft.t->bits & kSpecial) return true;  // a task without a body needs no exclusive access
  uint32_t n = 0;
  if (draft.t->bits & kSpecial) return true;  // it has no body that another could disturb
  for (uint32_t i = 0; i < draft.nclaims; ++i) n += wants_token(draft.claims[i].mode);
  if (!n) return true;
  draft.t->bits |= kTokens;
  if (n == 1) return true;
  auto *const list = static_cast<CommuteTokenList *>(std::malloc(sizeof(CommuteTokenList) + n * sizeof(Datum *)));
  if (!list) return false;
  *list = {0, 0, 0, 0};
  for (uint32_t i = 0; i < draft.nclaims; ++i)
    if (wants_token(draft.claims[i].mode)) list->datum()[list->n++] = draft.claims[i].datum;
  std::sort(list->datum(), list->datum() + n);
  draft.extra().tokens = list;
  return true;
}

bool take_tokens(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  if (t->bits & kTokensHeld) return true;
  if (CommuteTokenList *list = t->extra ? t->extra->tokens : nullptr) {
    if (!take_several(rt, thread, t, *list)) return false;
  } else {
    CommuteToken &token = token_of(only_one(*t));
    while (!token.try_take())
      if (token.park(t)) return false;
  }
  t->bits |= kTokensHeld;
  return true;
}

Task *give_tokens(TaskGraph &rt, ThreadState &thread, Task *t) noexcept {
  if (CommuteTokenList *list = t->extra ? t->extra->tokens : nullptr) {
    for (; list->held; --list->held) pass_on(rt, thread, token_of(list->datum()[list->held - 1]), false);
    TaskName mine = t->pub.id;
    rt.elder.compare_exchange_strong(mine, 0, std::memory_order_relaxed);  // it ended without ever having all its tokens
    return nullptr;
  }
  return t->bits & kTokensHeld ? pass_on(rt, thread, token_of(only_one(*t)), true) : nullptr;
}

}  // namespace consort
