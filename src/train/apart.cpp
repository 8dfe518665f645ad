#include "train/apart.hpp"

#include <cmath>

#include "graph/lower.hpp"
#include "kinds/loss.hpp"

namespace dl4::train {
namespace {

constexpr const char *names[] = {"y_true", "y_pred", "w"};
using Given = std::span<const runtime::View>;

std::vector<Tensor> run(const runtime::Options &how, ops::Program program, Given given) {
  std::vector<runtime::View> to;
  auto session = runtime::Executable::make(std::move(program), {}, std::make_shared<plan::Packs>(), how);
  std::vector<Tensor> made;
  int64_t bytes = 0;
  for (const ops::Operand &o : session->outputs(given)) {
    bytes = checked_add(bytes, checked_mul(o.shape.elements(), size_of(o.dtype)));
    session->need_room(bytes);
    made.push_back(how.memory->tensor(o.dtype, o.shape));
    to.push_back({o.dtype, o.shape, made.back().data.get(), nullptr});
  }
  session->run(given, to);
  return made;
}

Tensor loss(const graph::Settings &settings, const runtime::Options &how, const std::string &name, const Json &of,
            Given given) {
  auto graph = std::make_shared<graph::Graph>(settings);
  std::vector<graph::Node> in;
  for (size_t i = 0; i < given.size(); ++i) in.push_back(graph->input(names[i], given[i].dtype, given[i].shape));
  std::vector<graph::Node> value = graph->add("Loss", name, {{"loss", of}}, {}, in, 1);
  graph::Model model(graph, in, {value[0]});
  return run(how, graph::inference(model).program, given)[0];
}

Tensor metric(const runtime::Options &how, const Json &of, Given given) {
  const kinds::Of<kinds::Metric> kind = kinds::metric_for(of);
  ops::Program program;
  ops::Emit e(program);
  std::vector<ops::Id> in;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].dtype == DType::f64)
      fail(Code::unsupported, names[i], ": expected float32, integers or flags, got float64");
    in.push_back(e.input(names[i], given[i].dtype, given[i].shape));
  }
  for (ops::Id sum : kind->sums(e, in[0], in[1], in.size() > 2 ? in[2] : ops::none, ops::none)) e.output(sum);
  const kinds::Metric::Size size = kind->size(given[1].shape);
  std::vector<double> sums, results(static_cast<size_t>(size.results));
  for (const Tensor &part : run(how, std::move(program), given))
    for (int64_t i = 0; i < part.elements(); ++i) sums.push_back(static_cast<double>(part.as<float>()[i]));
  kind->result(sums, results);
  Tensor made = how.memory->tensor(DType::f32, size.results == 1 ? Shape() : Shape{size.results});
  std::transform(results.begin(), results.end(), made.as<float>(), [](double v) { return static_cast<float>(v); });
  return made;
}

}  // namespace

Tensor measure(const std::string &category, const std::string &kind, const Json &config,
               std::span<const runtime::View> given, const graph::Settings &settings, const runtime::Options &how) {
  // Words that are not names of kinds, such as "accuracy", are resolved as by a trainer.
  const auto &kinds = kinds::entries(category);
  const bool is_kind = std::any_of(kinds.begin(), kinds.end(), [&](const auto *e) { return e->name == kind; });
  Json of = kind;
  if (is_kind || !config.empty()) of = {{"class_name", kind}, {"config", config}};
  return category == "loss" ? loss(settings, how, kind, of, given) : metric(how, of, given);
}

namespace {

// Views are valid until the next batch; the adapter keeps none.
Tensor tensor_of(const runtime::View &v) {
  return {v.dtype, v.shape, Bytes(Bytes(), static_cast<std::byte *>(v.data))};
}

}  // namespace

Json adapt(const std::string &kind, const Json &config, Dataset &data, int64_t memory_limit,
           const std::atomic<int32_t> *cancel) {
  const auto layer = std::static_pointer_cast<const kinds::Layer>(kinds::find("layer", kind).make(config));
  const std::shared_ptr<kinds::Adapter> learner = layer->adapter(memory_limit);
  if (!learner) fail(Code::unsupported, "a layer ", layer->entry().name.view(), " learns nothing from data");
  Batch batch;
  data.start(false, 0);
  for (int64_t i = 0; data.next(batch); ++i) {
    if (cancel && cancel->load(std::memory_order_relaxed)) fail(Code::cancelled, "cancelled at batch ", i);
    if (batch.x.size() != 1) fail(Code::shape_mismatch, "expected one input, got ", batch.x.size());
    if (batch.x[0].strides) fail(Code::unsupported, "expected dense batches, got a strided one");
    learner->add(tensor_of(batch.x[0]));
  }
  return learner->config();
}

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
