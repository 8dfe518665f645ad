// SparseCategoricalCrossentropy.
#include "kinds/losses/crossentropy.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::none, ops::Unary;

// Labels other than the ignored class.
Id counted(Emit &e, Id labels, int64_t ignored) {
  DType t = e.dtype(labels);
  if (t == DType::u8 || t == DType::boolean) labels = cast(e, labels, t = DType::i32);
  Tensor number = make_tensor(t, {});
  if (t == DType::f32)
    *number.as<float>() = static_cast<float>(ignored);
  else if (t == DType::i64)
    *number.as<int64_t>() = ignored;
  else
    *number.as<int32_t>() = static_cast<int32_t>(ignored);
  return binary(e, ops::Binary::not_equal, labels, e.constant(std::move(number)));
}

struct SparseCategoricalCrossentropy : Loss {
  static constexpr const char *name = "SparseCategoricalCrossentropy";
  static constexpr const char *doc = "-log(p[y_true]) for class numbers y_true; one outside the classes stops the run";
  bool from_logits = false;
  std::optional<int64_t> ignore_class;
  int64_t axis = -1;

  void fields(Fields &f) override {
    from_logits_field(f, from_logits);
    f("ignore_class", ignore_class)
        .at_least(INT32_MIN)
        .at_most(INT32_MAX)
        .doc("a label whose items count neither in the sum nor in the divisor");
    f("axis", axis).doc("axis of the classes: the last one");
    Loss::fields(f);
  }
  Shape target_shape(const Shape &prediction, const Shape & /*target*/) const override {
    return prediction.first(prediction.rank() - 1);
  }

  Items items(Emit &e, Id y_true, Id y_pred) const override {
    const Shape p = e.shape(y_pred);
    if (p.rank() > 0 && p.axis(axis) != p.rank() - 1)
      throw Error(Code::unsupported, text("\"axis\": the classes must be the last axis, got ", axis))
          .with("attribute", "axis");
    y_pred = cast(e, y_pred, DType::f32);
    Id labels = class_numbers(e, y_true, y_pred);
    Id x = logits_of(e, y_pred, from_logits);
    // Keras uses the logarithm of clipped probabilities as logits, so they need not sum to 1.
    if (x == none) x = unary(e, Unary::log, clipped(e, y_pred));
    Id rows = reshape(e, x, 0, {free_dim, p.last()}), flat = reshape(e, labels, 0, {free_dim});
    Id valid = ignore_class ? counted(e, flat, *ignore_class) : none;
    Id v = unary(e, Unary::neg, pick(e, ops::log_softmax(e, rows, 1), flat, valid));
    if (valid != none) valid = reshape_like(e, valid, labels);
    return {reshape_like(e, v, labels), valid};
  }
};

}  // namespace

DL4_LOSS(SparseCategoricalCrossentropy, "sparse_categorical_crossentropy")

}  // namespace dl4::kinds
