// Sums of gradients, in a block like the weights'.
#include "train/gradients.hpp"

#include <algorithm>

#include "base/float_mode.hpp"

namespace dl4::train {

bool Gradients::empty() const {
  const Tensor *count = t_.state.find(kept::accumulated);
  return !count || *count->as<int64_t>() == 0;
}

Tensor Gradients::mean(const std::string &weight) const {
  if (empty()) fail(Code::invalid_argument, "no gradients: call accumulate first");
  FlushToZero flush;
  const auto n = static_cast<float>(t_.state.count(kept::accumulated));
  const float *sums = t_.state.find(kept::gradients)->as<float>();
  const bool all = weight == "*";
  const graph::Weight *one = all ? nullptr : t_.model->weight(weight).get();
  Tensor mean;
  if (all) mean = make_tensor(DType::f32, Shape{t_.state.parameters.elements()});
  t_.state.parameters.each([&](const graph::Weight &w, int64_t offset, int64_t flat) {
    if (!all && &w != one) return;
    if (!all) mean = make_tensor(DType::f32, w.spec.shape);
    float *to = mean.as<float>() + (all ? flat : 0);
    for (int64_t i = 0, size = w.spec.shape.elements(); i < size; ++i) to[i] = sums[offset + i] / n;
  });
  if (!mean.data) fail(Code::invalid_argument, "weight \"", weight, "\" is not trainable");
  return mean;
}

void Gradients::set(const std::string &weight, const Tensor &v, bool add) {
  t_.need_weights();
  t_.follow();
  const bool all = weight == "*";
  const graph::Weight *one = all ? nullptr : t_.model->weight(weight).get();
  if (one && !one->trainable()) fail(Code::invalid_argument, "weight \"", weight, "\" is not trainable");
  const Shape expected = all ? Shape{t_.state.parameters.elements()} : one->spec.shape;
  if (v.dtype != DType::f32 || v.shape != expected)
    throw Error(Code::shape_mismatch, text("gradient of ", all ? "all trainable weights" : "weight \"" + weight + '"',
                                           ": expected float32 ", expected, ", got ", v.dtype, ' ', v.shape))
        .with("weight", weight);
  FlushToZero flush;
  Tensor &sums = t_.state.per_weight(kept::gradients, 0);
  int64_t &count = *t_.state.number(kept::accumulated, DType::i64, 0).as<int64_t>();
  if (count == 0) std::fill_n(sums.as<float>(), sums.elements(), 0.0f);
  if (count == 0 || (all && !add)) count = 1;
  const auto n = static_cast<float>(count);
  t_.state.parameters.each([&](const graph::Weight &w, int64_t offset, int64_t flat) {
    if (!all && &w != one) return;
    const float *from = v.as<float>() + (all ? flat : 0);
    float *to = sums.as<float>() + offset;
    for (int64_t i = 0, size = w.spec.shape.elements(); i < size; ++i) to[i] = (add ? to[i] : 0) + from[i] * n;
  });
}

void Gradients::zero() {
  if (!empty()) t_.state.count(kept::accumulated) = 0;
}

}  // namespace dl4::train
