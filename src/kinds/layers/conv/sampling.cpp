#include "kinds/layers/conv/sampling.hpp"

#include "base/error.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary;
using ops::Emit;
using ops::Id;
using ops::Unary;

// Reflects x at `low` and `high` into that interval.
Id reflected(Emit &e, Id x, double low, double high) {
  if (high <= low) return ops::scale_shift(e, x, 0, low);
  const double reach = high - low;
  const Id along = ops::binary(e, Binary::mod, ops::scale_shift(e, x, 1, -low), e.scalar(2 * reach));
  return ops::scale_shift(e, ops::binary(e, Binary::min, along, ops::scale_shift(e, along, -1, 2 * reach)), 1, low);
}

// Keys's cubic convolution with a = -0.75: weights of four positions for fraction t after the second.
std::vector<Id> cubic(Emit &e, Id t) {
  constexpr double a = -0.75;
  const auto polynomial = [&](Id x, double c3, double c2, double c1, double c0) {
    Id y = ops::scale_shift(e, x, c3, c2);
    y = ops::scale_shift(e, ops::mul(e, y, x), 1, c1);
    return ops::scale_shift(e, ops::mul(e, y, x), 1, c0);
  };
  const auto near = [&](Id d) { return polynomial(d, a + 2, -(a + 3), 0, 1); };
  const auto far = [&](Id d) { return polynomial(d, a, -5 * a, 8 * a, -4 * a); };
  const Id rest = ops::scale_shift(e, t, -1, 1);
  return {far(ops::scale_shift(e, t, 1, 1)), near(t), near(rest), far(ops::scale_shift(e, rest, 1, 1))};
}

}  // namespace

std::vector<Tap> taps(Emit &e, Id x, int64_t n, Between between, Outside outside, bool edges) {
  const auto last = static_cast<double>(n - 1);
  const double low = edges ? -0.5 : 0, high = edges ? last + 0.5 : last;
  if (between == Between::nearest) x = ops::unary(e, Unary::round, x);
  if (between == Between::nearest_up) x = ops::unary(e, Unary::floor, ops::scale_shift(e, x, 1, 0.5));
  if (outside == Outside::reflection)
    x = reflected(e, x, low, high);
  else if (outside == Outside::wrap)
    x = ops::binary(e, Binary::mod, x, e.scalar(static_cast<double>(n)));
  else if (outside == Outside::border && between != Between::cubic)
    x = ops::clip(e, x, 0, last);
  else  // infinities have no fraction
    x = ops::clip(e, x, -3, last + 3);
  const auto tap = [&](Id place, Id weight) -> Tap {
    if (outside == Outside::reflection && between == Between::cubic) place = reflected(e, place, low, high);
    if (outside == Outside::wrap) place = ops::binary(e, Binary::mod, place, e.scalar(static_cast<double>(n)));
    const Id near = ops::clip(e, place, 0, last);
    if (outside != Outside::zeros) return {near, weight};
    const Id inside = ops::binary(e, Binary::equal, place, near);
    return {near, ops::select(e, inside, weight == ops::none ? e.scalar(1) : weight, e.scalar(0))};
  };
  if (between == Between::nearest || between == Between::nearest_up) return {tap(x, ops::none)};
  const Id floor = ops::stop_gradient(e, ops::unary(e, Unary::floor, x)), t = ops::sub(e, x, floor);
  if (between == Between::linear)
    return {tap(floor, ops::scale_shift(e, t, -1, 1)), tap(ops::scale_shift(e, floor, 1, 1), t)};
  const std::vector<Id> weights = cubic(e, t);
  std::vector<Tap> all;
  for (size_t i = 0; i < weights.size(); ++i)
    all.push_back(tap(ops::scale_shift(e, floor, 1, static_cast<double>(i) - 1), weights[i]));
  return all;
}

Id sampled(Emit &e, Id x, Id item, const std::vector<std::vector<Tap>> &axes) {
  const Shape s = e.shape(x);
  const auto rank = static_cast<int>(axes.size());
  for (int i = 1; i <= rank + 1; ++i)
    if (s[i] == free_dim) fail(Code::shape_mismatch, "all axes but the first should be known, got ", s);
  const Id table = ops::reshape(e, x, 0, {free_dim, s.last()});
  struct Corner {
    Id place, weight;
  };
  std::vector<Corner> corners{{item, ops::none}};
  for (int axis = 0; axis < rank; ++axis) {
    std::vector<Corner> next;
    for (const Corner &c : corners) {
      const Id before = ops::mul(e, c.place, e.scalar(static_cast<double>(s[axis + 1]), DType::i64));
      for (const Tap &tap : axes[static_cast<size_t>(axis)]) {
        const Id weight = c.weight == ops::none     ? tap.weight
                          : tap.weight == ops::none ? c.weight
                                                    : ops::mul(e, c.weight, tap.weight);
        next.push_back({ops::add(e, before, ops::cast(e, tap.place, DType::i64)), weight});
      }
    }
    corners = std::move(next);
  }
  Id y = ops::none;
  for (const Corner &c : corners) {
    Id value = ops::gather(e, table, c.place);
    if (c.weight != ops::none) value = ops::mul(e, value, ops::expand_dims(e, c.weight, -1));
    y = y == ops::none ? value : ops::add(e, y, value);
  }
  return y;
}

}  // namespace dl4::kinds
