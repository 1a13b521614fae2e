// nbody — every body attracts every other. The bodies lie in blocks; the pull of one block on another is one task that
// adds to the forces of the latter, so that blocks x blocks of them may run at the same time, and a block moves as soon
// as its own forces are complete and no task reads its positions any more. Prints the drift of momentum and the largest
// error.
#include "../example.hpp"

#include <algorithm>
#include <span>

namespace {

using consort::read, consort::readwrite, consort::write;

struct Vec {
  double x = 0, y = 0, z = 0;
  Vec &operator+=(Vec o) { return x += o.x, y += o.y, z += o.z, *this; }
  friend Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend Vec operator*(double s, Vec a) { return {s * a.x, s * a.y, s * a.z}; }
};
struct Body {
  Vec place;
  double mass;
};
constexpr double dt = 1e-3;

Vec pull(const Body &on, const Body &from) {
  const Vec d = from.place - on.place;
  const double r2 = d.x * d.x + d.y * d.y + d.z * d.z + 1e-4;  // softened: a body does not pull itself
  return from.mass / (r2 * std::sqrt(r2)) * d;
}
void add_pull(std::span<const Body> on, std::span<const Body> from, std::span<Vec> acceleration) {
  for (size_t i = 0; i < on.size(); ++i)
    for (const Body &b : from) acceleration[i] += pull(on[i], b);
}
void move_on(std::span<Vec> acceleration, std::span<Vec> velocity, std::span<Body> bodies) {
  for (size_t i = 0; i < bodies.size(); ++i) {
    velocity[i] += dt * acceleration[i];
    bodies[i].place += dt * velocity[i];
    acceleration[i] = {};
  }
}
const consort::Codelet attract{"attract", consort::cpu(add_pull)};
const consort::Codelet move{"move", consort::cpu(move_on)};

Vec momentum(const std::vector<Body> &bodies, const std::vector<Vec> &velocity) {
  Vec sum;
  for (size_t i = 0; i < bodies.size(); ++i) sum += bodies[i].mass * velocity[i];
  return sum;
}

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv,
                              {{"n", 1000, "bodies"}, {"blocks", 5, "blocks of bodies"}, {"steps", 5, "steps"}});
  const size_t n = size["n"], blocks = std::min(size["blocks"], n), steps = size["steps"];
  std::vector<Body> bodies(n);
  std::vector<Vec> velocity(n), acceleration(n);
  uint64_t seed = 1;
  const auto chance = [&] { return static_cast<double>((seed = seed * 6364136223846793005u + 1) >> 40) / (1 << 24); };
  for (Body &b : bodies) b = {{chance(), chance(), chance()}, 1 / static_cast<double>(n)};
  std::vector<Body> expected = bodies;

  {
    consort::Runtime rt(size.settings());
    std::vector<consort::Data<std::span<Body>>> place;
    std::vector<consort::Data<std::span<Vec>>> speed, force;
    for (size_t b = 0; b < blocks; ++b) {
      const size_t begin = n * b / blocks, count = n * (b + 1) / blocks - begin;
      place.push_back(rt.vector(std::span(bodies).subspan(begin, count), "bodies"));
      speed.push_back(rt.vector(std::span(velocity).subspan(begin, count), "velocity"));
      force.push_back(rt.vector(std::span(acceleration).subspan(begin, count), "acceleration"));
    }
    for (size_t s = 0; s < steps; ++s) {
      for (size_t from = 0; from < blocks; ++from)
        for (size_t on = 0; on < blocks; ++on)
          rt.submit(attract, read(place[on]), read(place[from]), readwrite(force[on]));
      for (size_t b = 0; b < blocks; ++b)
        rt.submit(move, readwrite(force[b]), readwrite(speed[b]), readwrite(place[b]));
    }
    rt.wait();
  }

  std::vector<Vec> v(n), a(n);
  for (size_t s = 0; s < steps; ++s) {
    std::fill(a.begin(), a.end(), Vec{});
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) a[i] += pull(expected[i], expected[j]);
    for (size_t i = 0; i < n; ++i) expected[i].place += dt * (v[i] += dt * a[i]);
  }
  double error = 0;
  for (size_t i = 0; i < n; ++i) {
    const Vec d = bodies[i].place - expected[i].place;
    error = std::max({error, std::abs(d.x), std::abs(d.y), std::abs(d.z)});
  }
  const Vec drift = momentum(bodies, velocity);
  const double most = std::max({std::abs(drift.x), std::abs(drift.y), std::abs(drift.z)});
  return example::end(error < 1e-12 && most < 1e-10,
                      "nbody: %zu bodies, %zu steps, drift of momentum %.1g, largest error %g", n, steps, most, error);
} catch (const std::exception &e) {
  return example::failed(e);
}
