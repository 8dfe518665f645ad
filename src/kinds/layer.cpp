// Checks of layer calls, with Keras's messages, and call arguments.
// Layers inside layers: their JSON, and calls inside a call.
#include "kinds/layer.hpp"

#include <set>

#include "base/cpu.hpp"
#include "base/hash.hpp"
#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {
namespace {

[[noreturn]] void incompatible(int i, const std::string &what, const Shape &got) {
  fail(Code::shape_mismatch, "input ", i, " is incompatible with the layer: ", what, ". Full shape received: ", got);
}

[[noreturn]] void refuse_inside() {
  fail(Code::unsupported, "weights of the graph are read and assigned in the graph itself, not inside of a layer");
}

}  // namespace

ops::Id Host::graph_weight(const std::string &) { refuse_inside(); }
void Host::assign(int, ops::Id) { refuse_inside(); }

void Arity::check(size_t inputs) const {
  const auto n = static_cast<int>(inputs);
  if (n < least || n > most)
    fail(Code::invalid_argument, "expected ", least,
         least == most        ? ""
         : most == any_number ? " or more"
                              : text(" to ", most),
         least == 1 && most == 1 ? " input" : " inputs", ", got ", n);
}

bool rounds(const ops::Emit &e, const std::string &layer) {
  if (e.mixed != ops::Emit::Mixed::missing) return e.mixed == ops::Emit::Mixed::yes;
  throw Error(Code::unsupported, text("layer \"", layer,
                                      "\": \"dtype\": expected a processor with AVX512_BF16, or the context's option "
                                      "\"emulate_bfloat16\", to train in mixed_bfloat16, got ",
                                      cpu::name(), " (", cpu::isa(), ')'))
      .with("layer", layer)
      .with("attribute", "dtype");
}

ops::Id Call::mask(int i) const {
  auto given = symbols("mask");
  if (given.empty()) return in[static_cast<size_t>(i)].mask;
  if (static_cast<size_t>(i) >= given.size()) return ops::none;
  ops::Id m = given[static_cast<size_t>(i)].value;
  if (m == ops::none) return m;
  const Shape s = e.shape(m), value = shape(i);
  if (!is_mask_of(s, value))
    fail(Code::shape_mismatch, "\"mask\": expected the first axes of input ", i, " with shape ", value, ", got ", s);
  return given_for(e, m, x(i));
}

bool Call::training() const { return flag("training", training_); }

bool Call::flag(const std::string &key, bool fallback) const {
  const Json *given = arguments_.plain.find(key);
  if (!given || given->is_null()) return fallback;
  try {
    return from_json<bool>(*given);
  } catch (Error &error) {
    throw error.with("argument", key).in("\"" + key + "\"");
  }
}

std::span<const Symbol> Call::symbols(const std::string &key) const {
  auto it = arguments_.symbols.find(key);
  if (it == arguments_.symbols.end()) return {};
  return it->second;
}

void Call::penalize(const Of<Regularizer> &regularizer, ops::Id output) {
  if (!regularizer) return;
  ops::Id penalty = regularizer->penalty(e, output);
  if (e.rank(output) > 0) {
    ops::Id batch = ops::reduce(e, ops::Reduce::sum, ops::fill(e, DType::f32, 1, output, 1, {}), {});
    // No penalty for an empty batch, instead of 0 / 0.
    penalty = ops::div(e, penalty, ops::binary(e, ops::Binary::max, batch, e.scalar(1)));
  }
  host.add_loss(penalty);
}

int64_t Call::last_dim(int i) const {
  need_rank_from(i, 1);
  if (shape(i).last() == free_dim)
    fail(Code::shape_mismatch, "the last dimension of input ", i, " should be known. Full shape received: ", shape(i));
  return shape(i).last();
}

void Call::need_rank(int i, int rank) const {
  if (shape(i).rank() != rank)
    incompatible(i, text("expected ndim=", rank, ", found ndim=", shape(i).rank()), shape(i));
}

void Call::need_rank_from(int i, int rank) const {
  if (shape(i).rank() < rank)
    incompatible(i, text("expected min_ndim=", rank, ", found ndim=", shape(i).rank()), shape(i));
}

