// library.hpp — one MPI library, behind an interface that is the same for each ABI of MPI.
//
// library.cpp is compiled once for each ABI (Open MPI's, MPICH's), into a file of its own that links that library. The
// plugin loads one of them. Calls come from one thread at a time, and from one thread alone if start() has granted less than
// all threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../packets/fabric.hpp"

namespace mpi {

// A duplicate of a communicator, for one endpoint at a time.
class Channel : public transports::Fabric {
 public:
  // Whether the duplicate is made: all ranks have called open(). Nothing else is called before. Throws.
  virtual bool is_ready() = 0;
  virtual uint32_t rank() const noexcept = 0;
  virtual uint32_t ranks() const noexcept = 0;
  // The value of each rank, of the same length everywhere; all ranks call it. gather() starts it on memory of the channel,
  // which MPI uses until gathered() has returned true and filled `out`. False: it fails.
  virtual bool gather(const void *mine, size_t n) = 0;
  virtual bool gathered(void *out, bool *failed) noexcept = 0;
  virtual bool is_gathering() const noexcept = 0;            // gather() must not be called
};

struct Unfinished {  // transfers that have not ended
  uint32_t receives = 0, sends = 0;
  bool is_none() const noexcept { return !receives && !sends; }
};

class Library {
 public:
  enum class Threads { kOne, kSerial, kAll };  // kOne: the one that has started MPI; kSerial: one at a time
  virtual ~Library() = default;
  virtual std::string version() = 0;
  virtual bool is_started() = 0;
  virtual bool is_over() noexcept = 0;                       // MPI_Finalize was called
  virtual Threads start(Threads wanted) = 0;                 // unless it is started; returns what is granted; throws
  virtual bool is_ours() noexcept = 0;                       // start() has started it
  virtual void finish() noexcept = 0;                        // MPI_Finalize, unless a start-up has not ended
  // The channel over a communicator: MPI_Comm_c2f's number, or none: MPI_COMM_WORLD. All its ranks call it. Throws.
  virtual Channel &open(const int *communicator) = 0;
  // Withdraws what is posted; the channel may be opened again. Returns the transfers that have not ended: MPI may use their memory.
  virtual Unfinished close(Channel &) noexcept = 0;
  virtual void abort() noexcept = 0;                         // ends the job, and this process
};

constexpr const char *kEntry = "consort_mpi_library";
using Entry = Library *();

}  // namespace mpi
