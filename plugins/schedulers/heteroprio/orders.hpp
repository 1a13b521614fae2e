// orders.hpp — the parsed setting `orders`: for a class of units, names of codelets in order. Constant
// once the plugin has started.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace heteroprio {

class Orders {
 public:
  static constexpr uint32_t kUnnamed = ~uint32_t{0};

  // "cuda: gemm syrk trsm, cpu: potrf trsm". Returns an error text, or "". May throw.
  std::string read(std::string_view text);
  bool empty() const noexcept { return all_.empty(); }
  // Position in its class's list, from 0; kUnnamed: not listed.
  uint32_t place(std::string_view klass, std::string_view codelet) const noexcept;
  std::vector<std::string_view> classes() const;

 private:
  struct Order {
    std::string klass;
    std::vector<std::string> codelets;
  };
  std::vector<Order> all_;
};

}  // namespace heteroprio
