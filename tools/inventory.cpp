#include "inventory.hpp"

#include "inventory_text.hpp"
#include "isolated_run.hpp"

namespace tool {
namespace {

Json json_of(const Space &s) {
  return {{"id", s.id}, {"name", s.name}, {"driver", s.driver}, {"domain", s.domain}, {"capacity", s.capacity}, {"numa", s.numa},
          {"access", space_flags(s.flags)}};
}
Json json_of(const Unit &u) {
  Json j = {{"id", u.id}, {"name", u.name}, {"class", u.klass}, {"arch", u.arch}};
  j["space"] = u.space == CONSORT_NONE ? Json() : Json(u.space);
  j["numa"] = u.numa < 0 ? Json() : Json(u.numa);
  j["os_cpu"] = u.os_cpu < 0 ? Json() : Json(u.os_cpu);
  return j;
}
Json json_of(const Link &l) {
  return {{"from", l.from}, {"to", l.to}, {"driver", l.driver}, {"bytes_per_s", l.bytes_per_s}, {"latency_ns", l.latency_ns},
          {"measured", l.measured}, {"can", link_flags(l.flags)}};
}

bool tell_things(const Teller &teller, consort_runtime *rt) {
  consort_info info = {};
  info.size = sizeof info;
  if (consort_get_info(rt, &info) < 0) return false;
  for (uint32_t i = 0; i < info.nspaces; ++i) {
    consort_space_info s = {};
    s.size = sizeof s;
    if (consort_get_space(rt, i, &s) < 0) return false;
    teller.tell(line_of(Space{s.id, s.name, s.driver, s.domain, s.capacity, s.flags, s.numa}));
  }
  for (uint32_t i = 0; i < info.nworkers; ++i) {
    consort_worker_info w = {};
    w.size = sizeof w;
    if (consort_get_worker(rt, i, &w) < 0) return false;
    teller.tell(line_of(Unit{w.id, w.name, w.klass, w.arch ? w.arch : "", w.space, w.numa, w.os_cpu}));
  }
  for (uint32_t from = 0; from < info.nspaces; ++from)
    for (uint32_t to = 0; to < info.nspaces; ++to) {
      consort_link_info l = {};
      l.size = sizeof l;
      const consort_status status = from == to ? CONSORT_AGAIN : consort_get_link(rt, from, to, &l);
      if (status < 0) return false;
      if (status == CONSORT_OK)
        teller.tell(line_of(Link{from, to, l.driver, l.bytes_per_s, l.latency_ns, l.flags, l.source != CONSORT_LINK_TOLD}));
    }
  return true;
}

// In the child.
void look(const Teller &teller, consort_settings s) {
  s.log_user = const_cast<Teller *>(&teller);
  s.log = [](void *user, int32_t level, const char *text) {
    static_cast<const Teller *>(user)->tell(line_of(LogLine{level, text}));
  };
  consort_settings quiet = s;
  quiet.log = [](void *, int32_t, const char *) {};
  consort_runtime *rt = nullptr;
  bool good = consort_start(&s, &rt) >= 0;
  if (good) good = tell_things(teller, rt);
  if (!good) teller.tell(error_line(consort_error()));
  if (rt && consort_stop(rt) < 0 && good) teller.tell(error_line(consort_error()));
  (void)consort_list_config(&quiet, [](void *user, const consort_config_row *r) {
    if (std::string_view(r->key) == "cpu.topology") static_cast<const Teller *>(user)->tell(topology_line(r->value));
  }, const_cast<Teller *>(&teller));
}

// Finds the driver that ends the process when a runtime starts with it alone.
std::string find_culprit(Settings &settings, const std::vector<consort_setting> &extra, Examination &examination, double seconds) {
  consort_settings s;
  if (!settings.resolve(&s, extra)) return {};
  if (!settings.loud) s.log = [](void *, int32_t, const char *) {};
  std::vector<std::string> drivers;
  (void)consort_list_plugins(&s, 0, [](void *user, const consort_plugin_row *r) {
    if (r->usable && r->kind == CONSORT_KIND_DRIVER) static_cast<std::vector<std::string> *>(user)->push_back(r->name);
  }, &drivers);
  for (const std::string &name : drivers) {
    std::vector<consort_setting> alone = extra;
    alone.push_back({"drivers", name.c_str()});
    if (!settings.resolve(&s, alone)) return {};
    examination.admit_for(&s);
    if (!ask_apart(seconds, [&](const Teller &teller) { look(teller, s); }).ending.empty()) return name;
  }
  return {};
}

}  // namespace

std::vector<std::string> space_flags(uint32_t flags) {
  std::vector<std::string> all;
  if (flags & CONSORT_SP_CPU) all.push_back("load/store");
  if (flags & CONSORT_SP_OPAQUE) all.push_back("copies only");
  if (flags & CONSORT_SP_PERSISTENT) all.push_back("persistent");
  if (flags & CONSORT_SP_COHERENT) all.push_back("coherent");
  return all;
}

std::vector<std::string> link_flags(uint32_t flags) {
  std::vector<std::string> all;
  if (flags & CONSORT_LK_LOADSTORE) all.push_back("in place");
  if (flags & CONSORT_LK_2D) all.push_back("2D");
  if (flags & CONSORT_LK_3D) all.push_back("3D");
  if (flags & CONSORT_LK_MANY) all.push_back("many");
  if (flags & CONSORT_LK_ASYNC) all.push_back("async");
  return all;
}

Inventory take_inventory(Settings &settings, Examination &examination, std::vector<consort_setting> extra, double seconds) {
  extra.insert(extra.begin(), {{"pump", "manual"}, {"core_conflict", "share"}});
  consort_settings s;
  if (!settings.resolve(&s, extra)) {
    Inventory none;
    none.error = "the settings are invalid";
    return none;
  }
  examination.admit_for(&s);
  const Told told = ask_apart(seconds, [&](const Teller &teller) { look(teller, s); });
  Inventory all = inventory_of(told.text);
  if (told.returned || told.ending.empty()) return all;
  all.ending = told.ending;
  all.culprit = find_culprit(settings, extra, examination, seconds);
  all.error = (all.culprit.empty() ? "a plugin " : "driver \"" + all.culprit + "\" ") + told.ending + " when a runtime starts; " +
              (all.culprit.empty() ? "drivers = \"cpu\" leaves all others out" : "drivers = \"^" + all.culprit + "\" leaves it out");
  return all;
}

Json json_of(const Inventory &all) {
  Json j = {{"spaces", Json::array()}, {"units", Json::array()}, {"links", Json::array()}};
  for (const Space &s : all.spaces) j["spaces"].push_back(json_of(s));
  for (const Unit &u : all.units) j["units"].push_back(json_of(u));
  for (const Link &l : all.links) j["links"].push_back(json_of(l));
  return j;
}

}  // namespace tool
