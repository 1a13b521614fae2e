#include "machine.hpp"

#include <consort/shared/plain_file.hpp>

#include <algorithm>
#include <cmath>

#include "machine_file.hpp"

namespace sim {
namespace {

struct Bus {
  std::string name;
  uint32_t down, up;
};  // to devices, from devices; the same wire if shared

class Reader {
 public:
  explicit Reader(const consort_host *host) : host_(host) {}
  Machine read();

 private:
  std::string text(const char *key) const {
    const char *v = host_->param(host_, key);
    return v ? v : "";
  }
  static std::string where(const char *key) { return std::string("sim: ") + key; }
  uint32_t wire(double bytes_per_s) {
    machine_.wires.push_back(bytes_per_s / 1e9);
    return static_cast<uint32_t>(machine_.wires.size() - 1);
  }
  void make_serial(uint32_t number) {
    machine_.serial.resize(std::max<size_t>(machine_.serial.size(), number + 1));
    machine_.serial[number] = true;
  }
  void connect(int from, int to, double bytes_per_s, uint64_t latency_ns, bool duplex, const Bus *bus);
  void add_path(int from, int to, double bytes_per_s, uint64_t latency_ns, uint32_t own, const Bus *bus);
  const Bus *bus_of(const std::string &where, const std::string &name) const;
  int end_of(const Table::Entry &) const;
  void from_parameters();
  void from_file(const std::string &file);
  void device(const Table &);
  void bus(const Table &);
  void link(const Table &);
  void times(const Table &);
  void named_wire(const Table &);
  void route(const Table &);
  void overheads(const Table &);
  void pick_kernels(const std::string &set);
  void fault(const std::string &word);

