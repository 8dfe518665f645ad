// Histograms of predictions between thresholds.
#include "kinds/metrics/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::none, ops::Unary;

// Keras's criterion.
bool are_even(const std::vector<double> &list) {
  if (list.size() < 3) return false;
  for (size_t i = 0; i < list.size(); ++i) {
    const double even = static_cast<double>(static_cast<float>(i) / static_cast<float>(list.size() - 1));
    if (!(std::abs(list[i] - even) <= 1e-7 + 1e-5 * even)) return false;
  }
  return true;
}

// For even thresholds Keras tests ceil(p * steps) > i in float32: the largest p for which that is false.
float even_bound(size_t i, size_t steps) {
  if (i == 0) return 0;
  const auto n = static_cast<float>(steps), limit = static_cast<float>(i);
  float bound = limit / n;
  while (bound * n > limit) bound = std::nextafter(bound, 0.0f);
  while (std::nextafter(bound, 2.0f) * n <= limit) bound = std::nextafter(bound, 2.0f);
  return bound;
}

}  // namespace

std::vector<double> even_thresholds(int64_t count) {
  if (count == 1) return {0.5};
  std::vector<double> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  return list;
}

Thresholds::Thresholds(const std::vector<double> &list, bool beyond, bool evenly) {
  std::vector<double> all = list;
  if (beyond) {
    std::sort(all.begin(), all.end());
    all.insert(all.begin(), 0);
    all.push_back(1);
  }
  evenly_ = evenly || are_even(all);
  order_.resize(all.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return all[a] < all[b]; });
  for (size_t i : order_) bounds_.push_back(evenly_ ? even_bound(i, all.size() - 1) : static_cast<float>(all[i]));
  if (!beyond) return;
  bounds_.front() = evenly_ ? -1.0f : static_cast<float>(0 - 1e-7);
  if (!evenly_) bounds_.back() = static_cast<float>(1 + 1e-7);
}

Id Thresholds::emit(Emit &e, Id t, Id p, Id weight, bool per_label) const {
  if (evenly_) p = unary(e, Unary::clip, p, {0, 1});
  Tensor bounds = make_tensor(DType::f32, {count()});
  std::copy(bounds_.begin(), bounds_.end(), bounds.as<float>());
  auto number = [&](int64_t v) { return e.scalar(static_cast<double>(v), DType::i32); };
  Id is_one = cast(e, binary(e, Binary::not_equal, t, e.scalar(0)), DType::i32);
  Id bucket = add(e, bucketize(e, p, e.constant(std::move(bounds))), mul(e, is_one, number(count() + 1)));
  if (!per_label) return bucket_sums(e, bucket, weight, sums());
  const int64_t labels = e.shape(p).last();
  Tensor first = make_tensor(DType::i32, {labels});
  for (int64_t i = 0; i < labels; ++i) first.as<int32_t>()[i] = static_cast<int32_t>(i * sums());
  return bucket_sums(e, add(e, bucket, e.constant(std::move(first))), weight, labels * sums());
}

Id weights_like(Emit &e, Id sample_weight, Id p) {
  if (sample_weight == none) return none;
  return mul(e, all_ones(e, p), leading(e, cast(e, sample_weight, DType::f32), p, "sample weights"));
}

}  // namespace dl4::kinds
