// mixed_make.hpp — the table of features out of which random programs are made: each entry adds a step or a few.
//
// An entry needs not know whether its step makes sense where it stands: the oracle skips it if not.
#pragma once
#include "stress/mixed_program.hpp"

namespace mixed {

struct Shape {
  int steps = 40, data = 5;
  uint32_t workers = 2;
  bool alone = true;
  bool fails = true;  // tasks that fail, are cancelled, or read unwritten data
};

class Maker {
 public:
  Maker(uint64_t seed, const Shape &shape) : shape(shape), random_(seed) {
    p.seed = seed;
    p.nworkers = shape.workers;
    p.alone = shape.alone;
    for (int d = 0; d < 2 * shape.data; ++d) {
      Slot x;
      const int kind = pick(3);
      x.layout = kind == 0 ? Slot::kVector : kind == 1 ? Slot::kMatrix : Slot::kVariable;
      if (x.layout == Slot::kVector) x.nx = 1 + pick(6);
      if (x.layout == Slot::kMatrix) x.nx = 1 + pick(3), x.ny = 1 + pick(3);
      x.ld = x.nx + (x.layout == Slot::kMatrix ? pick(3) : 0);
      x.shadow = d >= shape.data;
      x.homeless = !x.shadow && chance(25);
      p.slots.push_back(x);
    }
    Slot own;
    own.shadow = true;
    p.own_slot = static_cast<int>(p.slots.size());
    p.slots.push_back(own);
  }
  Program make();

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  int slot() { return pick(shape.data); }
  // A datum or, where there are plans, maybe a part.
  int place() { return plans && chance(40) ? part_slot(pick(std::min(plans, kPlans)), pick(kMostParts)) : slot(); }
  int here() const { return static_cast<int>(p.steps.size()); }
  int earlier(int reach = 24) { return here() ? here() - 1 - pick(std::min(here(), reach)) : -1; }
  Step &add(Kind kind) {
    Step &s = p.steps.emplace_back();
    s.kind = kind;
    s.k = 1 + pick(1000);
    return s;
  }
  // Some of the program's data, each once.
  std::vector<int> some_slots(int most) {
    std::vector<int> all(static_cast<size_t>(shape.data));
    for (int i = 0; i < shape.data; ++i) all[static_cast<size_t>(i)] = i;
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(static_cast<size_t>(std::min(pick(most + 1), shape.data)));
    return all;
  }
  uint32_t mode() {
    switch (pick(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return CONSORT_M_R;
      case 4:
        return CONSORT_M_W;
      case 5:
      case 6:
        return CONSORT_M_RW | CONSORT_M_COMMUTE;
      case 7:
      case 8:
        return CONSORT_M_REDUX;
      case 9:
        return CONSORT_M_REDUX | CONSORT_M_FIXED_TREE;
      default:
        return CONSORT_M_RW;
    }
  }

  const Shape shape;
  Program p;
  std::function<void(Maker &)> before_feature;  // additions of another user of this table
  int tags = 0, plans = 0;                      // given out
  std::vector<int> records;

 private:
  std::mt19937_64 random_;
};

struct Feature {
  const char *name;
  int weight;
  void (*make)(Maker &);
};

inline Step &make_task(Maker &m) {
  Step &s = m.add(Kind::kTask);
  for (int d : m.some_slots(3)) {
    if (m.plans && m.chance(40)) d = m.place();
    s.uses.push_back({d, m.mode()});
    if (s.uses.back().mode == CONSORT_M_R && m.chance(4))
      s.uses.push_back({d, m.chance(50) ? uint32_t{CONSORT_M_R} : uint32_t{CONSORT_M_W}});
  }
  s.no_help = m.chance(50);
  s.pause = m.chance(15) ? static_cast<uint32_t>(m.pick(4000)) : 0;
  if (m.chance(12)) s.priority = m.pick(7) - 3;
  if (m.chance(6)) s.worker = static_cast<uint32_t>(m.pick(static_cast<int>(m.shape.workers)));
  s.group = m.chance(70) ? 0 : 1 + m.pick(kGroups - 2);
  s.fails = m.shape.fails && m.chance(2);
  s.hooks = m.chance(4);
  s.bundled = m.chance(4);
  if (m.chance(10) && m.tags < kTags) s.tag = m.tags++, s.by_tags = m.chance(60);
  if (m.chance(3))
    for (int n = 1 + m.pick(3); n-- > 0;)
      if (const int p = m.earlier(); p >= 0 && p != m.here() - 1) s.end_after.push_back(p);
  s.plain = m.chance(30);  // by the short way, where it can go it
  return s;
}

inline constexpr Feature kFeatures[] = {
    {"task", 60, [](Maker &m) { make_task(m); }},
    {"commute", 8,
     [](Maker &m) {  // a phase of several, over several data
       for (int n = 2 + m.pick(5); n-- > 0;) {
         Step &s = m.add(Kind::kTask);
         for (const int d : m.some_slots(2)) s.uses.push_back({d, CONSORT_M_RW | CONSORT_M_COMMUTE});
         s.priority = m.chance(10) ? m.pick(3) : 0;
       }
     }},
    {"redux", 8,
     [](Maker &m) {
       const int d = m.place();
       const uint32_t fixed = m.chance(40) ? CONSORT_M_FIXED_TREE : 0;
       for (int n = 1 + m.pick(20); n-- > 0;) {
         Step &s = m.add(Kind::kTask);
         s.uses.push_back({d, CONSORT_M_REDUX | fixed});
         if (m.chance(10)) s.uses.push_back({m.slot(), m.mode()});
       }
     }},
    {"plan", 4,
     [](Maker &m) {
       Step &s = m.add(Kind::kPlan);
       s.uses.push_back({m.chance(70) ? m.slot() : m.place(), 0});
       s.number = m.plans++ % kPlans;
       s.other = 1 + m.pick(kMostParts);
       const int number = s.number;
       for (int n = m.pick(5); n-- > 0;)  // parts side by side
         for (int i = 0; i < kMostParts; ++i) m.add(Kind::kTask).uses.push_back({part_slot(number, i), m.mode()});
     }},
    {"record", 6,
     [](Maker &m) {
       Step &r = m.add(Kind::kRecord);
       const int record = m.here() - 1;
       r.number = m.chance(40);
       r.other = m.pick(4);
       for (int n = 1 + m.pick(8); n-- > 0;) {
         Step &s = m.add(Kind::kTask);
         s.recorded = record;
         for (const int d : m.some_slots(3)) s.uses.push_back({d, m.mode()});
         s.plain = m.chance(30);
         if (m.chance(10)) s.priority = m.pick(7) - 3;
         if (m.chance(5)) s.worker = static_cast<uint32_t>(m.pick(static_cast<int>(m.shape.workers)));
         s.pause = m.chance(10) ? static_cast<uint32_t>(m.pick(2000)) : 0;
       }
       m.records.push_back(record);
     }},
    {"replay", 8,
     [](Maker &m) {
       if (m.records.empty()) return;
       Step &s = m.add(Kind::kReplay);
       s.other = m.records[static_cast<size_t>(m.pick(static_cast<int>(m.records.size())))];
       s.number = 1 + m.pick(3);
     }},
    {"plan_end", 2, [](Maker &m) { m.add(Kind::kPlanEnd).number = m.pick(kPlans); }},
    {"scratch", 4,
     [](Maker &m) {
       Step &s = make_task(m);
       s.uses.insert(s.uses.begin() + m.pick(static_cast<int>(s.uses.size()) + 1), {kPad, CONSORT_M_SCRATCH});
     }},
    {"shared", 8,
     [](Maker &m) {  // with all other programs
       Step &s = make_task(m);
       if (m.chance(50))
         s.uses.push_back({kSharedRedux, CONSORT_M_REDUX | (m.chance(20) ? uint32_t{CONSORT_M_FIXED_TREE} : 0u)});
       const bool turned = m.chance(50);
       s.uses.push_back({turned ? kSharedSum1 : kSharedSum0, CONSORT_M_RW | CONSORT_M_COMMUTE});
       if (m.chance(60)) s.uses.push_back({turned ? kSharedSum0 : kSharedSum1, CONSORT_M_RW | CONSORT_M_COMMUTE});
     }},
    {"after", 10,
     [](Maker &m) {
       std::vector<int> after;
       for (int n = 1 + m.pick(3); n-- > 0;)
         if (const int p = m.earlier(); p >= 0) after.push_back(p);
       make_task(m).after = after;
     }},
    {"empty", 5,
     [](Maker &m) {
       std::vector<int> after;
       for (int n = m.pick(4); n-- > 0;)
         if (const int p = m.earlier(); p >= 0) after.push_back(p);
       Step &s = make_task(m);
       s.after = after;
       s.empty = true;
     }},
    {"unordered", 8, [](Maker &m) { make_task(m).unordered = true; }},
    {"set_ordered", 2,
     [](Maker &m) {
       Step &s = m.add(Kind::kSetOrdered);
       s.uses.push_back({m.slot(), 0});
       s.number = m.pick(2);
     }},
    {"nested", 9,
     [](Maker &m) {
       Step &s = make_task(m);
       s.fails = m.shape.fails && m.chance(10);
       s.waits = m.chance(40);
       s.hooks = m.chance(30);
       const int parent = m.here() - 1;
       std::vector<int> shadows;
       for (const Use &u : s.uses)
         if (u.slot >= 0) shadows.push_back(u.slot + m.shape.data);
       Via via = m.chance(20) ? Via::kReady : m.chance(20) ? Via::kBegin : Via::kBody;
       const bool lets_go = m.chance(25);
       for (int n = 1 + m.pick(3); n-- > 0;) {
         Step &c = m.add(Kind::kTask);
         c.parent = parent;
         if (via != Via::kDone && m.chance(35)) via = static_cast<Via>(static_cast<int>(via) + 1);  // in order
         c.via = via;
         if (lets_go && m.chance(60)) c.releases = parent;
         for (const int d : shadows)
           if (m.chance(60)) c.uses.push_back({d, m.mode()});
         if (m.chance(20)) c.uses.push_back({kSharedSum0, CONSORT_M_RW | CONSORT_M_COMMUTE});
         c.priority = m.pick(3);
       }
     }},
    {"enter", 4,
     [](Maker &m) {
       m.add(Kind::kEnter)
           .uses.push_back({m.place(), m.chance(50)   ? CONSORT_M_R
                                       : m.chance(60) ? CONSORT_M_RW
                                                      : CONSORT_M_W});
     }},
    {"hold", 4,
     [](Maker &m) {  // the program's thread has a datum while it submits; some are cancelled meanwhile
       Step &o = m.add(Kind::kOpen);
       const int open = m.here() - 1, d = m.place();
       o.uses.push_back({d, m.chance(25) ? CONSORT_M_R : m.chance(70) ? CONSORT_M_RW : CONSORT_M_W});
       const int first = m.here();
       for (int n = 1 + m.pick(7); n-- > 0;) {
         Step &s = make_task(m);
         if (m.chance(50))
           std::erase_if(s.uses, [&](const Use &u) { return u.slot == d; }), s.uses.push_back({d, m.mode()});
         if (m.shape.fails && m.chance(20)) s.group = kDoomedGroup;
       }
       const int last = m.here();
       for (int n = m.shape.fails ? m.pick(3) : 0; n-- > 0;) m.add(Kind::kCancel).other = first + m.pick(last - first);
       if (m.shape.fails && m.chance(50)) m.add(Kind::kGroupCancel);
       Step &c = m.add(Kind::kClose);
       c.other = open;
       m.p.steps[static_cast<size_t>(open)].other = m.here() - 1;
     }},
    {"invalidate", 2,
     [](Maker &m) {
       m.add(Kind::kInvalidate).uses.push_back({m.slot(), CONSORT_M_W});
     }},
    {"cure", 3,
     [](Maker &m) {  // so that not all ends in poison
       for (int d = 0; d < m.shape.data; ++d) m.add(Kind::kTask).uses.push_back({d, CONSORT_M_W});
     }},
    {"renew", 2,
     [](Maker &m) {
       m.add(Kind::kRenew).uses.push_back({m.slot(), CONSORT_M_RW});
     }},
    {"renew_later", 2,
     [](Maker &m) {
       m.add(Kind::kRenewLater).uses.push_back({m.slot(), CONSORT_M_RW});
     }},
    {"group_wait", 2, [](Maker &m) { m.add(Kind::kGroupWait).number = m.pick(kGroups); }},
    {"task_wait", 2,
     [](Maker &m) {
       const int t = m.earlier();
       m.add(Kind::kTaskWait).other = t;
     }},
    {"chain of tags", 6,  // tasks without order by their data, after one another by their tags
     [](Maker &m) {
       const int d = m.slot();
       int last = -1;
       for (int n = 2 + m.pick(5); n-- > 0;) {
         Step &s = m.add(Kind::kTask);
         s.uses.push_back({d, m.chance(40) ? CONSORT_M_R : CONSORT_M_RW});
         s.unordered = true;
         s.by_tags = true;
         if (m.tags < kTags) s.tag = m.tags++;
         if (last >= 0) s.after.push_back(last);
         last = m.here() - 1;
       }
     }},
    {"tag window", 5,  // tasks that wait for a tag that is reached later, by a task or by notify
     [](Maker &m) {
       if (m.tags + 8 > kTags) return;
       const int tag = m.tags++;
       m.add(Kind::kTagOpen).number = tag;
       const int open = m.here() - 1;
       for (int n = 2 + m.pick(6); n-- > 0;) {
         Step &s = make_task(m);
         if (m.chance(50) && m.tags < kTags)
           s.tag = m.tags++, s.needs_tag = tag;
         else if (m.chance(20))
           s.tag = tag;
         if (m.chance(10)) m.add(Kind::kNoReady);
       }
       Step &c = m.add(Kind::kTagClose);
       c.number = tag;
       m.p.steps[static_cast<size_t>(open)].other = m.here() - 1;
     }},
    {"tag again", 3,  // waited for, restarted, carried again
     [](Maker &m) {
       if (!m.tags) return;
       const int tag = m.pick(m.tags);
       if (m.chance(30)) m.add(Kind::kTagNotify).number = tag;
       m.add(Kind::kTagWait).number = tag;
       m.add(Kind::kTagRestart).number = tag;
       Step &s = make_task(m);
       s.tag = tag;
       s.by_tags = m.chance(50);
       if (m.chance(50)) m.add(Kind::kTagWait).number = tag;
     }},
    {"end held", 5,
     [](Maker &m) {
       Step &h = make_task(m);
       if (h.uses.empty()) h.uses.push_back({m.slot(), CONSORT_M_RW});
       h.hooks = m.chance(50);
       const int held = m.here() - 1;
       for (int n = 1 + m.pick(5); n-- > 0;) {
         make_task(m).releases = m.chance(25) ? held : -1;
         if (m.chance(8)) m.add(Kind::kNoReady);
       }
       m.add(Kind::kEndRelease).other = held;
       m.p.steps[static_cast<size_t>(held)].end_release = m.here() - 1;
     }},
    {"repeat", 2,
     [](Maker &m) {
       Step &s = m.add(Kind::kTask);
       s.uses.push_back({m.p.own_slot, CONSORT_M_RW});
       if (m.chance(50)) s.uses.push_back({kSharedSum1, CONSORT_M_RW | CONSORT_M_COMMUTE});
       if (m.chance(30)) s.uses.push_back({kSharedRedux, CONSORT_M_REDUX});
       s.turns = 1 + m.pick(6);
       s.hooks = m.chance(40);
       s.priority = m.pick(3);
     }},
    {"enter_later", 4,
     [](Maker &m) {
       m.add(Kind::kEnterLater)
           .uses.push_back({m.place(), m.chance(50)   ? CONSORT_M_R
                                       : m.chance(60) ? CONSORT_M_RW
                                                      : CONSORT_M_W});
     }},
    {"copy", 4,
     [](Maker &m) {
       for (int tries = 0; tries < 6; ++tries) {
         const int a = m.slot(), b = m.slot();
         const Slot &x = m.p.slots[static_cast<size_t>(a)], &y = m.p.slots[static_cast<size_t>(b)];
         if (a == b || x.layout != y.layout || x.nx != y.nx || x.ny != y.ny) continue;
         Step &s = m.add(Kind::kCopy);
         s.uses = {{a, CONSORT_M_W}, {b, CONSORT_M_R}};
         s.group = m.pick(kGroups - 1);
         return;
       }
     }},
    {"no_ready", 1, [](Maker &m) { m.add(Kind::kNoReady); }},
    {"wait_all", 1, [](Maker &m) { m.add(Kind::kWaitAll); }},
    {"swap", 1, [](Maker &m) { m.add(Kind::kSwap).number = m.pick(16); }},
};

inline Program Maker::make() {
  int total = 0;
  for (const Feature &f : kFeatures) total += f.weight;
  while (here() < shape.steps) {
    if (before_feature) before_feature(*this);
    int dice = pick(total);
    for (const Feature &f : kFeatures)
      if ((dice -= f.weight) < 0) {
        f.make(*this);
        break;
      }
  }
  p.dropped.assign(p.steps.size(), 0);
  return std::move(p);
}

}  // namespace mixed
