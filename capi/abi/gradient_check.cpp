// A model's gradients beside differences of its outputs.
#include <algorithm>
#include <cmath>

#include "base/rng.hpp"
#include "graph/lower.hpp"
#include "options.hpp"

namespace dl4::capi {
namespace {

struct CheckOptions {
  int64_t samples = 20, seed = 0;
  double step = 5e-3;
  bool training = false;
  void fields(kinds::Fields &f) {
    f("samples", samples).at_least(1).doc("elements of each input and weight that are moved");
    f("step", step).at_least(1e-6).at_most(1).doc("how far an element is moved, times its size where that is over 1");
    f("training", training).doc("run as a training step does; what is dropped is the same each time");
    f("seed", seed).doc("of the cotangents and of the elements that are moved");
  }
};

// The model as two sessions over one set of values: its outputs, and their gradients.
class Check {
 public:
  Check(const graph::Model &model, runtime::Options run, std::span<const dl4_tensor *const> in, const CheckOptions &o)
      : model_(model), o_(o), words_({static_cast<uint64_t>(o.seed), 0}) {
    for (const Tensor &t : model.pin()) values_.push_back(clone(t));
    for (const dl4_tensor *t : in) {
      Tensor dense = clone(t->as_dense());
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
    size_t value;  // of values_
  };

  std::shared_ptr<runtime::Executable> session(const graph::InferenceOptions &options, runtime::Options run) {
    graph::Inference in = graph::inference(model_, options);
    std::vector<Tensor> states(values_.begin(), values_.begin() + static_cast<ptrdiff_t>(held_));
    if (in.counts) states.push_back(make_zeros(DType::i64, {}));
    for (size_t i = 0; i < in.cotangent_of.size(); ++i)
      run.alike.push_back({model_.inputs().size() + i, in.cotangent_of[i]});
    return runtime::Executable::make(std::move(in.program), std::move(states), std::make_shared<ops::Packs>(), run);
  }

  static std::vector<runtime::View> views(std::vector<Tensor> &list) {
    std::vector<runtime::View> all;
    for (Tensor &t : list) all.push_back({t.dtype, t.shape, t.data.get()});
    return all;
  }

  // A sum of outputs alone would hide much: that of a softmax is always 1.
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

  // By central differences at two steps, extrapolated (Richardson).
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
  const CheckOptions o_;
  PhiloxWords words_;
  std::vector<Tensor> values_;  // what the model holds, then inputs: what is moved
  size_t held_ = 0;
  std::vector<runtime::View> x_;
  std::vector<Named> named_;
  std::shared_ptr<runtime::Executable> outputs_;
  std::vector<Tensor> y_, cotangents_;  // by output; no data where it is not float32
};

}  // namespace

Json describe_check_options() { return kinds::describe_fields<CheckOptions>(); }

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_model_check_gradients(const dl4_model *m, dl4_tensor *const *in, int64_t n_in, const dl4_attrs *options,
                                     dl4_blob **out) {
  clear(out);
  return guard(__func__, [&](Entry &entry) {
    const dl4_model &model = object(m, "m");
    dl4_blob *&to = needed(out, "out");
    const auto o = read_options<CheckOptions>(options);
    std::vector<const dl4_tensor *> given;
    for (dl4_tensor *t : array(in, n_in, "in")) given.push_back(&element(t, "in", given.size()));
    entry.owes(model.context->log);
    Gate::Reading reading(*model.weights, "model");
    const runtime::Options run = model.context->options();
    to = make_blob(dump(Check(*model.core, run, given, o).report(run)));
  });
}
