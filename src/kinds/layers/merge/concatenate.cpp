// Concatenate and Dot.
#include <algorithm>

#include "base/error.hpp"
#include "kinds/layer.hpp"
#include "kinds/layers/core/masks.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

struct Concatenate : LayerOf<Concatenate> {
  static constexpr const char *doc = "The inputs one after the other along an axis.";
  int64_t axis = -1;

  void fields(Fields &f) override { f("axis", axis).doc("the axis along which they are joined"); }
  static constexpr PlainFacts plain{
      .inputs = {{"x...", "(B, ...), equal but for the axis"}},
      .outputs = {{"y", "(B, ...)"}},
      .mask =
          "joined along the axis, or, behind the mask's axes, valid where any input is; an input "
          "without a mask counts as valid, and there is none if no input has one"};
  Arity arity() const override { return {1, any_number}; }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    int along = c.shape().axis(axis), count = static_cast<int>(c.in.size());
    for (int i = 1; i < count; ++i) {
      const Shape first = c.shape(0), s = c.shape(i);
      if (s.rank() != first.rank() || !compatible(first.with(along, 0), s.with(along, 0)))
        fail(Code::shape_mismatch, "inputs must have matching shapes except for the concatenation axis ", along,
             ". Received shapes ", first, " and ", s);
    }
    c.join_types();
    std::vector<ops::Id> values;
    for (int i = 0; i < count; ++i) values.push_back(c.x(i));
    return {{ops::concat(c.e, values, along), mask(c, along)}};
  }

 private:
  static ops::Id mask(Call &c, int along) {
    int count = static_cast<int>(c.in.size()), rank = std::max(c.shape().rank() - 1, 1);
    bool found = false;
    for (int i = 0; i < count; ++i) {
      if (c.mask(i) == ops::none) continue;
      found = true;
      rank = std::min(rank, c.e.rank(c.mask(i)));
    }
    if (!found) return ops::none;
    std::vector<ops::Id> masks;
    for (int i = 0; i < count; ++i) {
      ops::Id m = c.mask(i);
      if (m == ops::none) m = ops::fill(c.e, DType::boolean, 1, c.x(i), rank, {});
      while (c.e.rank(m) > rank) m = any(c.e, m, -1, false);
      masks.push_back(m);
    }
    return along < rank ? ops::concat(c.e, masks, along) : any_of(c.e, masks);
  }
};

struct Dot final : LayerOf<Dot> {
  static constexpr const char *doc =
      "Sums of products along an axis of each of two inputs, for all pairs of their other places, item by item of the "
      "batch.";
  std::array<int64_t, 2> axes{};
  bool normalize = false;

  void fields(Fields &f) override {
    f("axes", axes).required("1").doc("the axis of both inputs, or that of each; not the batch's");
    f("normalize", normalize).doc("scales vectors along the axes to a norm of 1 first, which makes cosines");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"a", "(B, ..., K, ...)"}, {"b", "(B, ..., K, ...)"}},
      .outputs = {{"y", "(B, axes of a but K, axes of b but K); (B, 1) where there are none"}}};
  Arity arity() const override { return {2, 2}; }

  std::vector<Symbol> call(Call &c) const override {
    c.join_types();
    std::array<int, 2> axis{};
    std::array<ops::Id, 2> v{};
    for (int i = 0; i < 2; ++i) {
      const auto at = static_cast<size_t>(i);
      c.need_rank_from(i, 2);
      c.need_float(i);
      axis[at] = c.shape(i).axis(axes[at]);
      if (axis[at] == 0)
        fail(Code::invalid_argument, "\"axes\": expected another axis than the batch's, 0, of input ", i);
      v[at] = normalize ? normalised(c.e, c.x(i), {axis[at]}) : c.x(i);
    }
    const int64_t k = c.shape(0)[axis[0]], l = c.shape(1)[axis[1]];
    if (k != l && k != free_dim && l != free_dim)
      fail(Code::shape_mismatch, "incompatible input shapes: axis values ", k, " (at axis ", axis[0], ") and ", l,
           " (at axis ", axis[1], "). Full input shapes: ", c.shape(0), ", ", c.shape(1));
    const Shape a = c.shape(0).without(axis[0]), b = c.shape(1).without(axis[1]);  // remaining axes
    ops::Id y = ops::matmul(c.e, matrix(c.e, v[0], axis[0], -1), matrix(c.e, v[1], axis[1], 1));
    std::vector<int64_t> tail(a.begin() + 1, a.end());
    tail.insert(tail.end(), b.begin() + 1, b.end());
    if (tail.empty()) tail.push_back(1);
    return {{ops::reshape(c.e, y, 1, Shape(tail))}};
  }

 private:
  // (B, M, K), or (B, K, M) if `to` is 1: moves the axis there and merges the others.
  static ops::Id matrix(ops::Emit &e, ops::Id x, int axis, int to) {
    std::vector<int> perm;
    for (int i = 0; i < e.rank(x); ++i)
      if (i != axis) perm.push_back(i);
    perm.insert(to == 1 ? perm.begin() + 1 : perm.end(), axis);
    const int64_t k = e.shape(x)[axis];
    if (!std::is_sorted(perm.begin(), perm.end())) x = ops::transpose(e, x, perm);
    if (e.rank(x) == 3) return x;
    if (e.rank(x) == 2) return ops::expand_dims(e, x, to == 1 ? 2 : 1);
    if (k == free_dim)
      fail(Code::shape_mismatch, "the axis of the products should be known where an input has more than 3 axes");
    return ops::reshape(e, x, 1, to == 1 ? Shape{k, free_dim} : Shape{free_dim, k});
  }
};

}  // namespace
DL4_KINDS(concatenate, Concatenate, Dot)
}  // namespace dl4::kinds
