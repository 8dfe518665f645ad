// NaN, infinities and denormals at every place of an array.
#pragma once

#include <string>

#include "targets.hpp"

namespace dl4::kernels {

inline constexpr float specials[] = {nan, inf, -inf, 1e-40f, -1e-40f, 0.0f, -0.0f};

// f(place) with each special value at each place of x (or at each `step`-th), which is then as before. Ends at a
// failure.
template <class F>
void at_each_place(Edge<float> &x, const F &f, int64_t step = 1) {
  for (int64_t at = 0; at < x.size(); at += step)
    for (const float v : specials) {
      const float keep = x[at];
      x[at] = v;
      f(at);
      x[at] = keep;
      if (!::testing::Test::HasFailure()) continue;
      ADD_FAILURE() << "with " << v << " at " << at << " of " << x.size();
      return;
    }
}

// f(x, n) for arrays of odd length that hold a special value, on every instruction set.
template <class F>
void everywhere(const F &f) {
  on_every_target([&] {
    for (const int64_t n : {1, 3, 37}) {
      Edge<float> x(random_floats(n, 0.5f, 2, static_cast<uint32_t>(n)));
      at_each_place(x, [&](int64_t) { f(x, n); });
    }
  });
}

inline double value(float v) { return static_cast<double>(v); }
using Values = std::vector<double>;

// [n, inner]: x as the middle one of the columns in a, another array in b, neighbours that must not notice.
struct Axis {
  int64_t n, inner;
  Edge<float> a, b, out{n * inner};

  Axis(Edge<float> &x, const std::vector<float> &other, int64_t inner)
      : n(x.size()), inner(inner), a(spread(x.vector())), b(spread(other)) {}

  std::vector<float> spread(const std::vector<float> &v) const {
    std::vector<float> all(static_cast<size_t>(n * inner));
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<int64_t>(i) % inner == inner / 2 ? v[i / static_cast<size_t>(inner)] : 0.25f;
    return all;
  }
  static Values column(Edge<float> &v, int64_t inner, int64_t i) {
    Values c;
    for (int64_t k = i; k < v.size(); k += inner) c.push_back(value(v[k]));
    return c;
  }
  // formula(a's column, b's column) gives out's.
  template <class F>
  void expect(const char *what, const F &formula) {
    for (int64_t i = 0; i < inner; ++i) {
      const Values want = formula(column(a, inner, i), column(b, inner, i));
      for (size_t k = 0; k < want.size(); ++k)
        EXPECT_TRUE(near(want[k], value(out[static_cast<int64_t>(k) * inner + i]))) << what << ' ' << k << ", " << i;
    }
  }
};

}  // namespace dl4::kernels
