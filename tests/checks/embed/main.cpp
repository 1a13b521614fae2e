// The program of the front page: scale a vector, read it back.
#include <consort/consort.hpp>

#include <span>
#include <vector>

int main() {
  consort::Runtime rt;
  std::vector<float> v(1 << 20, 1.f);
  auto x = rt.vector(std::span(v));

  consort::Codelet scale{"scale", consort::cpu([](std::span<float> x, float a) {
                           for (float &e : x) e *= a;
                         })};

  rt.submit(scale, consort::rw(x), 3.0f);
  auto view = x.read();
  return view[0] == 3.0f ? 0 : 1;
}
