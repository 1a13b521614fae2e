// hello — the shortest program: one vector, one codelet, one task.
#include "../example.hpp"

int main() {
  consort::Runtime rt;                              // plugins and policy from config, or defaults
  std::vector<float> v(1 << 20, 1.f);
  auto x = rt.vector(std::span(v));                 // registered in place, no copy

  const consort::Codelet scale{"scale",
      consort::cpu([](std::span<float> x, float a) { for (float &e : x) e *= a; }),
      consort::opencl_file("scale.cl", "scale")};        // more implementations, same codelet

  rt.submit(scale, consort::readwrite(x), 3.0f);    // asynchronous; dependencies inferred
  auto view = x.read();                             // waits, brings the data home, RAII release
  return example::end(view[0] == 3.0f, "the first element is %g", static_cast<double>(view[0]));
}
