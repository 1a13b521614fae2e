// fabric.hpp — what Endpoint needs of a network: packets of any rank, and bytes of a named rank under a number.
//
// Packets of one rank to another arrive once, in order. Bytes arrive in the receive that was posted for their rank and
// number, one to one in the order of the posts. Calls are under the endpoint's lock, and never block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace transports {

class Fabric {
 public:
  enum class Kind : uint8_t { kPacketIn, kPacketOut, kDataIn, kDataOut };
  struct Request {
    Kind kind;
    uint32_t index;  // of the endpoint, which has one request of each kind and index at a time
  };
  struct Done {
    Request request;
    bool is_good;    // false: failed or cancelled
    uint64_t bytes;  // received
  };

  virtual ~Fabric() = default;
  virtual void reserve(size_t requests) = 0;                                 // [control] room for as many at a time
  virtual void will_use(void *, size_t) {}                                   // [control] packets are in this memory
  // Each starts a transfer. False: no room now, try again after progress().
  virtual bool receive_packet(void *, size_t room, Request) noexcept = 0;
  virtual bool send_packet(uint32_t rank, const void *, size_t, Request) noexcept = 0;
  virtual bool receive_data(uint32_t rank, uint64_t number, void *, size_t, Request) noexcept = 0;
  virtual bool send_data(uint32_t rank, uint64_t number, const void *, size_t, Request) noexcept = 0;
  // Asks for the end of a transfer. progress() tells of it, cancelled or not; sends may go on.
  virtual void cancel(Request) noexcept = 0;
  virtual uint32_t progress(std::span<Done>) noexcept = 0;                   // returns the number of ended transfers
  virtual bool ends_sends() const noexcept { return true; }                  // also those to a rank that has closed
  virtual uint64_t most_data() const noexcept = 0;                           // bytes of one transfer
  virtual uint64_t new_number() noexcept = 0;                                // for a receive of data; not used before
};

}  // namespace transports
