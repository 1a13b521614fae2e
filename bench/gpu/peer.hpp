// peer.hpp — the vendor's own library, called by hand: what a program without Consort would do on one stream.
//
// Owned by main(), for the first device, on the main thread. It is opened by name, as the driver opens it, and shares the
// device's primary context with it; CUDA and HIP have the same functions under two names. It must never help Consort.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bench::gpu {

class Peer {
 public:
  using Stream = void *;
  using Kernel = void *;
  // No library, no device: nothing, and `why` in one line. library empty: the vendor's own.
  static std::unique_ptr<Peer> open(const std::string &driver, const std::string &library, std::string *why);
  Peer(const Peer &) = delete;
  ~Peer();

  // What Consort's driver calls the device: HIP's compiler asks for it.
  void is(std::string arch) { arch_ = std::move(arch); }
  Stream stream() const { return stream_; }  // all of these work on it
  uint64_t alloc(size_t bytes);
  void free(uint64_t at);
  void in(uint64_t to, const void *from, size_t bytes);  // asynchronous
  void out(void *to, uint64_t from, size_t bytes);
  // What kernels.hpp has, in the form that this vendor takes; good as long as the peer is.
  Kernel kernel(const char *name);
  void launch(Kernel kernel, uint32_t blocks, uint32_t threads, void **params);
  void wait();

  // For a test double, which executes on the host and reports wrong calls: its speed means nothing.
  bool is_double() const;
  std::string complaint() const;  // empty: none

 private:
  struct Library;
  explicit Peer(std::unique_ptr<Library> library);
  void check(int error, const char *what) const;  // ends the program
  std::unique_ptr<Library> library_;
  Stream stream_ = nullptr;
  void *context_ = nullptr, *module_ = nullptr;
  std::string arch_;
};

}  // namespace bench::gpu
