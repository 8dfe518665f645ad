// Penalties on weights.
#include "kinds/field.hpp"
#include "kinds/norm.hpp"
#include "kinds/weight.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

struct L1 : Regularizer {
  static constexpr const char *doc = "l1 * sum(|w|)";
  double l1 = 0.01;
  void fields(Fields &f) override { f("l1", l1).at_least(0).doc("factor"); }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    return scale(e, reduce(e, ops::Reduce::sum_abs, w, {}), static_cast<float>(l1));
  }
};

struct L2 : Regularizer {
  static constexpr const char *doc = "l2 * sum(w^2)";
  double l2 = 0.01;
  void fields(Fields &f) override { f("l2", l2).at_least(0).doc("factor"); }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    return scale(e, ops::square_sum(e, w), static_cast<float>(l2));
  }
};

struct L1L2 : Regularizer {
  static constexpr const char *doc = "l1 * sum(|w|) + l2 * sum(w^2)";
  double l1 = 0, l2 = 0;
  void fields(Fields &f) override {
    f("l1", l1).at_least(0).doc("factor of the absolute values");
    f("l2", l2).at_least(0).doc("factor of the squares");
  }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    ops::Id total = ops::none;
    auto join = [&](ops::Id part, double factor) {
      part = scale(e, part, static_cast<float>(factor));
      total = total == ops::none ? part : add(e, total, part);
    };
    if (l1 != 0) join(reduce(e, ops::Reduce::sum_abs, w, {}), l1);
    if (l2 != 0) join(ops::square_sum(e, w), l2);
    return total == ops::none ? e.scalar(0) : total;
  }
};

struct OrthogonalRegularizer : Regularizer {
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
DL4_KINDS(regularizers, L1, L2, L1L2, OrthogonalRegularizer)
}  // namespace dl4::kinds
