// machine.cpp — `consort machine import`: converts a platform of a JSON file of measured ones to a file for the driver sim.
//
// The JSON has "platforms": by name, each with kernels (application, tile, kernel, device: mean_us), links and routes
// (or matrices bandwidth_MBps and latency_us, index 0 the host), gpu_mem_bytes, and the number of workers by kind;
// and "overheads_us" of all. Errors name their position. Runs nothing.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <cstdlib>
#include <stdexcept>

#include "commands.hpp"
#include "json.hpp"
#include "plain_file.hpp"

namespace tool {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string &where, const std::string &what) {
  throw std::runtime_error(where + ": " + what);
}

constexpr double kMostAccelerators = 63, kMostCores = 65536;  // limits of one machine of the driver sim

// A value and its position.
struct Node {
  const json &value;
  std::string where;

  bool has(const std::string &key) const { return value.is_object() && value.contains(key); }
  Node operator[](const std::string &key) const {
    if (!value.is_object()) refuse(where, "is not an object");
    if (!value.contains(key)) refuse(where, "has no \"" + key + "\"");
    return {value[key], where + "." + key};
  }
  Node operator[](size_t i) const {
    if (!value.is_array() || i >= value.size()) refuse(where, "has no element " + std::to_string(i));
    return {value[i], where + "[" + std::to_string(i) + "]"};
  }
  template <class F> void each(F f) const {
    if (!value.is_object()) refuse(where, "is not an object");
    for (const auto &[key, v] : value.items()) f(key, Node{v, where + "." + key});
  }
  // Refuses keys that are not in `known`, by name. Keys that begin with _ are notes.
  void only(const std::vector<std::string> &known) const {
    each([&](const std::string &key, const Node &) {
      if (key.starts_with('_') || std::find(known.begin(), known.end(), key) != known.end()) return;
      refuse(where, "has an unknown key \"" + key + "\"" + did_you_mean(key, known));
    });
  }
  double number(double least) const {
    if (!value.is_number()) refuse(where, "is not a number");
    const double x = value.get<double>();
    if (!std::isfinite(x) || x < least) refuse(where, value.dump() + " is too small");
    return x;
  }
  double positive() const {
    const double x = number(0);
    if (x <= 0) refuse(where, "must be more than 0");
    return x;
  }
  uint64_t count(uint64_t least, double most = 1e18) const {
    const double x = number(static_cast<double>(least));
    if (x != std::floor(x) || x > 1e18) refuse(where, value.dump() + " is not a whole number");
    if (x > most) refuse(where, value.dump() + " is more than the driver supports");
    return static_cast<uint64_t>(x);
  }
  std::string text() const {
    if (!value.is_string()) refuse(where, "is not a string");
    return value.get<std::string>();
  }
};

// Checks a name for use in the file: between quotes, in lists with commas.
std::string name_of(const std::string &where, const std::string &name) {
  if (name.empty() || name.find_first_of("\",\n\\") != std::string::npos || std::isspace(static_cast<unsigned char>(name.front())) ||
      std::isspace(static_cast<unsigned char>(name.back())))
    refuse(where, "a name must not contain a quote, a comma or a backslash, nor start or end with a blank, nor be empty");
  return name;
}

