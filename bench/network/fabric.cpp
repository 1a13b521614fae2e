// Messages by libfabric's own calls: a reliable datagram endpoint of the provider tcp, tagged messages, and a completion
// queue that the rank sleeps on (fi_cq_sread).
#include "exchange.hpp"
#include "pair.hpp"
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

namespace {

void must(ssize_t code, const char *what) {
  if (code >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, fi_strerror(static_cast<int>(-code)));
  std::exit(1);
}

class Line {
public:
  explicit Line(const network::Options &o) : pair_(o.space) {
    fi_info *const hints = fi_allocinfo();
    hints->caps = FI_TAGGED;
    hints->mode = FI_CONTEXT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->fabric_attr->prov_name = strdup("tcp");
    if (fi_getinfo(FI_VERSION(1, 11), o.address[pair_.rank()].c_str(), nullptr, FI_SOURCE, hints, &info_) != 0) {
      std::fprintf(stderr, "libfabric has no provider tcp\n");
      std::exit(3);
    }
    fi_freeinfo(hints);
    fid_fabric *fabric = nullptr;
    fid_domain *domain = nullptr;
    fid_av *addresses = nullptr;
    must(fi_fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
    must(fi_domain(fabric, info_, &domain, nullptr), "fi_domain");
    fi_av_attr av{};
    av.type = FI_AV_UNSPEC;
    must(fi_av_open(domain, &av, &addresses, nullptr), "fi_av_open");
    fi_cq_attr cq{};
    cq.format = FI_CQ_FORMAT_TAGGED;
    cq.wait_obj = FI_WAIT_FD;
    cq.size = 1024;
    must(fi_cq_open(domain, &cq, &queue_, nullptr), "fi_cq_open");
    must(fi_endpoint(domain, info_, &endpoint_, nullptr), "fi_endpoint");
    must(fi_ep_bind(endpoint_, &addresses->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(endpoint_), "fi_enable");
    std::vector<std::byte> name(256);
    size_t n = name.size();
    must(fi_getname(&endpoint_->fid, name.data(), &n), "fi_getname");
    name.resize(n);
    const std::vector<std::byte> theirs = pair_.swap(name);
    if (fi_av_insert(addresses, theirs.data(), 1, &peer_, 0, nullptr) != 1) must(-FI_EINVAL, "fi_av_insert");
  }

  uint32_t rank() const { return pair_.rank(); }
  void receive(unsigned slot, void *p, uint64_t n) {
    post([&] { return fi_trecv(endpoint_, p, n, nullptr, peer_, slot + 1, 0, &contexts_[slot]); });
    ++under_way_;
  }
  void send(unsigned slot, const void *p, uint64_t n) {
    if (n <= info_->tx_attr->inject_size) return post([&] { return fi_tinject(endpoint_, p, n, peer_, slot + 1); });
    post([&] { return fi_tsend(endpoint_, p, n, nullptr, peer_, slot + 1, &contexts_[network::max_window + slot]); });
    ++under_way_;
  }
  void wait() {
    while (under_way_) look(-1);
  }
  int end(int status) {
    (void)pair_.swap({}); // an injected message may be under way
    return pair_.end(status);
  }

private:
  template <class F> void post(F f) {
    for (;;) {
      const ssize_t code = f();
      if (code == 0) return;
      if (code != -FI_EAGAIN) must(code, "post");
      look(0);
    }
  }
  void look(int timeout) {
    fi_cq_tagged_entry done[32];
    const ssize_t n = timeout ? fi_cq_sread(queue_, done, 32, nullptr, timeout) : fi_cq_read(queue_, done, 32);
    if (n == -FI_EAGAIN || n == -FI_EINTR) return;
    must(n, "completion");
    under_way_ -= static_cast<uint32_t>(n);
  }

  network::Pair pair_;
  fi_info *info_ = nullptr;
  fid_cq *queue_ = nullptr;
  fid_ep *endpoint_ = nullptr;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  fi_context contexts_[2 * network::max_window] = {};
  uint32_t under_way_ = 0;
};

} // namespace

int main(int argc, char **argv) {
  network::Options o = network::options(argc, argv);
  o.transport = "ofi";
  Line line(o);
  return line.end(network::exchange(line, "libfabric", o));
}
