// mpi.hpp — one rank of a job over MPI. ../packets has the messages; library.cpp has the calls of MPI; process.cpp starts it.
//
// The ranks of the job are those of a communicator: MPI_COMM_WORLD, or the one of the program that `communicator` names.
// start_up.cpp is the start-up through MPI, for a program that mpirun or srun has started.
#pragma once
#include "../packets/endpoint.hpp"
#include "../fd.hpp"
#include "process.hpp"

namespace mpi {

using namespace consort::plugin;
using namespace transports;

class Mpi final : public Endpoint {
 public:
  static constexpr const char *summary = "messages between the processes of an MPI job", *license = "Apache-2.0";
  static constexpr Param<uint32_t> depth{"depth", "128", "1..4096", "sends in flight, and as many receives; the same on all ranks"};
  static constexpr Param<uint32_t> unexpected{"unexpected", "64", "1..4096",
                                              "messages of up to 1024 bytes stored for each peer without a matching RECV"};
  static constexpr Param<std::string> library{"library", "auto", "auto|openmpi|mpich",
                                              "ABI of the MPI library; auto: the one that is loaded, else the launcher's"};
  static constexpr Param<std::string> threads{"threads", "auto", "auto|own|serialized",
                                              "own: one thread makes all calls of MPI; serialized: the program makes none "
                                              "meanwhile, and has started MPI with MPI_THREAD_SERIALIZED"};
  static constexpr Param<std::string> communicator{"communicator", "world", nullptr,
                                                   "world, or a number of MPI_Comm_c2f: the ranks of the job"};
  static constexpr auto params = parameters(depth, unexpected, library, threads, communicator);
  struct Settings {
    explicit Settings(Host host);
    Limits limits() const noexcept { return {depth, unexpected}; }
    const int *communicator() const noexcept { return is_world ? nullptr : &number; }
    uint32_t depth, unexpected;
    std::string library, threads;
    bool is_world = true;
    int number = 0;
  };

  // [control] The start-up through MPI; start_up.cpp.
  static consort_boot boot(Host, uint64_t deadline);

  Mpi(const Settings &, Host, const consort_boot &, uint64_t token, consort_tcaps &);
  ~Mpi();
  uint32_t address(std::span<std::byte> room) noexcept;
  void connect(uint32_t rank, std::span<const std::byte> address);

 private:
  static constexpr uint32_t kAddress = Address::kBytes + 16;
  class Use {  // of the channel, by this endpoint alone
   public:
    Use(Process &, Channel &);
    ~Use();

   private:
    Process &process_;
    Channel &channel_;
  };
  // The channel, when all ranks have joined it. Throws, also after the deadline.
  static Channel &join(Process &, const Settings &, Host, uint64_t deadline);
  static Channel &open(Process &, const Settings &, Host, const consort_boot &);
  void close() noexcept;

  void posted() noexcept override { process_.poke(); }
  void look() noexcept override;

  Process &process_;
  Channel &channel_;
  const Use use_;
  std::vector<Fd> peers_;  // of peers on this machine: readable when the process has ended
};

void forget_boot(Host) noexcept;

}  // namespace mpi
