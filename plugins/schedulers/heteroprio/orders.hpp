// orders.hpp — what was given for `orders`: for a class of units the names of codelets, the first to go first. Constant
// once the plugin has started.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace heteroprio {

class Orders {
 public:
  static constexpr uint32_t kUnnamed = ~uint32_t{0};

  // "cuda: gemm syrk trsm, cpu: potrf trsm". Answers what is wrong, or nothing. May throw.
  std::string read(std::string_view text);
  bool empty() const noexcept { return all_.empty(); }
  // Which of its class's list this one is, from 0.
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
