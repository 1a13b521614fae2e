// simnet.hpp — one rank of a simulated job: what it posts leaves at its next advance(), what comes is there after it.
//
// The job's domain is in the process of rank 0 (meeting.hpp). Other ranks of that process call it, ranks of other processes
// reach it by a socket of that machine (server.hpp). Contents are copied when they are posted. post(), poll() and
// advance() are called by one thread at a time.
#pragma once
#include <consort/plugin/transport.hpp>

#include <memory>
#include <unordered_map>

#include "client.hpp"
#include "meeting.hpp"
#include "server.hpp"

namespace simnet {

using namespace consort::plugin;

class Simnet : public Transport {
 public:
  static constexpr const char *summary = "a simulated network between ranks that share one virtual clock", *license = "Apache-2.0";
  static constexpr Param<std::string> machine{"machine", "", nullptr, "file with the tables [network] and [[switch]]"};
  static constexpr Param<bool> move{"move", "true", nullptr, "false: contents of more than 4096 bytes only take time"};
  static constexpr Param<std::string> report{"report", "", nullptr, "file to which totals of the network are appended at the end"};
  static constexpr auto params = parameters(machine, move, report);
  struct Settings {
    explicit Settings(Host host) : machine(host.value(Simnet::machine)), report(host.value(Simnet::report)), move(host.value(Simnet::move)) {}
    std::string machine, report;
    bool move;
  };

  Simnet(const Settings &, Host, const consort_boot &, uint64_t token, consort_tcaps &);
  ~Simnet();
  uint32_t address(std::span<std::byte> room) noexcept;
  void connect(uint32_t rank, std::span<const std::byte> address);
  void disconnect(uint32_t rank) noexcept;
  uint32_t post(Messages) noexcept;
  uint32_t poll(std::span<consort_done>) noexcept;
  uint64_t next_event() noexcept;
  uint64_t advance(uint64_t until) noexcept;

 private:
  struct Address {
    char magic[4];
    uint32_t version, rank, reserved;
    uint64_t job, sim_domain, number;      // job: a hash of its name; number: of the meeting, of rank 0
    char socket[32];                       // of rank 0
  };
  void take(const consort_msg &);
  void cancel(uint64_t cookie);
  void fail(const consort_msg &, consort_status);
  void lose_all() noexcept;
  Grant wait(uint64_t now, uint64_t until);

  const consort_boot &boot_;              // lent
  const uint32_t rank_;
  const uint64_t token_;
  const bool moves_;
  std::shared_ptr<Meeting> meeting_;      // in this process
  std::unique_ptr<Server> server_;        // of rank 0
  std::unique_ptr<Client> client_;        // to another process
  bool is_alone_ = false;                 // the domain is lost
  std::vector<bool> up_;                  // by rank
  std::vector<uint32_t> to_tell_;         // peers that are up, to be told by poll()
  std::unordered_map<uint64_t, consort_msg> ops_;  // in flight
  uint64_t last_op_ = 0;
  std::vector<Post> posts_;               // since the last advance()
  std::vector<Report> reports_;           // to be told by poll()
  size_t told_ = 0;                       // of reports_
};

}  // namespace simnet