void Call::need_float(int i) const {
  if (e.dtype(x(i)) != DType::f32)
    fail(Code::invalid_argument, "input ", i,
         " is incompatible with the layer: expected dtype=float32, found dtype=", e.dtype(x(i)));
}

void Call::need_strings(int i) const {
  if (e.dtype(x(i)) != DType::string)
    fail(Code::invalid_argument, "input ", i, ": expected strings, got ", e.dtype(x(i)));
}

void Call::as_float(int i) {
  Symbol &s = in[static_cast<size_t>(i)];
  s.value = ops::cast(e, s.value, DType::f32);
}

void Call::join_types() {
  DType type = e.dtype(x());
  for (const Symbol &s : in) type = joined_type(type, e.dtype(s.value));
  for (Symbol &s : in) s.value = ops::cast(e, s.value, type);
}

DType joined_type(DType a, DType b) {
  if (a == DType::string && b == a) return a;
  constexpr DType ascending[] = {DType::boolean, DType::u8, DType::i32, DType::i64, DType::f32};
  const auto *place = std::max(std::find(std::begin(ascending), std::end(ascending), a),
                               std::find(std::begin(ascending), std::end(ascending), b));
  return place == std::end(ascending) ? DType::f32 : *place;
}

namespace {

// The host of an inner layer: forwards requests to the outer layer's host with prefixed names.
class InnerHost final : public Host {
 public:
  InnerHost(Host &outer, const InnerLayer &layer, int64_t number, const WeightOf &weight_of)
      : outer_(outer),
        weight_of_(weight_of),
        prefix_(layer.name + '/'),
        frozen_(!layer.trainable),
        penalized_(layer.penalized),
        carries_(layer.carries),
        number_(static_cast<uint64_t>(number)) {}

  ops::Id weight(const WeightSpec &spec) override {
    WeightSpec inner = spec;
    inner.name = prefix_ + spec.name;
    inner.frozen |= frozen_;
    return weight_of_ ? weight_of_(inner) : outer_.weight(inner);
  }
  uint64_t random_seed(std::optional<int64_t> own) override {
    uint64_t seed = outer_.random_seed(own);
    if (!own) seed = Fnv1a{seed}.add(prefix_).value;  // differently named layers draw different numbers
    return seed + number_ * 0xD1B54A32D192ED03u;
  }
  ops::Id draws() override { return outer_.draws(); }
  std::shared_ptr<ops::Collective> collective() override { return outer_.collective(); }
  void add_loss(ops::Id scalar) override {
    if (penalized_) pass_on(scalar);
  }
  void write(const std::string &name, ops::Id value) override { outer_.write(prefix_ + name, value); }
  ops::Id carried(const std::string &name, const Shape &shape, bool stateful) override {
    return stateful || carries_ ? outer_.carried(prefix_ + name, shape, stateful) : ops::none;
  }
  void carry(const std::string &name, ops::Id value, bool stateful) override {
    if (stateful || carries_) outer_.carry(prefix_ + name, value, stateful);
  }
  bool trainable(const std::string &inside) const override { return outer_.trainable(prefix_ + inside); }
  void refuse_training(const std::string &why) override { outer_.refuse_training(why); }

 private:
  // Forwards the penalty to an enclosing layer, whether this layer is penalized itself or not.
  void pass_on(ops::Id scalar) {
    if (auto *around = dynamic_cast<InnerHost *>(&outer_))
      around->pass_on(scalar);
    else
      outer_.add_loss(scalar);
  }

  Host &outer_;
  const WeightOf &weight_of_;
  const std::string prefix_;
  const bool frozen_, penalized_, carries_;
  const uint64_t number_;
};

class Scope {
 public:
  Scope(ops::Emit &e, const std::string &name) : e_(e), before_(e.scope) {
    e.scope += (before_.empty() ? "" : "/") + name;
  }
  ~Scope() { e_.scope = std::move(before_); }
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

 private:
  ops::Emit &e_;
  std::string before_;
};

class Rounding {
 public:
  Rounding(ops::Emit &e, bool bfloat16) : e_(e), before_(std::exchange(e.bfloat16, bfloat16)) {}
  ~Rounding() { e_.bfloat16 = before_; }
  Rounding(const Rounding &) = delete;
  Rounding &operator=(const Rounding &) = delete;

