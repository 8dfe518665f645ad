// One op if the axes are the last ones, else a composition.
#include "kinds/layers/normalization/standardized.hpp"

#include <algorithm>

#include "ops/ops.hpp"

namespace dl4::kinds {

using ops::Id;

std::vector<int> numbered(const Shape &x, const std::vector<int64_t> &axes) {
  std::vector<int> list;
  for (int64_t axis : axes) list.push_back(x.axis(axis));
  std::sort(list.begin(), list.end());
  if (std::adjacent_find(list.begin(), list.end()) != list.end())
    refuse_attribute("axis", "an axis is listed twice for an input of shape ", x);
  return list;
}

Id spread_over(ops::Emit &e, Id v, Id x, const std::vector<int> &axes) {
  if (v == ops::none) return v;
  const Shape s = e.shape(x);
  Shape to;
  for (int i = axes[0]; i < s.rank(); ++i)
    to = to.inserted(to.rank(), std::find(axes.begin(), axes.end(), i) == axes.end() ? 1 : s[i]);
  return e.shape(v) == to ? v : reshape(e, v, 0, to);
}

Id standardized(ops::Emit &e, Id x, const std::vector<int> &axes, double epsilon, bool center, Id gamma, Id beta) {
  gamma = spread_over(e, gamma, x, axes);
  beta = spread_over(e, beta, x, axes);
  const auto count = static_cast<int>(axes.size());
  if (axes[0] == e.rank(x) - count) return normalize(e, x, count, epsilon, center, gamma, beta);
  if (center) x = sub(e, x, reduce(e, ops::Reduce::mean, x, axes, true));
  Id variance = reduce(e, ops::Reduce::mean, unary(e, ops::Unary::square, x), axes, true);
  Id y = mul(e, x, unary(e, ops::Unary::rsqrt, add(e, variance, e.scalar(epsilon))));
  if (gamma != ops::none) y = mul(e, y, gamma);
  return beta == ops::none ? y : add(e, y, beta);
}

}  // namespace dl4::kinds
