// Weights of a model and their memory; the block of those that a trainer updates.
#include "graph/model.hpp"

#include <set>

#include "base/float_mode.hpp"

namespace dl4::graph {

bool make_writable(Weight &w) {
  if (w.block() && !w.block()->pinned()) return false;
  auto block = std::make_shared<Block>(round_up(w.value().bytes(), size_of(DType::f32)) / size_of(DType::f32));
  std::byte *to = block->values.data.get();
  std::ranges::copy(w.value().memory(), to);
  w.value().data = Bytes(block, to);
  w.block() = std::move(block);
  return true;
}

Parameters::Parameters(Weights weights) : weights_(std::move(weights)), outside_(weights_.size(), nullptr) {
  constexpr int64_t line = 16;  // floats per cache line; every weight starts on one
  int64_t total = 0;
  std::vector<Tensor> alone(weights_.size());
  for (size_t i = 0; i < weights_.size(); ++i) {
    const Weight &w = *weights_[i];
    frozen_.push_back(w.frozen());
    offsets_.push_back(w.trainable() ? total : -1);
    if (w.trainable()) {
      elements_ += w.spec.shape.elements();
      total = round_up(checked_add(total, w.spec.shape.elements()), line);
    } else if (w.spec.trainable && w.block()) {
      alone[i] = clone(w.value());  // frozen since: sharing would keep all of the old block alive
    }
  }
  auto block = std::make_shared<Block>(total);
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (!alone[i].data) continue;
    weights_[i]->value() = std::move(alone[i]);
    weights_[i]->block().reset();
  }
  move_to(std::move(block));
  collect();
}

void Parameters::move_to(std::shared_ptr<Block> block) {
  block_ = std::move(block);
  ++version_;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (offsets_[i] < 0) continue;
    Weight &w = *weights_[i];
    std::ranges::copy(w.value().memory(), place(i));
    w.value().data = Bytes(block_, place(i));
    w.block() = block_;
  }
}

bool Parameters::is_current() const {
  for (size_t i = 0; i < weights_.size(); ++i)
    if (weights_[i]->frozen() != frozen_[i]) return false;
  return true;
}

void Parameters::collect() {
  bool strays = false;
  for (size_t i = 0; i < weights_.size(); ++i) {
    std::byte *at = weights_[i]->value().data.get();
    if (offsets_[i] >= 0) {
      strays |= at != place(i);
    } else if (at != outside_[i]) {
      outside_[i] = at;
      ++version_;
    }
  }
  if (!strays) return;
  make_writable();
  for (size_t i = 0; i < weights_.size(); ++i) {
    Weight &w = *weights_[i];
    if (offsets_[i] < 0 || w.value().data.get() == place(i)) continue;
    std::ranges::copy(w.value().memory(), place(i));
    w.value().data = Bytes(block_, place(i));
    w.block() = block_;
  }
}

void Parameters::make_writable() {
  if (block_->pinned()) move_to(std::make_shared<Block>(block().elements()));
}

void Parameters::make_others_writable(bool evaluation) {
  for (size_t i = 0; i < weights_.size(); ++i) {
    Weight &w = *weights_[i];
    if (!w.written() || (evaluation && !w.spec.kept)) continue;
    if (offsets_[i] >= 0) make_writable();
    if (!graph::make_writable(w)) continue;
    outside_[i] = w.value().data.get();
    ++version_;
  }
}

void Weight::set(Tensor own) noexcept {
  if (block() && !block()->pinned()) {
    std::ranges::copy(own.memory(), value().data.get());
    return;
  }
  value() = std::move(own);
  block().reset();
}

Model::Model(std::shared_ptr<const Graph> graph, std::vector<Node> in, std::vector<Node> out, bool initialise)
    : graph_(std::move(graph)), in_(std::move(in)), out_(std::move(out)) {
  if (out_.empty()) fail(Code::invalid_argument, "a model needs at least one output");
  std::set<LayerId> layers;
  std::map<const Stored *, const std::string *> names_of;
  for (CallId c : needed_calls(*graph_, in_, out_)) {
    const Call &call = graph_->calls()[c];
    layers.insert(call.layer);
    if (call.weight) layers.insert(call.weight->layer);
    const auto &kind = graph_->layers()[call.layer].kind;
    assigns_ |= kind && kind->assigns();
  }
  for (LayerId l : layers)
    for (const auto &w : graph_->layers()[l].weights) {
      if (const auto it = names_of.try_emplace(w->stored.get(), &w->name); !it.second)
        fail(Code::unsupported, "weight \"", *it.first->second, "\" is in the model as \"", w->name,
             "\" too: a model can't have itself, or its layers, inside again");
      (w->spec.kept ? kept_ : weights_).push_back(w);
      if (!by_name_.emplace(w->name, w).second)  // of layer "a/b", and of layer "b" inside layer "a"
        fail(Code::invalid_argument, "two weights of the model are named \"", w->name, '"');
    }
  int64_t bytes = 0;
  for (const auto &w : held())
    bytes = checked_add(bytes, checked_mul(w->spec.shape.elements(), size_of(w->spec.dtype)));
  if (int64_t limit = graph_->settings().memory_limit; bytes > limit)
    fail(Code::out_of_memory, "the weights take ", bytes, " bytes, the memory limit is ", limit);
  FlushToZero flush;
  for (const auto &w : held())
    if (initialise && !w->value().data) w->initialise();
  std::set<std::string> names;
  for (size_t i = 0; i < out_.size(); ++i) {
    std::string name = graph_->layer_of(graph_->origin(out_[i]).call).name;
    if (names.count(name)) name = text(name, '_', i);  // further outputs of a layer need distinct names
    names.insert(name);
    output_names_.push_back(std::move(name));
  }
}

