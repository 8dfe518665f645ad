// Sample weights from classes of targets.
#include "train/data/class_weights.hpp"

#include <algorithm>

#include "kinds/field.hpp"

namespace dl4::train {
namespace {

double number(const runtime::View &v, int64_t offset) {
  switch (v.dtype) {
    case DType::f32:
      return static_cast<double>(static_cast<const float *>(v.data)[offset]);
    case DType::f64:
      return static_cast<const double *>(v.data)[offset];
    case DType::i32:
      return static_cast<double>(static_cast<const int32_t *>(v.data)[offset]);
    case DType::i64:
      return static_cast<double>(static_cast<const int64_t *>(v.data)[offset]);
    default:
      return static_cast<double>(static_cast<const uint8_t *>(v.data)[offset]);
  }
}

// The class of a row: its value, or the index of its largest element.
int64_t class_of(const runtime::View &y, int64_t row) {
  const auto dense = dense_strides(y.shape);
  const int64_t *strides = y.strides ? y.strides : dense.data();
  const int64_t begin = row * strides[0];
  if (y.shape.rank() == 1 || y.shape[1] == 1) return std::llrint(number(y, begin));
  int64_t best = 0;
  for (int64_t i = 1; i < y.shape[1]; ++i)
    if (number(y, begin + i * strides[1]) > number(y, begin + best * strides[1])) best = i;
  return best;
}

}  // namespace

void ClassWeights::apply(Batch &b) {
  if (std::any_of(b.w.begin(), b.w.end(), [](const auto &w) { return !is_absent(w); }))
    kinds::refuse_attribute("class_weight", "expected data without sample weights, got both");
  if (b.y.size() != 1) kinds::refuse_attribute("class_weight", "expected a model with one target, got ", b.y.size());
  const runtime::View &y = b.y[0];
  if (y.shape.rank() < 1 || y.shape.rank() > 2 || (y.shape.rank() == 2 && y.shape[1] == 0))
    kinds::refuse_attribute("class_weight", "expected targets (B), (B, 1) or (B, classes), got ", y.shape);
  of_samples_.resize(static_cast<size_t>(y.shape[0]));
  for (int64_t row = 0; row < y.shape[0]; ++row) {
    const int64_t c = class_of(y, row);
    const bool weighted = c >= 0 && c < static_cast<int64_t>(weights_.size());
    of_samples_[static_cast<size_t>(row)] = weighted ? weights_[static_cast<size_t>(c)] : 1;
  }
  b.w.assign(1, {DType::f32, Shape{y.shape[0]}, of_samples_.data(), nullptr});
}

}  // namespace dl4::train
