#include "train/gradient_check.hpp"

#include <algorithm>
#include <cmath>

#include "base/rng.hpp"
#include "graph/lower.hpp"

namespace dl4::train {
namespace {

// A model as two sessions over the same values: its outputs, and their gradients.
class Check {
 public:
  Check(const graph::Model &model, runtime::Options run, std::span<const Tensor> in, const GradientCheck &o)
      : model_(model), o_(o), words_({static_cast<uint64_t>(o.seed), 0}) {
    for (const Tensor &t : model.pin()) values_.push_back(clone(t));
    for (const Tensor &t : in) {
      Tensor dense = clone(t);
      x_.push_back({dense.dtype, dense.shape, dense.data.get()});
      values_.push_back(std::move(dense));
    }
    held_ = values_.size() - in.size();
    for (size_t i = 0; i < model.inputs().size() && i < in.size(); ++i)
      if (values_[held_ + i].dtype == DType::f32) named_.push_back({model.input_name(i), held_ + i});
    for (size_t i = 0; i < model.weights().size(); ++i) named_.push_back({model.weights()[i]->name, i});
    outputs_ = session({o.training, {}, false}, run);
    outputs_->check(x_);
    for (const ops::Operand &y : outputs_->outputs(x_)) y_.push_back(make_tensor(y.dtype, y.shape));
    draw_cotangents();
  }

  Json report(const runtime::Options &run) {
    if (named_.empty()) return Json::object();
    std::vector<std::string> names;
    for (const Named &n : named_) names.push_back(n.name);
    auto gradients = session({o_.training, names, true}, run);
    std::vector<runtime::View> in = x_, out = views(y_);
    for (const Tensor &t : cotangents_)
      if (t.data) in.push_back({t.dtype, t.shape, t.data.get()});
    std::vector<Tensor> found;
    for (const Named &n : named_) found.push_back(make_tensor(DType::f32, values_[n.value].shape));
    for (const runtime::View &v : views(found)) out.push_back(v);
    gradients->run(in, out);
    Json all = Json::object();
    for (size_t i = 0; i < named_.size(); ++i) all[named_[i].name] = compare(values_[named_[i].value], found[i]);
    return all;
  }

 private:
  struct Named {
    std::string name;
    size_t value;  // index into values_
  };

  std::shared_ptr<runtime::Executable> session(const graph::InferenceOptions &options, runtime::Options run) {
    graph::Inference in = graph::inference(model_, options);
    std::vector<Tensor> states(values_.begin(), values_.begin() + static_cast<ptrdiff_t>(held_));
    if (in.counts) states.push_back(make_zeros(DType::i64, {}));
    for (size_t i = 0; i < in.cotangent_of.size(); ++i)
      run.alike.push_back({model_.inputs().size() + i, in.cotangent_of[i]});
    return runtime::Executable::make(std::move(in.program), std::move(states), std::make_shared<plan::Packs>(), run);
  }

  static std::vector<runtime::View> views(std::vector<Tensor> &list) {
    std::vector<runtime::View> all;
    for (Tensor &t : list) all.push_back({t.dtype, t.shape, t.data.get()});
    return all;
  }

  // Random cotangents: a plain sum of outputs would hide errors, since that of a softmax is always 1.
  void draw_cotangents() {
    for (const Tensor &y : y_) {
      Tensor c{y.dtype, y.shape, nullptr};
      if (y.dtype == DType::f32) {
        c = make_tensor(y.dtype, y.shape);
        for (float &v : std::span(c.as<float>(), static_cast<size_t>(c.elements())))
          v = static_cast<float>(words_.next() >> 8) / 8388608.0f - 1;
      }
      cotangents_.push_back(std::move(c));
    }
  }

  double objective() {
    outputs_->run(x_, views(y_));
    double sum = 0;
    for (size_t i = 0; i < y_.size(); ++i)
      for (int64_t e = 0; cotangents_[i].data && e < y_[i].elements(); ++e)
        sum += static_cast<double>(y_[i].as<float>()[e]) * static_cast<double>(cotangents_[i].as<float>()[e]);
    return sum;
  }

  // Central differences with two step sizes, extrapolated (Richardson).
  double difference(float &v) {
    const float at = v;
    const double h = o_.step * std::max(1.0, std::abs(static_cast<double>(at)));
    auto central = [&](double by) {
      const auto up = static_cast<float>(static_cast<double>(at) + by), down = static_cast<float>(at - by);
      v = up;
      const double above = objective();
      v = down;
      const double below = objective();
      v = at;
      return (above - below) / (static_cast<double>(up) - static_cast<double>(down));
    };
    return (4 * central(h / 2) - central(h)) / 3;
  }

  Json compare(const Tensor &value, const Tensor &gradient) {
    const int64_t n = gradient.elements(), count = std::min(n, o_.samples);
    const auto reach = static_cast<uint32_t>(std::min<int64_t>(n, UINT32_MAX));
    const float *g = gradient.as<float>();
    double largest = 0, error = 0;
    for (int64_t e = 0; e < n; ++e) largest = std::max(largest, std::abs(static_cast<double>(g[e])));
    Json worst = nullptr;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t e = count == n ? i : static_cast<int64_t>(words_.below(reach));
      const double by_difference = difference(value.as<float>()[e]), by_rule = static_cast<double>(g[e]);
      const double distance = std::abs(by_rule - by_difference);
      if (!worst.is_null() && !(distance > error)) continue;
      error = distance;
      worst = {{"element", e}, {"gradient", by_rule}, {"difference", by_difference}};
    }
    return {{"elements", n}, {"checked", count}, {"largest_gradient", largest}, {"error", error}, {"worst", worst}};
  }

  const graph::Model &model_;
  const GradientCheck o_;
  PhiloxWords words_;
  std::vector<Tensor> values_;  // held values, then inputs; these are varied
  size_t held_ = 0;
  std::vector<runtime::View> x_;
  std::vector<Named> named_;
  std::shared_ptr<runtime::Executable> outputs_;
  std::vector<Tensor> y_, cotangents_;  // by output; no data if not float32
};

}  // namespace

Json check_gradients(const graph::Model &model, std::span<const Tensor> in, const GradientCheck &how,
                     const runtime::Options &run) {
  return Check(model, run, in, how).report(run);
}

}  // namespace dl4::train