std::string printed(const char *format, double x) {
  char text[64];
  std::snprintf(text, sizeof text, format, x);
  return text;
}
std::string in_quotes(const std::string &s) { return "\"" + s + "\""; }
std::string us(double x) { return in_quotes(printed("%.10g", x) + "us"); }
// A time in microseconds within the driver's limits. unit: microseconds per unit of the file.
std::string time_of(const Node &n, double unit, double least = 0, double most = 1e15) {
  const double x = n.number(0) * unit;
  if (least > 0) n.positive();
  if (!(x >= least && x <= most)) refuse(n.where, n.value.dump() + " is not from " + printed("%g", least) + " to " + printed("%g", most) + " us");
  return us(x);
}
std::string lower(std::string s) {
  for (char &c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

class Import {
 public:
  Import(const Node &root, const Node &platform, const std::string &name, std::map<std::string, int> operands)
      : root_(root), p_(platform), name_(name), operands_(std::move(operands)) {}
  std::string text();

 private:
  void line(const std::string &key, const std::string &value) { out_ += key + " = " + value + "\n"; }
  void overheads();
  void devices();
  void routes();
  void matrices();
  void kernels();
  std::string end_name(const Node &, const std::string &) const;  // "RAM" → host, "CUDA0" → cuda0

  const Node &root_, &p_;
  const std::string name_;
  std::map<std::string, int> operands_;
  std::vector<std::string> accelerators_;  // names in the output file
  std::string out_;
};

// Host overheads. Memory is allocated as one slab per device; pinning costs nothing.
void Import::overheads() {
  if (!root_.has("overheads_us")) return;
  const Node o = root_["overheads_us"];
  const auto given = [&](const char *key) { return o.has(key) ? time_of(o[key], 1, 0, 1e6) : us(0); };
  std::string accelerator = "cuda";
  o.each([&](const std::string &key, const Node &) {
    if (const size_t at = key.find("_task_queue"); at != std::string::npos) accelerator = key.substr(0, at);
  });
  o.only({"task_submit", "task_push", "fetch_input_per_buffer", accelerator + "_task_queue", accelerator + "_transfer_queue",
          accelerator + "_malloc", accelerator + "_free", "host_pinned_malloc_per_MiB"});  // the last two are not charged
  out_ += "[overheads]\n";
  line("submit", given("task_submit"));
  line("task", given("task_push"));
  line("fetch", given("fetch_input_per_buffer"));
  line("launch", given((accelerator + "_task_queue").c_str()));
  line("copy", given((accelerator + "_transfer_queue").c_str()));
  line("alloc", given((accelerator + "_malloc").c_str()));
}

void Import::devices() {
  const bool told = p_.has("starpu_workers");
  uint64_t accelerators = 0;
  std::string klass = "cuda";
  if (told) {
    p_["starpu_workers"].each([&](const std::string &key, const Node &n) {
      if (key == "cpu") return;
      if (accelerators) refuse(n.where, "a second kind of accelerator is not supported");
      klass = name_of(n.where, key);
      accelerators = n.count(1, kMostAccelerators);
    });
  } else {
    accelerators = p_["ngpus"].count(0, kMostAccelerators);
    if (p_["ncores"].count(1, kMostCores) <= accelerators) refuse(p_.where + ".ncores", "must exceed ngpus, because each accelerator needs a core");
  }
  if (told && p_.has("ngpus") && p_["ngpus"].count(0) != accelerators)
    refuse(p_.where + ".ngpus", "is " + p_["ngpus"].value.dump() + ", but starpu_workers has " + std::to_string(accelerators));
  const uint64_t cores = told ? p_["starpu_workers"]["cpu"].count(0, kMostCores) : p_["ncores"].count(1) - accelerators;
  out_ += "\n# cores that drive no accelerator; their memory is not given\n[[device]]\n";
  line("name", in_quotes("cpu"));
  line("host", "true");
  line("class", in_quotes("cpu"));
  line("units", std::to_string(cores));
  line("depth", "1");
  line("memory", in_quotes("1T"));
  for (uint64_t i = 0; i < accelerators; ++i) {
    accelerators_.push_back(klass + std::to_string(i));
    out_ += "\n[[device]]\n";
    line("name", in_quotes(accelerators_.back()));
    line("class", in_quotes(klass));
    line("units", "1");
    line("depth", "2");
    line("memory", std::to_string(p_["gpu_mem_bytes"].count(1)));
  }
}

std::string Import::end_name(const Node &at, const std::string &name) const {
  if (name == "RAM") return "host";
  for (const std::string &a : accelerators_)
    if (a == lower(name)) return a;
  refuse(at.where, "\"" + name + "\" is neither RAM nor one of the " + std::to_string(accelerators_.size()) + " accelerators");
}

void Import::routes() {
  const Node links = p_["links"];
  links.each([&](const std::string &key, const Node &l) {
    out_ += "\n[[wire]]\n";
    l.only({"bandwidth_Bps", "latency_s"});
    line("name", in_quotes(name_of(l.where, key)));
    line("bandwidth", printed("%.17g", l["bandwidth_Bps"].positive()));
    line("latency", time_of(l["latency_s"], 1e6));
  });
  std::map<std::pair<std::string, std::string>, bool> seen;
  p_["routes"].each([&](const std::string &key, const Node &r) {
    const size_t arrow = key.find("->");
    if (arrow == std::string::npos) refuse(r.where, "a route's name has the form FROM->TO");
    const std::string from = end_name(r, key.substr(0, arrow)), to = end_name(r, key.substr(arrow + 2));
    if (from == to) refuse(r.where, "a route from " + from + " to itself");
    seen[{from, to}] = true;
    std::string wires;
    for (size_t i = 0; i < r.value.size(); ++i) {
      const std::string wire = r[i].text();
      if (!links.has(wire)) refuse(r[i].where, "no link \"" + wire + "\"");
      wires += (wires.empty() ? "" : ", ") + wire;
    }
    if (wires.empty()) refuse(r.where, "has no links");
    out_ += "\n[[route]]\n";
    line("from", in_quotes(from));
    line("to", in_quotes(to));
    line("wires", in_quotes(wires));
  });
  for (const std::string &a : accelerators_)
    for (const auto &[from, to] : {std::pair{std::string("host"), a}, std::pair{a, std::string("host")}})
      if (!seen.contains({from, to})) refuse(p_.where + ".routes", "none from " + from + " to " + to);
}

void Import::matrices() {
  const Node rates = p_["bandwidth_MBps"];
  const auto name = [&](size_t i) { return i == 0 ? "host" : accelerators_[i - 1]; };
  for (size_t from = 0; from <= accelerators_.size(); ++from)
    for (size_t to = 0; to <= accelerators_.size(); ++to) {
      if (from == to) continue;
      const double rate = rates[from][to].number(0);
      if (rate == 0 && from && to) continue;  // goes over the host
      out_ += "\n[[link]]\n";
      line("from", in_quotes(name(from)));
      line("to", in_quotes(name(to)));
      line("bandwidth", printed("%.17g", rates[from][to].positive() * 1e6));
      line("latency", p_.has("latency_us") ? time_of(p_["latency_us"][from][to], 1) : us(0));
      line("both", "false");
    }
}

void Import::kernels() {
  // by set, kernel, device; then by bytes. The tile is added as a comment.
  std::map<std::string, std::map<uint64_t, std::pair<std::string, std::string>>> tables;
  p_["kernels"].each([&](const std::string &set, const Node &tiles) {
    const double element = set.ends_with("_double") ? 8 : 4;
    tiles.each([&](const std::string &tile, const Node &kernels) {
      char *end = nullptr;
      const double nb = std::strtod(tile.c_str(), &end);
      if (*end || !(nb >= 1) || nb > 1e6) refuse(kernels.where, "is not a tile size");
      kernels.each([&](const std::string &kernel, const Node &devices) {
        const auto known = operands_.find(kernel);
        if (known == operands_.end())
          refuse(devices.where, "its number of tiles is unknown; give --operands " + kernel + "=N");
        const auto bytes = static_cast<uint64_t>(element * nb * nb * known->second);
        std::vector<std::string> names{"cpu"};
        names.insert(names.end(), accelerators_.begin(), accelerators_.end());
        std::vector<std::string> keys = names;
        keys.push_back("flops");
        devices.only(keys);
        for (const std::string &d : names) {
          const std::string head = "\n[[kernel]]\nset = " + in_quotes(name_of(tiles.where, set)) +
                                   "\ncodelet = " + in_quotes(name_of(devices.where, kernel)) +
                                   (d == "cpu" ? "\nclass = " : "\ndevice = ") + in_quotes(d) + "\n";
          devices[d].only({"mean_us", "dev_us", "gflops", "n"});
          tables[head][bytes] = {time_of(devices[d]["mean_us"], 1, 1e-3), tile};
        }
      });
    });
  });
  for (const auto &[head, times] : tables) {
    out_ += head;
    for (const auto &[bytes, time] : times) out_ += std::to_string(bytes) + " = " + time.first + "  # " + time.second + "\n";
  }
}

std::string Import::text() {
  root_.only({"overheads_us", "platforms"});
  p_.only({"affinity_cores_by_gpu", "bandwidth_MBps", "cpu", "gpu", "gpu_mem_bytes", "kernels", "latency_us", "links", "ncores",
           "ngpus", "routes", "software", "starpu_workers"});
  out_ = "# " + name_;
  for (const char *key : {"cpu", "gpu", "software"})
    if (p_.has(key)) out_ += "; " + p_[key].text();
  for (char &c : out_)
    if (c == '\n') c = ' ';
  out_ += "\n# A machine for the driver sim: consort sim --machine THIS -- PROGRAM\n\n";
  overheads();
  devices();
  if (p_.has("routes")) routes();
  else matrices();
  kernels();
  return out_;
}

std::map<std::string, int> read_operands(const std::vector<std::string> &given) {
  std::map<std::string, int> operands{{"potrf", 1},   {"trsm", 2},    {"syrk", 2},  {"gemm", 3}, {"getrf", 1},
                                      {"trsm_ll", 2}, {"trsm_ru", 2}, {"trtri", 1}, {"lauum", 1}, {"trmm", 2}};
  for (const std::string &word : given) {
    const size_t equals = word.find('=');
    const int n = equals == std::string::npos ? 0 : std::atoi(word.c_str() + equals + 1);
    if (equals == 0 || n < 1 || n > 1000) throw std::runtime_error("--operands \"" + word + "\" is not of the form KERNEL=N");
    operands[word.substr(0, equals)] = n;
  }
  return operands;
}

}  // namespace

int run_machine_import(const std::string &file, const std::string &name, const std::string &out,
                       const std::vector<std::string> &operands, bool as_json) {
  const std::string text_of_it = read_plain(file);
  json all;
  try {
    all = json::parse(text_of_it);
  } catch (const json::exception &e) {
    throw std::runtime_error(file + " is not JSON: " + e.what());
  }
  const Node root{all, file};
  const Node platforms = root["platforms"];
  std::vector<std::string> names;
  platforms.each([&](const std::string &key, const Node &) { names.push_back(key); });
  if (!platforms.has(name)) {
    std::string list;
    for (const std::string &n : names) list += (list.empty() ? "" : ", ") + n;
    throw std::runtime_error(file + " has no platform \"" + name + "\"" + did_you_mean(name, names) + "; it has: " + list);
  }
  const Node platform = platforms[name];
  const std::string text = Import(root, platform, name, read_operands(operands)).text();
  if (!out.empty()) {
    std::ofstream to(out);
    to << text;
    to.close();
    if (!to) throw std::runtime_error(out + " cannot be written");
  }
  if (as_json) {
    Json told = document("machine import");
    told.update({{"from", file}, {"platform", name}, {"file", out.empty() ? Json() : Json(out)}, {"machine", text}});
    print(told);
  } else if (out.empty()) {
    std::fputs(text.c_str(), stdout);
  }
  return 0;
}

}  // namespace tool
