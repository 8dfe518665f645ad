// Circle.
#include <limits>

#include "base/error.hpp"
#include "kinds/metric.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::none, ops::Reduce, ops::Unary;

Id not_(Emit &e, Id flags) { return binary(e, Binary::equal, flags, e.scalar(0, DType::boolean)); }

// log(sum(exp(x))) of each row over the elements that count; -infinity if none do.
Id log_sum_exp(Emit &e, Id x, Id counts) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  x = select(e, counts, x, e.scalar(-infinity));
  Id largest = reduce(e, Reduce::max, x, {1}, true);
  largest = select(e, binary(e, Binary::greater, largest, e.scalar(-infinity)), largest, e.scalar(0));
  Id sum = reduce(e, Reduce::sum, unary(e, Unary::exp, sub(e, x, largest)), {1});
  return add(e, unary(e, Unary::log, sum), squeeze(e, largest, 1));
}

struct Circle : Loss {
  static constexpr const char *doc =
      "of embeddings (B, E) of length 1 and class numbers: draws those of one class together and others apart; a "
      "sample without another of its class, or without one of another class, does not count";
  double gamma = 80, margin = 0.4;
  bool remove_diagonal = true;

  void fields(Fields &f) override {
    f("gamma", gamma).doc("scale of the distances");
    f("margin", margin).doc("how far apart, in cosine distance");
    f("remove_diagonal", remove_diagonal).doc("a sample is no partner of itself");
    Loss::fields(f);
  }
  Shape target_shape(const Shape &prediction, const Shape & /*target*/) const override { return prediction.first(1); }
  bool joins_samples(int) const override { return true; }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    if (e.rank(y_pred) != 2)
      fail(Code::shape_mismatch, "predictions have shape ", e.shape(y_pred), ", expected embeddings (B, E)");
    Id labels = class_numbers(e, y_true, y_pred), p = cast(e, y_pred, DType::f32);
    if (DType t = e.dtype(labels); t != DType::i32 && t != DType::i64) labels = cast(e, labels, DType::i32);
    Id distance = sub(e, e.scalar(1), matmul(e, p, p, {.transpose_b = true}));
    distance = binary(e, Binary::max, distance, e.scalar(0));
    Id like = binary(e, Binary::equal, expand_dims(e, labels, 1), expand_dims(e, labels, 0)), unlike = not_(e, like);
    if (remove_diagonal) {
      Id before = causal_mask(e, distance);  // at and before the diagonal
      like = binary(e, Binary::logical_and, like,
                    not_(e, binary(e, Binary::logical_and, before, transpose(e, before, {1, 0}))));
    }
    const auto m = static_cast<float>(margin), g = static_cast<float>(gamma);
    auto at_least_0 = [&](Id x) { return binary(e, Binary::max, x, e.scalar(0)); };
    auto shifted = [&](float by, float shift) { return unary(e, Unary::scale_shift, distance, {by, shift}); };
    Id near = scale(e, mul(e, at_least_0(shifted(1, m)), shifted(-1, m)), -g);
    Id far = scale(e, mul(e, at_least_0(shifted(-1, 1 + m)), shifted(-1, 1 - m)), g);
    Id v = unary(e, Unary::softplus, add(e, log_sum_exp(e, near, like), log_sum_exp(e, far, unlike)));
    return {v, binary(e, Binary::greater, v, e.scalar(0))};
  }
};

}  // namespace

DL4_KINDS(circle, Circle)

}  // namespace dl4::kinds