  struct Reach {
    double bytes_per_s;
    uint64_t latency_ns;
  };  // of a device, to the host
  const consort_host *host_;
  Machine machine_;
  DeviceSpec usual_;
  Reach usual_reach_{};
  std::vector<Reach> reach_;
  std::vector<Bus> buses_;
  struct Wire {
    uint32_t number;
    uint64_t latency_ns;
  };
  std::map<std::string, Wire> wires_;  // named wires
  std::vector<KernelTable> kernels_;
  bool duplex_ = true;
};

constexpr size_t kMostDevices = 64;

// Zero times and bandwidths would cause divisions by zero.
double positive(const std::string &where, double x) {
  if (x <= 0) throw Bad{where + " must be more than 0"};
  return x;
}

void Reader::add_path(int from, int to, double bytes_per_s, uint64_t latency_ns, uint32_t own, const Bus *bus) {
  Path p{bytes_per_s, latency_ns, {own}};
  if (bus) {
    if (from != kHost) p.wires.push_back(bus->up);
    if (to != kHost && (from == kHost || bus->down != bus->up)) p.wires.push_back(bus->down);
  }
  for (uint32_t w : p.wires) p.bytes_per_s = std::min(p.bytes_per_s, machine_.wires[w] * 1e9);
  machine_.paths[{from, to}] = std::move(p);
}

void Reader::connect(int from, int to, double bytes_per_s, uint64_t latency_ns, bool duplex, const Bus *bus) {
  const uint32_t there = wire(bytes_per_s), back = duplex ? wire(bytes_per_s) : there;
  add_path(from, to, bytes_per_s, latency_ns, there, bus);
  add_path(to, from, bytes_per_s, latency_ns, back, bus);
}

const Bus *Reader::bus_of(const std::string &where, const std::string &name) const {
  for (const Bus &b : buses_)
    if (b.name == name) return &b;
  throw Bad{where + " = \"" + name + "\": no [[bus]] above it has that name"};
}

int Reader::end_of(const Table::Entry &e) const {
  if (e.value == "host") return kHost;
  for (size_t i = 0; i < machine_.devices.size(); ++i)
    if (machine_.devices[i].name == e.value && !machine_.devices[i].host) return static_cast<int>(i);
  throw Bad{e.where + " = \"" + e.value + "\": neither \"host\" nor the name of a [[device]] above it"};
}

void Reader::device(const Table &t) {
  DeviceSpec d = usual_;
  Reach reach = usual_reach_;
  d.name.clear();
  double count = 1;
  for (const Table::Entry &e : t.entries) {
    if (e.key == "name")
      d.name = e.value;
    else if (e.key == "class")
      d.klass = e.value;
    else if (e.key == "runs")
      d.runs = e.value;
    else if (e.key == "host")
      d.host = read_flag(e.where, e.value);
    else if (e.key == "memory")
      d.memory = read_bytes(e.where, e.value);
    else if (e.key == "bandwidth")
      reach.bytes_per_s = positive(e.where, read_rate(e.where, e.value));
    else if (e.key == "latency")
      reach.latency_ns = read_time(e.where, e.value);
    else if (e.key == "delay")
      d.delay_ns = read_time(e.where, e.value);
    else if (e.key == "speed")
      d.speed = positive(e.where, read_number(e.where, e.value));
    else if (e.key == "slow")
      d.slow = positive(e.where, read_number(e.where, e.value));
    else if (e.key == "parallel") {
      d.parallel = read_number(e.where, e.value);
      if (!(d.parallel >= 0 && d.parallel <= 1)) throw Bad{e.where + " = " + e.value + " is not from 0 to 1"};
    } else if (e.key == "units" || e.key == "depth" || e.key == "count" || e.key == "sockets") {
      const double n = read_number(e.where, e.value);
      if (n < (e.key == "units" ? 0 : 1) || n > 65536 || n != static_cast<uint32_t>(n))
        throw Bad{e.where + " = " + e.value + " is not from 1 to 65536"};
      if (e.key == "count")
        count = n;
      else
        (e.key == "units" ? d.units : e.key == "depth" ? d.depth : d.sockets) = static_cast<uint32_t>(n);
    } else {
      throw Bad{e.where +
                ": a device has name, class, runs, host, units, memory, bandwidth, latency, delay, speed, slow, depth, "
                "count, sockets, parallel"};
    }
  }
  if (d.klass.empty()) throw Bad{t.where + ": a device needs a class"};
  if (d.memory == 0) throw Bad{t.where + ": a device needs memory"};
  if (d.sockets && d.units % d.sockets)
    throw Bad{t.where + ": " + std::to_string(d.units) + " units cannot be divided into " + std::to_string(d.sockets) + " equal sockets"};
  const std::string base = d.name;
  for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
    d.name = !base.empty() ? base + (count > 1 ? std::to_string(i) : "")
             : d.host      ? "host"
                           : "sim" + std::to_string(machine_.devices.size());
    if (machine_.devices.size() == kMostDevices) throw Bad{t.where + ": there are more than 64 devices"};
    for (const DeviceSpec &other : machine_.devices)
      if (other.name == d.name) throw Bad{t.where + ": there are two devices of the name \"" + d.name + "\""};
    d.arch = "sim/" + d.klass;
    machine_.devices.push_back(d);
    reach_.push_back(reach);
  }
}

void Reader::bus(const Table &t) {
  std::string name;
  double rate = 0;
  bool duplex = duplex_;
  for (const Table::Entry &e : t.entries) {
    if (e.key == "name")
      name = e.value;
    else if (e.key == "bandwidth")
      rate = positive(e.where, read_rate(e.where, e.value));
    else if (e.key == "duplex")
      duplex = read_flag(e.where, e.value);
    else
      throw Bad{e.where + ": a bus has name, bandwidth, duplex"};
  }
  if (name.empty() || rate == 0) throw Bad{t.where + ": a bus needs a name and a bandwidth"};
  const uint32_t down = wire(rate);
  buses_.push_back({name, down, duplex ? wire(rate) : down});
}

void Reader::link(const Table &t) {
  int from = -2, to = -2;
  Reach reach = usual_reach_;
  bool duplex = duplex_, both = true, serial = false;
  const Bus *bus = nullptr;
  for (const Table::Entry &e : t.entries) {
    if (e.key == "from")
      from = end_of(e);
    else if (e.key == "to")
      to = end_of(e);
    else if (e.key == "bandwidth")
      reach.bytes_per_s = positive(e.where, read_rate(e.where, e.value));
    else if (e.key == "latency")
      reach.latency_ns = read_time(e.where, e.value);
    else if (e.key == "duplex")
      duplex = read_flag(e.where, e.value);
    else if (e.key == "both")
      both = read_flag(e.where, e.value);
    else if (e.key == "bus")
      bus = bus_of(e.where, e.value);
    else if (e.key == "serial")
      serial = read_flag(e.where, e.value);
    else
      throw Bad{e.where + ": a link has from, to, bandwidth, latency, bus, duplex, both, serial"};
  }
  if (from == -2 || to == -2 || from == to) throw Bad{t.where + ": a link needs from and to, two ends that differ"};
  const auto first = static_cast<uint32_t>(machine_.wires.size());
  if (both)
    connect(from, to, reach.bytes_per_s, reach.latency_ns, duplex && !serial, bus);
  else
    add_path(from, to, reach.bytes_per_s, reach.latency_ns, wire(reach.bytes_per_s), bus);
  for (uint32_t w = first; serial && w < machine_.wires.size(); ++w) make_serial(w);
}

void Reader::times(const Table &t) {
  for (const Table::Entry &e : t.entries) machine_.times[e.key] = read_time(e.where, e.value);
}

void Reader::named_wire(const Table &t) {
  std::string name;
  bool serial = false;
  double rate = 0;
  uint64_t latency = 0;
  for (const Table::Entry &e : t.entries) {
    if (e.key == "name")
      name = e.value;
    else if (e.key == "bandwidth")
      rate = positive(e.where, read_rate(e.where, e.value));
    else if (e.key == "latency")
      latency = read_time(e.where, e.value);
    else if (e.key == "serial")
      serial = read_flag(e.where, e.value);
    else
      throw Bad{e.where + ": a wire has name, bandwidth, latency, serial"};
  }
  if (name.empty() || rate == 0 || name.find(',') != std::string::npos)
    throw Bad{t.where + ": a wire needs a name, without a comma in it, and a bandwidth"};
  if (!wires_.emplace(name, Wire{wire(rate), latency}).second)
    throw Bad{t.where + ": there are two wires of the name \"" + name + "\""};
  if (serial) make_serial(wires_.at(name).number);
}

// Its wires in order; their latencies add up, unless the route has its own.
void Reader::route(const Table &t) {
  int from = -2, to = -2;
  Path p;
  const Table::Entry *latency = nullptr;
  for (const Table::Entry &e : t.entries) {
    if (e.key == "from")
      from = end_of(e);
    else if (e.key == "to")
      to = end_of(e);
    else if (e.key == "latency")
      latency = &e;
    else if (e.key == "wires")
      for (const std::string &name : split(e.value, ',')) {
        const auto it = wires_.find(name);
        if (it == wires_.end()) throw Bad{e.where + ": no [[wire]] has the name \"" + name + "\""};
        p.wires.push_back(it->second.number);
        p.latency_ns += it->second.latency_ns;
      }
    else
      throw Bad{e.where + ": a route has from, to, wires, latency"};
  }
  if (from == -2 || to == -2 || from == to) throw Bad{t.where + ": a route needs from and to, two ends that differ"};
  if (p.wires.empty()) throw Bad{t.where + ": a route needs wires, names with commas between"};
  if (latency) p.latency_ns = read_time(latency->where, latency->value);
  p.bytes_per_s = INFINITY;
  for (uint32_t w : p.wires)
    p.bytes_per_s = std::min(p.bytes_per_s, machine_.wires[w] * 1e9 /
                                                static_cast<double>(std::count(p.wires.begin(), p.wires.end(), w)));
  machine_.paths[{from, to}] = std::move(p);
}

void Reader::overheads(const Table &t) {
  Overheads &o = machine_.overheads;
  const std::pair<const char *, uint64_t *> known[] = {{"launch", &o.launch}, {"copy", &o.copy},   {"task", &o.task},
                                                       {"fetch", &o.fetch},   {"alloc", &o.alloc}, {"block", &o.block},
                                                       {"free", &o.free},     {"submit", &o.submit}, {"drop", &o.drop}};
  for (const Table::Entry &e : t.entries) {
    const auto it = std::find_if(std::begin(known), std::end(known), [&](const auto &k) { return e.key == k.first; });
    if (it == std::end(known)) throw Bad{e.where + ": overheads are launch, copy, task, fetch, alloc, block, free, submit, drop"};
    *it->second = read_time(e.where, e.value);
    if (*it->second > 1'000'000'000) throw Bad{e.where + " = \"" + e.value + "\" is more than a second"};
  }
}

// Tables of a device precede those of its class, and these precede tables for all.
void Reader::pick_kernels(const std::string &set) {
  std::string sets;
  bool found = set.empty();
  for (const KernelTable &k : kernels_) {
    if (!k.set.empty() && sets.find("\"" + k.set + "\"") == std::string::npos)
      sets += (sets.empty() ? "\"" : ", \"") + k.set + "\"";
    found |= k.set == set;
    const auto is_meant = [&](const DeviceSpec &d) {
      return k.device.empty() ? k.klass.empty() || d.klass == k.klass : d.name == k.device;
    };
    if (std::none_of(machine_.devices.begin(), machine_.devices.end(), is_meant))
      throw Bad{k.where + ": kernel \"" + k.codelet + "\" is of " +
                (k.device.empty() ? "class \"" + k.klass : "device \"" + k.device) + "\", which does not exist"};
  }
  if (!found)
    throw Bad{where("kernels") + " = \"" + set + "\": no [[kernel]] has that set; sets: " +
              (sets.empty() ? "none" : sets)};
  for (int rank = 0; rank < 3; ++rank)  // of a device, of a class, of all
    for (const KernelTable &k : kernels_) {
      if ((k.device.empty() ? k.klass.empty() ? 2 : 1 : 0) != rank) continue;
      if (!set.empty() && !k.set.empty() && k.set != set) continue;
      for (DeviceSpec &d : machine_.devices)
        if (rank == 2 || (rank == 0 ? d.name == k.device : d.klass == k.klass))
          (k.team > 1 ? d.team_kernels[k.team] : d.kernels).emplace(k.codelet, k.curve);
    }
}

// KIND@WHEN or KIND%CHANCE, with an optional suffix /DEVICE; default: each device.
void Reader::fault(const std::string &word) {
  const std::string at = where("faults: ") + "\"" + word + "\"";
  const auto wrong = [&](const std::string &why) {
    return Bad{at + ": " + why + "; write oom@3, copy%0.01, kernel@5/1, lost@100, lost@20ms/0 or slow@8/1"};
  };
  const size_t slash = word.find('/'), sign = word.find_first_of("@%");
  if (sign == std::string::npos || (slash != std::string::npos && slash < sign)) throw wrong("no @ or % in it");
  const std::string kind = word.substr(0, sign),
                    value = word.substr(sign + 1, slash == std::string::npos ? slash : slash - sign - 1);
  Fault f{};
  f.device = -1;
  if (slash != std::string::npos) {
    const double n = read_number(at, word.substr(slash + 1));
    if (n >= static_cast<double>(machine_.devices.size()) || n != static_cast<int>(n))
      throw wrong("there is no device " + word.substr(slash + 1) + ", numbered from 0");
    f.device = static_cast<int>(n);
  }
  if (kind == "slow" && word[sign] == '@') {
    for (size_t i = 0; i < machine_.devices.size(); ++i)
      if (f.device < 0 || f.device == static_cast<int>(i))
        machine_.devices[i].slow = positive(at, read_number(at, value));
    return;
  }
  if (kind == "oom")
    f.kind = Fault::kMemory;
  else if (kind == "copy")
    f.kind = Fault::kCopy;
  else if (kind == "kernel")
    f.kind = Fault::kKernel;
  else if (kind == "lost")
    f.kind = Fault::kLost;
  else
    throw wrong("\"" + kind + "\" is not one of oom, copy, kernel, lost, slow");
  if (word[sign] == '%') {
    f.chance = read_number(at, value);
    if (f.chance > 1) throw wrong("a chance is 1 at most");
  } else if (f.kind == Fault::kLost && value.find_first_not_of("0123456789") != std::string::npos) {
    f.at_ns = read_time(at, value);
    if (f.at_ns == 0) throw wrong("a time of 0 is before the start");
  } else {
    const double n = read_number(at, value);
    if (n < 1 || n > 1e18 || n != std::floor(n)) throw wrong("counts start from 1");
    f.nth = static_cast<uint64_t>(n);
  }
  machine_.faults.push_back(f);
}

void Reader::from_parameters() {
  const double n = read_number(where("devices"), text("devices"));
  Table t{"device", where("devices"), {}};
  for (uint32_t i = 0; i < static_cast<uint32_t>(n); ++i) device(t);
}

std::string text_of(const std::string &file) {
  constexpr uint64_t kMost = 64 << 20;
  std::string text, why;
  if (!consort::shared::read_file(file, kMost, &text, &why))
    throw Bad{"sim: machine = \"" + file + "\" " + why + "; give the path of a file with [[device]] tables"};
  return text;
}

void Reader::from_file(const std::string &file) {
  const auto tables = read_tables(file, text_of(file));
  for (const Table &t : tables) {  // devices and buses first, because links name them
    if (t.name == "device")
      device(t);
    else if (t.name == "bus")
      bus(t);
    else if (t.name == "times")
      times(t);
    else if (t.name == "wire")
      named_wire(t);
    else if (t.name == "overheads")
      overheads(t);
    else if (t.name == "kernel")
      kernels_.push_back(KernelTable::read(t));
    else if (t.name != "link" && t.name != "route" && t.name != "network" && t.name != "switch")  // the last two: between ranks
      throw Bad{t.where + ": [" + t.name + "] is not one of device, bus, wire, link, route, times, kernel, overheads, network, switch"};
  }
}

Machine Reader::read() {
  Machine &m = machine_;
  m.virtual_time = text("time") == "virtual";
  m.execute = read_flag(where("execute"), text("execute"));
  m.move = read_flag(where("move"), text("move"));
  m.link_noise = read_number(where("link_noise"), text("link_noise"));
  m.seed = std::strtoull(text("seed").c_str(), nullptr, 10);
  m.noise = read_number(where("noise"), text("noise"));
  m.rate = read_rate(where("rate"), text("rate"));
  m.usual_ns = read_time(where("usual"), text("usual"));
  m.trace = text("trace");
  m.report = text("report");
  duplex_ = read_flag(where("duplex"), text("duplex"));
  usual_.klass = text("class");
  usual_.runs = text("runs");
  usual_.units = static_cast<uint32_t>(read_number(where("units"), text("units")));
  usual_.depth = static_cast<uint32_t>(read_number(where("depth"), text("depth")));
  usual_.memory = read_bytes(where("memory"), text("memory"));
  usual_.speed = positive(where("speed"), read_number(where("speed"), text("speed")));
  usual_.delay_ns = read_time(where("delay"), text("delay"));
  usual_reach_ = {positive(where("bandwidth"), read_rate(where("bandwidth"), text("bandwidth"))),
                  read_time(where("latency"), text("latency"))};
  const double inner = positive(where("inner"), read_rate(where("inner"), text("inner")));
  const double bus_rate = read_rate(where("bus"), text("bus")), peer = read_rate(where("peer"), text("peer"));
  for (const std::string &word : split(text("times"), ',')) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Bad{where("times: ") + "\"" + word + "\": write CODELET=200us"};
    m.times[word.substr(0, equals)] = read_time(where("times: ") + word.substr(0, equals), word.substr(equals + 1));
  }

  const std::string file = text("machine");
  if (file.empty())
    from_parameters();
  else
    from_file(file);
  if (const double cores = read_number(where("cores"), text("cores")); cores > 0) {
    Table t{"device", where("cores"), {}};
    t.entries = {{"host", "true", t.where},
                 {"class", "cpu", t.where},
                 {"memory", text("host_memory"), where("host_memory")},
                 {"units", std::to_string(static_cast<uint32_t>(cores)), t.where},
                 {"depth", "1", t.where},
                 {"delay", "0", t.where},
                 {"speed", "1", t.where}};
    device(t);
  }
  if (std::count_if(m.devices.begin(), m.devices.end(), [](const DeviceSpec &d) { return d.host; }) > 1)
    throw Bad{"sim: there are two hosts: omit cores = " + text("cores") +
              " or one of the devices with host = true"};

  // Default links; [[link]] tables replace them.
  Bus all{"", 0, 0};
  if (bus_rate > 0) {
    all.down = wire(bus_rate);
    all.up = duplex_ ? wire(bus_rate) : all.down;
  }
  m.paths[{kHost, kHost}] = {inner, 0, {wire(inner)}};
  for (size_t i = 0; i < m.devices.size(); ++i) {
    if (m.devices[i].host) continue;
    const int d = static_cast<int>(i);
    m.paths[{d, d}] = {inner, 0, {wire(inner)}};
    connect(kHost, d, reach_[i].bytes_per_s, reach_[i].latency_ns, duplex_, bus_rate > 0 ? &all : nullptr);
    for (int other = 0; peer > 0 && other < d; ++other)
      if (!m.devices[static_cast<size_t>(other)].host) connect(other, d, peer, reach_[i].latency_ns, duplex_, nullptr);
  }
  if (!file.empty()) {
    for (const Table &t : read_tables(file, text_of(file)))
      if (t.name == "link")
        link(t);
      else if (t.name == "route")
        route(t);
  }
  pick_kernels(text("kernels"));
  for (const std::string &word : split(text("faults"), ',')) fault(word);
  return std::move(m);
}

}  // namespace

Machine Machine::read(const consort_host *host) { return Reader(host).read(); }

// The shared wire with the least bandwidth per route.
int Machine::bus_of(const Path &of) const noexcept {
  int found = -1;
  double least = INFINITY;
  for (const uint32_t w : of.wires) {
    const auto ways = std::count_if(paths.begin(), paths.end(), [&](const auto &p) {
      return std::find(p.second.wires.begin(), p.second.wires.end(), w) != p.second.wires.end();
    });
    const double share = wires[w] / static_cast<double>(ways);
    if (ways > 1 && share < least) found = static_cast<int>(w), least = share;
  }
  return found;
}

const Path *Machine::path(int from, int to) const noexcept {
  const auto it = paths.find({from, to});
  return it == paths.end() ? nullptr : &it->second;
}

}  // namespace sim