 private:
  ops::Emit &e_;
  const bool before_;
};

void need_inner_name(const std::string &name) {
  constexpr size_t max_name = 1024;
  if (!name.empty() && name.size() <= max_name && name.find('/') == std::string::npos) return;
  refuse_attribute("name", "expected 1 to ", max_name, " bytes without a slash, got ", Json(name).shown());
}

}  // namespace

std::vector<Symbol> Call::run(const InnerLayer &layer, std::vector<Symbol> inputs, const Arguments &arguments,
                              const WeightOf &weight_of) {
  auto &[kind, count] = inner_[layer.name];
  if (!kind) kind = layer.kind.get();
  if (kind != layer.kind.get())
    fail(Code::invalid_argument, "expected inner layers of different names, got two of \"", layer.name, '"');
  Scope scope(e, layer.name);
  Rounding rounding(e, e.bfloat16 || (layer.mixed_bfloat16 && rounds(e, layer.name)));
  InnerHost inner(host, layer, count++, weight_of);
  try {
    layer->arity().check(inputs.size());
    Call call(e, inner, std::move(inputs), arguments, training());
    return layer->call(call);
  } catch (Error &error) {
    throw error.in("inner layer \"" + layer.name + "\"");
  }
}

InnerLayer InnerLayer::with(const std::string &new_name, const Json &changes) const {
  Json config = kind->config();
  config.update(changes);
  InnerLayer made{std::static_pointer_cast<const Layer>(kind->entry().make(config)), new_name, trainable};
  made.mixed_bfloat16 = mixed_bfloat16;
  return made;
}

InnerLayer InnerLayer::parse(const Json &j) {
  InnerLayer layer;
  Json plain = j;
  if (const Json *given = j.find("config"); given && given->is_object()) {
    Json config = *given;
    if (const Json *name = config.find("name")) {
      need_name(*name);
      if (name->is_string()) need_inner_name(layer.name = name->get<std::string>());
      config.erase("name");
    }
    if (const Json *yes = config.find("trainable")) {
      if (!yes->is_boolean()) refuse_attribute("trainable", "expected true or false, got ", yes->shown());
      layer.trainable = yes->get<bool>();
      config.erase("trainable");
    }
    if (const Json *dtype = config.find("dtype"); dtype && is_mixed_bfloat16(*dtype)) {
      layer.mixed_bfloat16 = true;
      config.erase("dtype");
    }
    plain["config"] = std::move(config);
  }
  layer.kind = kinds::parse<Layer>(plain);
  if (layer.kind && layer.name.empty()) layer.name = snake_case(layer->entry().name);
  return layer;
}

Json InnerLayer::to_json() const {
  Json j = kinds::to_json(kind.get());
  if (!kind) return j;
  j["config"]["name"] = name;
  j["config"]["trainable"] = trainable;
  if (mixed_bfloat16) j["config"]["dtype"] = kinds::mixed_bfloat16;
  return j;
}

bool by_sample(const Layer &layer) {
  const Facts facts = layer.facts();
  const auto first = [](const Port &port) { return port.shape.view().starts_with("(B"); };
  return std::all_of(facts.inputs.begin(), facts.inputs.end(), first) &&
         std::all_of(facts.outputs.begin(), facts.outputs.end(), first);
}

void number_names(std::vector<InnerLayer> &list) {
  std::set<std::string> taken;
  for (InnerLayer &layer : list) {
    const std::string base = layer.name;
    for (int64_t i = 1; !taken.insert(layer.name).second; ++i) layer.name = text(base, '_', i);
  }
}

std::string snake_case(const std::string &name) {
  auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string s;
  for (size_t i = 0; i < name.size(); ++i) {
    bool word = i > 0 && upper(name[i]) && ((i + 1 < name.size() && lower(name[i + 1])) || lower(name[i - 1]));
    if (word) s += '_';
    s += upper(name[i]) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return s;
}

Facts facts_of(const std::string &class_name) {
  for (const Entry *e : entries(Layer::category))
    if (e->name == class_name) return static_cast<const Layer &>(*e->fresh(*e)).facts();
  return {};
}

}  // namespace dl4::kinds
