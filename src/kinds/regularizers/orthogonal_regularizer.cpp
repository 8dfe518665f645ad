// OrthogonalRegularizer.
#include <algorithm>

#include "kinds/initializer.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

// 1 everywhere but on the diagonal.
Tensor off_diagonal(int64_t n) {
  Tensor t = make_tensor(DType::f32, {n, n});
  std::fill_n(t.as<float>(), n * n, 1.0f);
  for (int64_t i = 0; i < n; ++i) t.as<float>()[i * n + i] = 0;
  return t;
}

struct OrthogonalRegularizer : Regularizer {
  static constexpr const char *name = "OrthogonalRegularizer";
  static constexpr const char *doc =
      "factor * the mean of |cosine| over all pairs of different rows (or columns) of a matrix";
  double factor = 0;
  std::string mode;

  static auto fields() {
    return std::tuple{field("factor", &OrthogonalRegularizer::factor).otherwise(0.01).at_least(0).doc("factor"),
                      field("mode", &OrthogonalRegularizer::mode)
                          .otherwise("rows")
                          .one_of({"rows", "columns"})
                          .doc("what is to be orthogonal")};
  }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    const Shape s = e.shape(w);
    if (s.rank() != 2) fail(Code::shape_mismatch, "OrthogonalRegularizer: expected a weight of rank 2, got shape ", s);
    bool rows = mode == "rows";
    int64_t n = s[rows ? 0 : 1];
    if (n < 2) return e.scalar(0);  // no pairs
    ops::Id unit = normalised(e, w, {rows ? 1 : 0});
    ops::Id cosines = matmul(e, unit, unit, {.transpose_a = !rows, .transpose_b = rows});
    ops::Id others = mul(e, cosines, e.constant(off_diagonal(n)));
    double pairs = static_cast<double>(n) * static_cast<double>(n - 1) / 2;
    return scale(e, reduce(e, ops::Reduce::sum_abs, others, {}), static_cast<float>(factor * 0.5 / pairs));
  }
};

}  // namespace

DL4_KIND(OrthogonalRegularizer)

}  // namespace dl4::kinds