std::vector<std::shared_ptr<Weight>> Model::held() const {
  std::vector<std::shared_ptr<Weight>> all = weights_;
  all.insert(all.end(), kept_.begin(), kept_.end());
  return all;
}

const std::string &Model::input_name(size_t i) const { return graph_->layer_of(graph_->origin(in_[i]).call).name; }

const std::shared_ptr<Weight> &Model::weight(const std::string &name) const {
  if (auto it = by_name_.find(name); it != by_name_.end()) return it->second;
  std::vector<std::string> names;
  for (const auto &w : weights_) names.push_back(w->name);
  throw Error(Code::not_found, text("the model has no weight \"", name, '"')).with("weight", name).suggest(name, names);
}

int64_t Model::parameters(bool trainable) const {
  int64_t n = 0;
  for (const auto &w : weights_)
    if (w->trainable() == trainable) n += w->spec.shape.elements();
  return n;
}

bool Model::in_training() const {
  return std::any_of(weights_.begin(), weights_.end(),
                     [](const auto &w) { return w->stored->in_training.load(std::memory_order_acquire); });
}

// A trainer ends on whichever thread drops the last reference, without a gate: hence the release.
void Model::set_in_training(bool yes) {
  for (const auto &w : weights_) w->stored->in_training.store(yes, std::memory_order_release);
}

std::vector<Weight *> Model::named(const std::string &name) const {
  if (name != "*") return {weight(name).get()};
  std::vector<Weight *> all;
  for (const auto &w : weights_)
    if (w->trainable()) all.push_back(w.get());
  return all;
}

Tensor Model::get_weight(const std::string &name) const {
  if (name != "*") return dl4::clone(weight(name)->value());
  Tensor all = make_tensor(DType::f32, Shape{parameters(true)});
  std::byte *to = all.data.get();
  for (const Weight *w : named(name)) {
    to = std::ranges::copy(w->value().memory(), to).out;
  }
  return all;
}

void Model::set_weight(const std::string &name, const Tensor &value) {
  need_fit(name, value.dtype, value.shape);
  const std::vector<Weight *> list = named(name);
  std::vector<Tensor> own;  // all of them, before any is set
  const std::byte *from = value.data.get();
  for (const Weight *w : list) {
    own.push_back(make_tensor(w->spec.dtype, w->spec.shape));
    std::copy_n(from, own.back().bytes(), own.back().data.get());
    from += own.back().bytes();
  }
  for (size_t i = 0; i < list.size(); ++i) list[i]->set(std::move(own[i]));
}

void Model::set_trainable(const std::string &name, bool yes) {
  std::vector<Weight *> list;
  const auto part = [&](const Weight &w) {  // of a layer, or of one inside it
    return name.size() + w.spec.name.size() + 1 >= w.name.size() && w.name.rfind(name + '/', 0) == 0;
  };
  for (const auto &w : held())
    if (name == "*" || name == w->name || part(*w)) list.push_back(w.get());
  if (list.empty() && name != "*") {
    const auto &layers = graph_->layers();
    if (std::any_of(layers.begin(), layers.end(), [&](const Layer &l) { return l.name == name; })) return;
    std::vector<std::string> names;
    for (const Layer &l : layers) names.push_back(l.name);
    for (const auto &w : weights_) names.push_back(w->name);
    throw Error(Code::not_found, text("the model has no layer and no weight \"", name, '"')).suggest(name, names);
  }
  for (Weight *w : list) w->frozen() = !yes;
}

void Model::need_fit(const std::string &name, DType dtype, const Shape &shape) const {
  const bool all = name == "*";
  const Shape expected = all ? Shape{parameters(true)} : weight(name)->spec.shape;
  const DType type = all ? DType::f32 : weight(name)->spec.dtype;
  if (dtype != type || shape != expected)
    throw Error(Code::shape_mismatch, text(all ? "the trainable weights" : "weight \"" + name + '"', ": expected ",
                                           type, ' ', expected, ", got ", dtype, ' ', shape))
        .with("weight", name);
}

std::vector<Tensor> Model::pin() const {
  std::vector<Tensor> values;
  std::shared_ptr<Pin> pin;  // weights of one block share it
  for (const auto &w : held()) {
    values.push_back(w->value());
    if (!w->block()) continue;
    if (!pin || pin->block != w->block()) pin = std::make_shared<Pin>(w->block());
    values.back().data = Bytes(pin, w->value().data.get());
  }
  return values;
}

Architecture Model::architecture() const {
  const std::vector<CallId> calls = needed_calls(*graph_, in_, out_);
  return graph_->architecture(in_, out_, &calls);
}

std::shared_ptr<Model> Model::clone() const {
  return model_of(architecture(), graph_->settings(),
                  [&](const Weight &w) { return dl4::clone(weight(w.name)->value()); });
}

std::shared_ptr<const Model> model_of(const Architecture &architecture) {
  auto graph = std::make_shared<Graph>(Settings{});
  std::vector<Node> in, out;
  graph->merge(architecture, &in, &out);
  return std::make_shared<const Model>(std::move(graph), std::move(in), std::move(out), false);
}

std::shared_ptr<Model> model_of(const Architecture &architecture, const Settings &settings,
                                const std::function<Tensor(const Weight &)> &value) {
  auto graph = std::make_shared<Graph>(settings);
  std::vector<Node> in, out;
  graph->merge(architecture, &in, &out);
  for (const Layer &layer : graph->layers())
    for (const auto &w : layer.weights)
      if (!w->spec.kept) w->value() = value(*w);
  return std::make_shared<Model>(std::move(graph), std::move(in), std::move(out));
}

}  // namespace dl4::graph
