// OrthogonalRegularizer.
#include "kinds/field.hpp"
#include "kinds/norm.hpp"
#include "kinds/regularizer.hpp"

namespace dl4::kinds {
namespace {

struct OrthogonalRegularizer : Regularizer {
  static constexpr const char *name = "OrthogonalRegularizer";
  static constexpr const char *doc =
      "factor * the mean of |cosine| over all pairs of different rows (or columns) of a matrix";
  double factor = 0.01;
  enum class Mode { rows, columns } mode = Mode::rows;

  void fields(Fields &f) override {
    f("factor", factor).at_least(0).doc("factor");
    f("mode", mode, {"rows", "columns"}).doc("what is to be orthogonal");
  }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    const Shape s = e.shape(w);
    if (s.rank() != 2) fail(Code::shape_mismatch, "OrthogonalRegularizer: expected a weight of rank 2, got shape ", s);
    bool rows = mode == Mode::rows;
    int64_t n = s[rows ? 0 : 1];
    if (n < 2) return e.scalar(0);  // no pairs
    ops::Id unit = normalised(e, w, {rows ? 1 : 0});
    // All but the first with all but the last: on and below the diagonal, each pair occurs once.
    const int axis = rows ? 0 : 1;
    ops::Id cosines = matmul(e, slice(e, unit, axis, 1, n - 1), slice(e, unit, axis, 0, n - 1),
                             {.transpose_a = !rows, .transpose_b = rows});
    ops::Id pairs = select(e, causal_mask(e, cosines), cosines, e.scalar(0));
    double count = static_cast<double>(n) * static_cast<double>(n - 1) / 2;
    return scale(e, reduce(e, ops::Reduce::sum_abs, pairs, {}), static_cast<float>(factor / count));
  }
};

}  // namespace

DL4_KIND(OrthogonalRegularizer)

}  // namespace dl4::kinds
