// The trainer's life: options, batches in, measures out.
#include "train/trainer.hpp"

#include <algorithm>
#include <cmath>

#include "base/float_mode.hpp"

namespace dl4::train {

namespace {

struct Fields {
  std::string nan_guard;
  kinds::Of<kinds::Optimizer> optimizer;
  bool profile;
  static auto fields() {
    using kinds::field;
    return std::tuple{field("optimizer", &Fields::optimizer).required().doc("a name or {\"class_name\", \"config\"}"),
                      field("nan_guard", &Fields::nan_guard)
                          .otherwise("loss")
                          .one_of({"loss", "gradients", "off"})
                          .doc("what must be finite for an update to be made"),
                      field("profile", &Fields::profile).otherwise(false).doc("keep the time of every step")};
  }
};

}  // namespace

Trainer::Trainer(std::shared_ptr<graph::Model> model, const Json &options, const runtime::Options &run)
    : model_(std::move(model)), options_(options), run_(run) {
  FlushToZero flush;
  Json own = options_.is_null() ? Json::object() : options_;
  kinds::refuse_unknown_keys(own, {"optimizer", "loss", "loss_weights", "metrics", "nan_guard", "profile"});
  for (const char *key : {"loss", "loss_weights", "metrics"}) own.erase(key);
  Fields f;
  kinds::read_fields(f, own);
  if (!f.optimizer) fail(Code::invalid_argument, "\"optimizer\": expected an optimizer, got null");
  optimizer_ = f.optimizer;
  nan_guard_ = f.nan_guard;
  run_.profile = f.profile;
  objective_ = Objective::parse(options_, *model_);
  names_ = objective_.names(*model_);
  targets_ = objective_.targets();
  if (model_->in_training())
    fail(Code::busy, "the model has a trainer already, or one that shares weights with it has");
  block_ = graph::gather_block(model_->weights(), offsets_);
  slot("iterations", DType::i64, {}, 0);
  slot("draws", DType::i64, {}, 0);
  slot("learning_rate", DType::f32, {}, optimizer_->learning_rate);
  // An update into a Program that is thrown away: what the optimizer can't do is refused here, and its slots are made.
  ops::Program p;
  ops::Emit e(p);
  std::vector<std::string> states;
  std::vector<ops::Id> gradients;
  for (size_t i = 0; i < offsets_.size(); ++i)
    if (offsets_[i] >= 0) gradients.push_back(e.input("gradient", DType::f32, model_->weights()[i]->spec.shape));
  if (!gradients.empty()) emit_update(e, e.state("weights", DType::f32, block_.shape), gradients, states);
  model_->set_in_training(true);
}

Trainer::~Trainer() { model_->set_in_training(false); }

void Trainer::check(const Batch &b) const {
  auto count = [](const char *what, size_t expected, size_t got) {
    if (expected != got) fail(Code::invalid_argument, "expected ", expected, ' ', what, ", got ", got);
  };
  count("inputs", model_->inputs().size(), b.x.size());
  count("targets", targets_.size(), b.y.size());
  if (!b.w.empty()) count("sample weights", targets_.size(), b.w.size());
  int64_t size = b.size();
  auto rows = [&](const char *what, size_t i, const runtime::View &v) {
    if (v.shape.rank() == 0 || v.shape[0] != size)
      fail(Code::shape_mismatch, what, ' ', i, ": expected ", size, " rows as in input 0, got shape ", v.shape);
  };
  for (size_t i = 0; i < b.x.size(); ++i) rows("input", i, b.x[i]);
  if (size == 0) fail(Code::invalid_argument, "an empty batch");
  for (size_t i = 0; i < b.w.size(); ++i) {
    rows("sample weight", i, b.w[i]);
    if (b.w[i].dtype != DType::f32)
      fail(Code::invalid_argument, "sample weight ", i, ": expected float32, got ", b.w[i].dtype);
  }
  for (size_t i = 0; i < b.y.size(); ++i) {
    rows("target", i, b.y[i]);
    const auto &o = objective_.outputs[targets_[i]];
    const Shape &prediction = model_->graph().shape(model_->outputs()[targets_[i]]);
    Shape got = b.y[i].shape, expected = o.loss->target_shape(prediction, got), bare = expected;
    while (got.rank() > expected.rank() && got.last() == 1) got = got.without(-1);
    while (bare.rank() > got.rank() && bare.last() == 1) bare = bare.without(-1);
    if (!compatible(bare, got))
      fail(Code::shape_mismatch, "target of output \"", model_->output_name(targets_[i]), "\": expected shape ",
           expected, " for predictions of shape ", prediction, ", got ", b.y[i].shape);
  }
}

runtime::Session &Trainer::session(Entry entry, const Batch &b) {
  FlushToZero flush;
  auto fits = [](const std::vector<Column> &columns, const std::vector<runtime::View> &views) {
    return std::equal(columns.begin(), columns.end(), views.begin(), views.end(),
                      [](const Column &c, const runtime::View &v) {
                        return c.dtype == v.dtype && c.rank == v.shape.rank() && c.is_column == is_column(v.shape);
                      });
  };
  for (Compiled &c : compiled_)
    if (c.entry == entry && fits(c.y, b.y) && fits(c.w, b.w)) return *c.session;
  Compiled c{entry, {}, {}, nullptr, {}};
  for (const auto &v : b.y) c.y.push_back({v.dtype, v.shape.rank(), is_column(v.shape)});
  for (const auto &v : b.w) c.w.push_back({v.dtype, v.shape.rank(), is_column(v.shape)});
  ops::Program p = emit(entry, b, c.states);
  std::vector<Tensor> tensors;
  for (const std::string &state : c.states) tensors.push_back(bound(state));
  c.session = runtime::Session::make(std::move(p), std::move(tensors), nullptr, run_);
  compiled_.push_back(std::move(c));
  return *compiled_.back().session;
}

// After the first call with batches of these shapes nothing is allocated here.
const Sums &Trainer::run(Entry entry, const Batch &b, const std::atomic<int32_t> *cancel) {
  check(b);
  runtime::Session &s = session(entry, b);
  in_.clear();
  for (const auto *views : {&b.x, &b.y, &b.w}) in_.insert(in_.end(), views->begin(), views->end());
  if (cancel) s.plan(in_, cancel);  // a step that has begun is ended
  if (entry == Entry::step) own_weights();

  // Scalars: the loss, then total and perhaps count of each mean.
  values_.resize(s.program().outputs.size());
  out_.clear();
  for (float &v : values_) out_.push_back({DType::f32, {}, &v, nullptr});
  try {
    s.run(in_, out_);
  } catch (Error &error) {
    int64_t done = *slots_.at("iterations").as<int64_t>();
    if (error.code == Code::numeric) error.in(text("training step ", done + 1)).with("iteration", std::to_string(done));
    throw;
  }
  FlushToZero flush;
  sums_.total.clear();
  sums_.count.clear();
  auto size = static_cast<double>(b.size());
  auto add = [&](double total, double count) {
    sums_.total.push_back(total);
    sums_.count.push_back(count);
  };
  add(values_[0] * size, size);
  size_t losses = objective_.outputs.size() > 1 ? targets_.size() : 0, at = 1;
  for (size_t i = 1; i < names_.size(); ++i) {
    bool is_loss = i <= losses;
    if (is_loss)
      add(values_[at] * size, size);
    else
      add(values_[at], values_[at + 1]);
    at += is_loss ? 1 : 2;
  }
  return sums_;
}

void Trainer::need_weights() const {
  if (block_.elements() == 0)
    fail(Code::invalid_argument, "the model has no trainable weight: it can be evaluated, not trained");
}

const Sums &Trainer::step(const Batch &b, const std::atomic<int32_t> *cancel) {
  need_weights();
  return run(Entry::step, b, cancel);
}

const Sums &Trainer::evaluate(const Batch &b, const std::atomic<int32_t> *cancel) {
  return run(Entry::evaluate, b, cancel);
}

const Sums &Trainer::accumulate(const Batch &b) {
  need_weights();
  slot("gradients", DType::f32, block_.shape, 0);
  slot("accumulated", DType::i64, {}, 0);
  return run(Entry::accumulate, b);
}

void Trainer::apply() {
  auto it = slots_.find("accumulated");
  if (it == slots_.end() || *it->second.as<int64_t>() == 0)
    fail(Code::invalid_argument, "apply without accumulate before it");
  runtime::Session &s = session(Entry::apply, {});
  own_weights();
  s.run({}, {});
}

Tensor Trainer::gradient(const std::string &weight) const {
  auto it = slots_.find("accumulated");
  if (it == slots_.end() || *it->second.as<int64_t>() == 0)
    fail(Code::invalid_argument, "no gradients: call accumulate first");
  FlushToZero flush;
  auto n = static_cast<float>(*it->second.as<int64_t>());
  const float *sums = slots_.at("gradients").as<float>();
  auto mean = [&](const float *sum, int64_t size, float *to) {
    for (int64_t i = 0; i < size; ++i) to[i] = sum[i] / n;
  };
  if (weight == "*") {  // the block has gaps between the weights
    Tensor all = make_tensor(DType::f32, Shape{model_->parameters(true)});
    float *to = all.as<float>();
    for (size_t i = 0; i < offsets_.size(); ++i) {
      if (offsets_[i] < 0) continue;
      int64_t size = model_->weights()[i]->spec.shape.elements();
      mean(sums + offsets_[i], size, to);
      to += size;
    }
    return all;
  }
  const auto &w = model_->weight(weight);
  auto index = std::find(model_->weights().begin(), model_->weights().end(), w) - model_->weights().begin();
  int64_t offset = offsets_[static_cast<size_t>(index)];
  if (offset < 0) fail(Code::invalid_argument, "weight \"", weight, "\" is not trainable");
  Tensor one = make_tensor(DType::f32, w->spec.shape);
  mean(sums + offset, one.elements(), one.as<float>());
  return one;
}

double Trainer::get(const std::string &key) const {
  if (key == "learning_rate") return static_cast<double>(*slots_.at(key).as<float>());
  if (key == "iterations") return static_cast<double>(*slots_.at(key).as<int64_t>());
  if (key == "epoch") return static_cast<double>(position.epoch);
  if (key == "batch") return static_cast<double>(position.batch);
  throw Error(Code::not_found, text("a trainer has no value \"", key, '"'))
      .suggest(key, {"learning_rate", "iterations", "epoch", "batch"});
}

void Trainer::set(const std::string &key, double v) {
  get(key);
  if (key != "learning_rate") fail(Code::invalid_argument, '"', key, "\" can be read but not set");
  if (!std::isfinite(v) || v < 0)
    fail(Code::invalid_argument, "\"learning_rate\": expected a finite number of at least 0, got ", v);
  FlushToZero flush;
  *slots_.at(key).as<float>() = static_cast<float>(v);
}

std::string Trainer::describe() {
  std::string s = text("optimizer ", kinds::to_json(optimizer_.get()).dump(), '\n');
  constexpr const char *names[] = {"step", "accumulate", "apply", "evaluate"};
  for (Compiled &c : compiled_) s += text("---- ", names[static_cast<size_t>(c.entry)], '\n', c.session->describe());
  return s;
}

}  // namespace dl4::train
