// Layers inside layers: their JSON, and calls inside a call.
#include "kinds/inner_layer.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace dl4::kinds {
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
