// LocalAttention: a window around a position, the query's own or a predicted one.
#include "kinds/layers/attention/global_attention.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit;
using ops::Id;
using ops::none;

struct LocalAttention : FreeAttention {
  static constexpr const char *doc =
      "Attention over the values within a window around a place p (Luong et al. 2015), in sequences or images. The "
      "weights of what lies within are a distribution, then multiplied by exp(-(s - p)^2 / (2 (window / 2)^2)), s the "
      "value's place, without being divided by their sum again. Inputs are query, value and, if it is not the value, "
      "key. Not a layer of Keras.";
  enum class Alignment { monotonic, predictive } alignment = Alignment::monotonic;
  int64_t window = 0;
  std::optional<bool> gaussian;

  void fields(Fields &f) override {
    f("window", window)
        .required("2")
        .at_least(1)
        .at_most(max_dim / 2)
        .doc("how far from p values are seen: 2 window + 1 of them, in an image squared");
    f("alignment", alignment, {"monotonic", "predictive"})
        .doc("p: \"monotonic\": the query's own place; \"predictive\": S sigmoid(v tanh(W query)), S the length");
    f("gaussian", gaussian).doc("whether weights fall with the distance from p; null = where it is predicted");
    free_fields(f);
  }
  Facts facts() const override {
    Facts f = free_facts();
    f.weights.push_back({"place_kernel", "(D, units)", "alignment=predictive"});
    f.weights.push_back({"place_vector", "(units), of images (units, 2)", "alignment=predictive"});
    return f;
  }

  ops::Id dot_query(Call &, ops::Id) const override { return none; }
  Weighed weighed(Call &c, const Parts &parts, Id score, Id keep) const override {
    Emit &e = c.e;
    const int axes = c.shape(1).rank() - 2;
    if (alignment == Alignment::monotonic && c.shape(0).rank() != axes + 2)
      fail(Code::shape_mismatch, "\"alignment\": \"monotonic\" needs a query with the value's axes, got shapes ",
           c.shape(0), " and ", c.shape(1));
    Id predicted = alignment == Alignment::predictive ? predict(c, parts.query, axes) : none, squares = none;
    const bool steps = predicted == none && axes == 1;
    const bool falls = gaussian.value_or(alignment == Alignment::predictive);
    if (steps) keep = both(e, keep, ops::band_mask(e, score, window, window));
    for (int a = 0; a < axes && (falls || !steps); ++a) {
      Id p = predicted == none ? ops::expand_dims(e, places(e, c.x(0), axes, a), -1) : lengths(c, parts, predicted, a);
      Id far = ops::sub(e, places(e, c.x(1), axes, a), p);  // (B, Tq, Tv) or (Tq, Tv)
      if (!steps)
        keep = both(e, keep,
                    ops::binary(e, ops::Binary::less_equal, ops::unary(e, ops::Unary::abs, far), e.scalar(window)));
      Id square = ops::unary(e, ops::Unary::square, far);
      squares = squares == none ? square : ops::add(e, squares, square);
    }
    Weighed w = FreeAttention::weighed(c, parts, score, keep);
    if (!falls) return w;
    const auto d = static_cast<double>(window);
    Id fall = ops::unary(e, ops::Unary::exp, ops::scale(e, squares, static_cast<float>(-2 / (d * d))));
    return {ops::mul(e, w.weights, fall), w.keep};
  }

 private:
  // Positions of the elements of x along one of its time or image axes, as a list.
  static Id places(Emit &e, Id x, int axes, int a) {
    auto along = [&](int axis) { return ops::cast(e, ops::indices(e, x, 1 + axis), DType::f32); };
    if (axes == 1) return along(a);
    Id other = ops::scale(e, along(1 - a), 0);
    Id grid = a == 0 ? ops::add(e, ops::expand_dims(e, along(0), 1), other)
                     : ops::add(e, ops::expand_dims(e, other, 1), along(1));
    return ops::reshape(e, grid, 0, {free_dim});
  }

  // sigmoid(v tanh(W query)) for each axis: (B, Tq, axes).
  Id predict(Call &c, Id query, int axes) const {
    Emit &e = c.e;
    const int64_t u = units_of(c);
    Id w = c.weight("place_kernel", {c.last_dim(0), u}, kernel_initializer);
    Id v = c.weight("place_vector", axes == 1 ? Shape{u} : Shape{u, axes}, kernel_initializer);
    Id h = ops::unary(e, ops::Unary::tanh, ops::matmul(e, query, w));
    return ops::unary(e, ops::Unary::sigmoid, ops::matmul(e, h, axes == 1 ? ops::expand_dims(e, v, -1) : v));
  }

  // The prediction for one axis times its length; for masked sequences, the number of unmasked steps.
  static Id lengths(Call &c, const Parts &parts, Id predicted, int a) {
    Emit &e = c.e;
    Id share = ops::slice(e, predicted, -1, a, 1);  // (B, Tq, 1)
    if (parts.value_mask != none) {
      Id count = ops::reduce(e, ops::Reduce::sum, ops::cast(e, parts.value_mask, DType::f32), {-1}, true);
      return ops::mul(e, share, ops::expand_dims(e, count, -1));
    }
    Id ones = ops::fill(e, DType::f32, 1, ops::indices(e, c.x(1), 1 + a), 1, {});
    return ops::mul(e, share, ops::reduce(e, ops::Reduce::sum, ones, {}));
  }
};

}  // namespace
DL4_KINDS(local_attention, LocalAttention)
}  // namespace dl4::kinds
