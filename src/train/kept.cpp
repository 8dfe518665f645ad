// Gradients are sums in a block like the weights'.
#include "train/kept.hpp"

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

void Averages::take() {
  if (!kept() || t_.state.count(kept::iterations) == 0) return;
  t_.make_writable();
  std::ranges::copy(t_.state.per_weight(kept::average, 0).memory(), t_.state.parameters.block().data.get());
}

void Averages::swap() {
  if (!kept())
    fail(Code::invalid_argument, "there are no averages of the weights: the optimizer has \"use_ema\" false");
  if (t_.state.count(kept::iterations) == 0) return;
  t_.make_writable();
  std::ranges::swap_ranges(t_.state.per_weight(kept::average, 0).memory(), t_.state.parameters.block().memory());
}

void Averages::settle() {
  if (!kept()) return;
  t_.follow();
  t_.state.parameters.collect();
  std::ranges::copy(t_.state.parameters.block().memory(), t_.state.per_weight(kept::average, 0).data.get());
}

namespace {

constexpr char prefix[] = "kept:";
std::string name_of(size_t number, const std::string &weight) { return text(prefix, number, ':', weight); }

}  // namespace

void WeightCopies::keep(size_t number) {
  for (const auto &w : t_.model->weights()) tensors[name_of(number, w->name)] = clone(w->value());
}

void WeightCopies::restore(size_t number) {
  for (const auto &w : t_.model->weights())
    if (auto it = tensors.find(name_of(number, w->name)); it != tensors.end())
      t_.model->set_weight(w->name, it->second);
}

WeightCopies::Tensors WeightCopies::taken_from(Tensors &saved) const {
  Tensors copies;
  for (auto it = saved.lower_bound(prefix); it != saved.end() && it->first.starts_with(prefix);)
    copies.insert(saved.extract(it++));
  for (const auto &[name, t] : copies) {
    const size_t colon = name.find(':', sizeof prefix - 1);
    if (colon == std::string::npos) fail(Code::corrupt_file, "the checkpoint has a tensor \"", name, '"');
    t_.model->need_fit(name.substr(colon + 1), t.dtype, t.shape);
  }
  return copies;
}

}  // namespace dl4::train
