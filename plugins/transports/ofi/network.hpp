// network.hpp — a Fabric over one endpoint of libfabric: reliable datagrams, tagged messages. Under the endpoint's lock.
//
// Packets have the tag 0. Data have a tag that their receiver has made: it starts by chance, so a stranger cannot hit it.
#pragma once
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <memory>
#include <string>
#include <vector>

#include "../packets/fabric.hpp"
#include "library.hpp"

namespace ofi {

struct Closer {
  template <class T>
  void operator()(T *object) const noexcept {
    fi_close(&object->fid);
  }
  void operator()(fi_info *info) const noexcept { Library::loaded().freeinfo(info); }
};
template <class T>
using Own = std::unique_ptr<T, Closer>;

class Network final : public transports::Fabric {
 public:
  // Opens the provider, on the address `network` of this machine ("": where the provider has none). With a descriptor to
  // wait for if `waits`, and the provider can. Throws an Error.
  Network(const std::string &provider, const std::string &network, bool waits);

  const std::vector<std::byte> &name() const noexcept { return name_; }
  const char *provider() const noexcept { return info_->fabric_attr->prov_name; }
  int fd() const noexcept { return fd_; }                    // -1: none
  bool may_sleep() noexcept;                                 // false: progress() has something to do
  void connect(uint32_t rank, std::span<const std::byte> name, uint32_t ranks);  // [control] throws
  void forget(uint32_t rank) noexcept;                       // closes what leads to a lost rank

  void reserve(size_t) override;
  bool receive_packet(void *, size_t room, Request) noexcept override;
  bool send_packet(uint32_t rank, const void *, size_t, Request) noexcept override;
  bool receive_data(uint32_t rank, uint64_t number, void *, size_t, Request) noexcept override;
  bool send_data(uint32_t rank, uint64_t number, const void *, size_t, Request) noexcept override;
  void cancel(Request) noexcept override;
  uint32_t progress(std::span<Done>) noexcept override;
  bool ends_sends() const noexcept override { return false; }  // it connects again and again, as long as it is driven
  uint64_t most_data() const noexcept override { return most_; }
  uint64_t new_number() noexcept override { return ++number_; }

 private:
  struct Pending {
    fi_context2 context;                                     // first: completions name it
    Request request;
    bool is_used;
  };
  bool open_queue(enum fi_wait_obj);
  Pending *take(Request) noexcept;
  bool started(Pending *, ssize_t) noexcept;

  std::vector<std::unique_ptr<Pending[]>> slabs_;            // outlives the endpoint: providers use contexts until it is closed
  Own<fi_info> info_;
  Own<fid_fabric> fabric_;
  Own<fid_domain> domain_;
  Own<fid_av> addresses_;
  Own<fid_cq> queue_;
  Own<fid_ep> endpoint_;                                     // closed before what it is bound to
  std::vector<std::byte> name_;
  std::vector<fi_addr_t> ranks_;
  std::vector<Pending *> all_, free_;
  std::vector<Request> failed_;
  size_t reserved_ = 0;
  uint64_t number_ = 0, most_ = 0;
  int fd_ = -1;
};

}  // namespace ofi
