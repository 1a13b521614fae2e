#include "network.hpp"

#include <sys/random.h>

#include <algorithm>
#include <consort/plugin/host.hpp>
#include <cstring>

namespace ofi {
namespace {

using consort::plugin::Error;

constexpr uint64_t kData = uint64_t{1} << 63;  // in the tag of data
constexpr size_t kTransfers = 512;             // in progress; with the default depth there are less

void must(int code, const char *what) {
  if (code) throw Error(CONSORT_E_IO, std::string(what) + ": " + Library::loaded().strerror(-code));
}

}  // namespace

Network::Network(const std::string &provider, const std::string &network, bool waits) {
  const Library &library = Library::get();
  const KeptSignals kept;
  Own<fi_info> hints(library.dupinfo(nullptr));
  if (!hints) throw std::bad_alloc();
  hints->caps = FI_TAGGED;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;  // one lock guards all
  hints->domain_attr->mr_mode = 0;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = strdup(provider.c_str());
  fi_info *found = nullptr;
  const int code = [&] {
    const FewReceives few;
    return library.getinfo(FI_VERSION(1, 11), network.empty() ? nullptr : network.c_str(), nullptr,
                           network.empty() ? 0 : FI_SOURCE, hints.get(), &found);
  }();
  info_.reset(found);
  if (code || !found)
    throw Error(CONSORT_E_UNSUPPORTED, "libfabric has no provider \"" + provider + "\" for tagged messages" +
                                           (network.empty() ? "" : " on the address " + network) + ": " + Library::loaded().strerror(-code) +
                                           "; see fi_info, and the settings ofi.provider and ofi.network");
  // Providers clear memory for this number of transfers when the endpoint opens. Beyond it they take none for a moment.
  info_->tx_attr->size = std::min(info_->tx_attr->size, kTransfers);
  info_->rx_attr->size = std::min(info_->rx_attr->size, kTransfers);
  fid_fabric *fabric = nullptr;
  must(library.fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
  fabric_.reset(fabric);
  fid_domain *domain = nullptr;
  must(fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain");
  domain_.reset(domain);
  fi_av_attr av{};
  av.type = FI_AV_UNSPEC;
  fid_av *addresses = nullptr;
  must(fi_av_open(domain, &av, &addresses, nullptr), "fi_av_open");
  addresses_.reset(addresses);
  if (!waits || !open_queue(FI_WAIT_FD))
    if (!open_queue(FI_WAIT_NONE)) throw Error(CONSORT_E_IO, "fi_cq_open fails for the provider " + provider);
  fid_ep *endpoint = nullptr;
  must(fi_endpoint(domain, info_.get(), &endpoint, nullptr), "fi_endpoint");
  endpoint_.reset(endpoint);
  must(fi_ep_bind(endpoint, &addresses->fid, 0), "fi_ep_bind");
  must(fi_ep_bind(endpoint, &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  must(fi_enable(endpoint), "fi_enable");
  size_t n = 256;
  name_.resize(n);
  must(fi_getname(&endpoint->fid, name_.data(), &n), "fi_getname");
  name_.resize(n);
  most_ = std::min<uint64_t>(info_->ep_attr->max_msg_size, uint64_t{1} << 30);
  if (getrandom(&number_, sizeof number_, 0) != sizeof number_) throw Error(CONSORT_E_IO, "the system gives no random numbers");
}

bool Network::open_queue(enum fi_wait_obj wait) {
  fi_cq_attr attr{};
  attr.format = FI_CQ_FORMAT_MSG;
  attr.wait_obj = wait;
  attr.size = 4096;
  fid_cq *queue = nullptr;
  if (fi_cq_open(domain_.get(), &attr, &queue, nullptr)) return false;
  queue_.reset(queue);
  if (wait != FI_WAIT_FD) return true;
  if (fi_control(&queue->fid, FI_GETWAIT, &fd_) == 0 && fd_ >= 0) return true;
  fd_ = -1;
  queue_.reset();
  return false;
}

bool Network::may_sleep() noexcept {
  if (!failed_.empty()) return false;
  if (fd_ < 0) return true;  // it cannot tell
  fid *const queue = &queue_->fid;
  fid *all[] = {queue};
  return fi_trywait(fabric_.get(), all, 1) == FI_SUCCESS;
}

void Network::connect(uint32_t rank, std::span<const std::byte> name, uint32_t ranks) {
  if (ranks_.empty()) ranks_.resize(ranks, FI_ADDR_UNSPEC);
  if (ranks_[rank] != FI_ADDR_UNSPEC) forget(rank);
  fi_addr_t address = FI_ADDR_UNSPEC;
  if (fi_av_insert(addresses_.get(), name.data(), 1, &address, 0, nullptr) != 1)
    throw Error(CONSORT_E_INVAL, "libfabric does not take the address");
  ranks_[rank] = address;
}

void Network::forget(uint32_t rank) noexcept {
  if (rank >= ranks_.size() || ranks_[rank] == FI_ADDR_UNSPEC) return;
  (void)fi_av_remove(addresses_.get(), &ranks_[rank], 1, 0);
  ranks_[rank] = FI_ADDR_UNSPEC;
}

void Network::reserve(size_t n) {
  if (n <= reserved_) return;
  all_.reserve(n), free_.reserve(n), failed_.reserve(n);
  slabs_.push_back(std::make_unique<Pending[]>(n - reserved_));
  for (size_t i = 0; i < n - reserved_; ++i) all_.push_back(&slabs_.back()[i]), free_.push_back(all_.back());
  reserved_ = n;
}

Network::Pending *Network::take(Request r) noexcept {
  if (free_.empty()) return nullptr;
  Pending *const p = free_.back();
  free_.pop_back();
  p->request = r, p->is_used = true;
  return p;
}

// What the provider says of a transfer. Without room it is tried again; another error ends it.
bool Network::started(Pending *p, ssize_t code) noexcept {
  if (code == 0) return true;
  p->is_used = false;
  free_.push_back(p);
  if (code == -FI_EAGAIN) return false;
  failed_.push_back(p->request);
  return true;
}

bool Network::receive_packet(void *to, size_t room, Request r) noexcept {
  Pending *const p = take(r);
  return p && started(p, fi_trecv(endpoint_.get(), to, room, nullptr, FI_ADDR_UNSPEC, 0, 0, &p->context));
}

bool Network::send_packet(uint32_t rank, const void *from, size_t n, Request r) noexcept {
  Pending *const p = take(r);
  return p && started(p, fi_tsend(endpoint_.get(), from, n, nullptr, ranks_[rank], 0, &p->context));
}

bool Network::receive_data(uint32_t, uint64_t number, void *to, size_t n, Request r) noexcept {
  Pending *const p = take(r);
  return p && started(p, fi_trecv(endpoint_.get(), to, n, nullptr, FI_ADDR_UNSPEC, number | kData, 0, &p->context));
}

bool Network::send_data(uint32_t rank, uint64_t number, const void *from, size_t n, Request r) noexcept {
  Pending *const p = take(r);
  return p && started(p, fi_tsend(endpoint_.get(), from, n, nullptr, ranks_[rank], number | kData, &p->context));
}

void Network::cancel(Request r) noexcept {
  for (Pending *p : all_)
    if (p->is_used && p->request.kind == r.kind && p->request.index == r.index) {
      (void)fi_cancel(&endpoint_->fid, &p->context);
      return;
    }
}

uint32_t Network::progress(std::span<Done> out) noexcept {
  uint32_t n = 0;
  for (; n < out.size() && !failed_.empty(); failed_.pop_back()) out[n++] = {failed_.back(), false, 0};
  fi_cq_msg_entry entries[64];
  while (n < out.size()) {
    const ssize_t got = fi_cq_read(queue_.get(), entries, std::min(out.size() - n, std::size(entries)));
    if (got == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      if (fi_cq_readerr(queue_.get(), &error, 0) != 1 || !error.op_context) break;
      auto *const p = reinterpret_cast<Pending *>(error.op_context);
      out[n++] = {p->request, false, 0};
      p->is_used = false;
      free_.push_back(p);
      continue;
    }
    if (got <= 0) break;
    for (ssize_t i = 0; i < got; ++i) {
      auto *const p = reinterpret_cast<Pending *>(entries[i].op_context);
      out[n++] = {p->request, true, entries[i].len};
      p->is_used = false;
      free_.push_back(p);
    }
  }
  return n;
}

}  // namespace ofi
