// Orthogonal.
#include <algorithm>
#include <vector>

#include "backend/backend.hpp"
#include "kinds/initializers/random.hpp"

namespace dl4::kinds {
namespace {

struct Orthogonal : RandomInitializer {
  static constexpr const char *doc =
      "orthonormal rows or columns, whichever are fewer, of the weight seen as (all axes but the last, last axis)";
  static constexpr const char *aliases[] = {"OrthogonalInitializer"};
  double gain = 1;

  void fields(Fields &f) override {
    f("gain", gain).doc("factor on the result");
    RandomInitializer::fields(f);
  }
  void fill(Tensor &t, const Seed &graph) const override {
    if (t.shape.rank() < 2)
      fail(Code::shape_mismatch, "initializer Orthogonal: expected a weight of rank 2 or more, got shape ", t.shape);
    int64_t columns = t.shape.last(), rows = t.shape.elements(0, t.shape.rank() - 1);
    int64_t m = std::max(rows, columns), n = std::min(rows, columns);
    float *y = t.as<float>();
    kernels::fill_normal(stream(graph), 0, 0, 1, y, m * n);
    std::vector<double> q(static_cast<size_t>(m * n));
    kernels::orthonormal(y, m, n, q.data());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        y[r * columns + c] = static_cast<float>(gain * (rows < columns ? q[r * m + c] : q[c * m + r]));
  }
};

}  // namespace

DL4_KINDS(orthogonal, Orthogonal)

}  // namespace dl4::kinds
