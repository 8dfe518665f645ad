// Optimizer variables in Keras's order, and compile configs.
#include "io/keras/store.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kinds/signatures.hpp"

namespace dl4::io {
namespace {

namespace kept = train::kept;

// By group; each group has all weights consecutively.
kinds::SlotGroups groups(const kinds::Optimizer &o, const kinds::Part &part) {
  kinds::SlotGroups all = o.slots(part);
  if (o.use_ema) all.insert(all.begin(), std::vector<kinds::Slot>{{kinds::average_slot}});
  return all;
}

// A variable: a part of a tensor in the trainer's state.
struct Variable {
  std::string name;  // none: unused zeros
  Shape shape;
  int64_t offset = 0;  // in elements
};

std::vector<Variable> variables_of(const train::Trainer &t, const std::vector<std::string> &order) {
  const kinds::Optimizer &o = t.optimizer();
  if (o.gradient_accumulation_steps.value_or(0) > 0)
    fail(Code::unsupported, "\"gradient_accumulation_steps\": what was accumulated cannot be stored in Keras's files");
  const auto in_state = [](const std::string &name) { return kept::slot_prefix + name; };
  std::map<std::string, std::pair<const graph::Weight *, int64_t>> trained;
  t.parameters().each([&](const graph::Weight &w, int64_t offset, int64_t) { trained[w.name] = {&w, offset}; });
  std::vector<Variable> all{{in_state(kept::iterations), {}}};
  if (!o.learning_rate.schedule) all.push_back({in_state(kept::learning_rate), {}});
  std::vector<std::vector<Variable>> by_group;
  for (const std::string &name : order) {
    const auto it = trained.find(name);
    if (it == trained.end()) continue;
    const auto &[w, offset] = it->second;
    const kinds::SlotGroups its_groups = groups(o, {name, w->spec.shape, offset, true});
    by_group.resize(its_groups.size());
    for (size_t g = 0; g < its_groups.size(); ++g)
      for (const kinds::Slot &slot : its_groups[g])
        if (*slot.name == 0)
          by_group[g].push_back({"", *slot.own});
        else if (slot.own)
          by_group[g].push_back({in_state(kept::slot_of(name, slot.name)), *slot.own});
        else
          by_group[g].push_back({in_state(kept::slot(slot.name)), w->spec.shape, offset});
  }
  for (auto &group : by_group) all.insert(all.end(), group.begin(), group.end());
  for (const kinds::Slot &number : o.numbers()) all.push_back({in_state(kept::slot(number.name)), {}});
  return all;
}

const Tensor &find(const std::map<std::string, Tensor> &state, const std::string &name) {
  const auto it = state.find(name);
  if (it == state.end()) fail(Code::internal, "the trainer keeps no \"", name, '"');
  return it->second;
}

void need_in_keras(const char *category, const std::string &name) {
  if (!kinds::signature(category, name))
    fail(Code::unsupported, "the ", category, ' ', name, " has no counterpart in Keras");
}

// Adds Keras's modules to kinds, also in lists and by output name.
Json with_module(const Json &j, const char *category) {
  if (j.is_array()) {
    Json list = Json::array();
    for (const Json &item : j) list.push_back(with_module(item, category));
    return list;
  }
  if (j.is_string()) {
    const auto &known = kinds::entries(category);
    const auto is_class = [&](const kinds::Entry *e) { return j == e->name.view(); };
    if (std::any_of(known.begin(), known.end(), is_class)) need_in_keras(category, j.get<std::string>());
  }
  if (!j.is_object()) return j;
  Json to = j;
  if (const Json *name = j.find("class_name")) {
    need_in_keras(category, name->get<std::string>());
    to["module"] = kinds::keras_module(category);
    to["registered_name"] = nullptr;
    return to;
  }
  for (const auto &[key, value] : j.items()) to[key] = with_module(value, category);
  return to;
}

// Functions of Keras are stored by name; others are code.
Json known(const Json &j, const char *what) {
  if (j.is_array()) {
    Json list = Json::array();
    for (const Json &item : j) list.push_back(known(item, what));
    return list;
  }
  if (!j.is_object()) return j;
  const Json *name = j.find("class_name"), *module = j.find("module"), *registered = j.find("registered_name");
  if (!name) {
    Json to = Json::object();
    for (const auto &[key, value] : j.items()) to[key] = known(value, what);
    return to;
  }
  const Json *config = j.find("config");
  const bool own = (module && module->is_string() && !module->get<std::string_view>().starts_with("keras")) ||
                   (registered && registered->is_string() &&
                    registered->get<std::string_view>().find('>') != std::string_view::npos);
  if (own)
    fail(Code::unsupported, "the ", what, ' ', (*name == "function" && config ? *config : *name).shown(),
         " is not Keras's: its code is not in the file; give the trainer's options");
  if (*name == "function" && config) return *config;
  return {{"class_name", *name}, {"config", config ? *config : Json::object()}};
}

}  // namespace

Json trainer_options(const Json &compiled) {
  if (!compiled.is_object()) return nullptr;
  Json options = Json::object();
  if (const Json *old = compiled.find("optimizer_config")) options["optimizer"] = known(*old, "optimizer");
  for (const char *key : {"optimizer", "loss", "loss_weights", "metrics", "weighted_metrics"})
    if (const Json *v = compiled.find(key); v && !v->is_null()) options[key] = known(*v, key);
  return options.contains("optimizer") ? options : Json(nullptr);
}

Json compile_config(const train::Trainer &t) {
  const Json &options = t.options();
  if (const Json *excluded = options.find("exclude_from_weight_decay"); excluded && !excluded->empty())
    fail(Code::unsupported, "\"exclude_from_weight_decay\" cannot be stored in Keras's files");
  if (const Json *loss = options.find("loss"); loss && *loss == "output")
    fail(Code::unsupported, "\"loss\": an output that is the loss cannot be stored in Keras's files");
  Json optimizer{{"class_name", t.optimizer().entry().name.view()}, {"config", t.optimizer().config()}};
  Json &rate = optimizer["config"]["learning_rate"];
  rate = rate.is_object() ? with_module(rate, "schedule") : Json(t.get("learning_rate"));
  Json config{{"optimizer", with_module(optimizer, "optimizer")}};
  config["loss"] = with_module(options.value("loss", nullptr), "loss");
  config["loss_weights"] = options.value("loss_weights", nullptr);
  for (const char *key : {"metrics", "weighted_metrics"})
    config[key] = with_module(options.value(key, nullptr), "metric");
  config["run_eagerly"] = false;
  config["steps_per_execution"] = 1;
  config["jit_compile"] = false;
  return config;
}

std::vector<Tensor> keras_variables(const train::Trainer &t, const std::vector<std::string> &order) {
  const std::map<std::string, Tensor> state = t.state();
  std::vector<Tensor> all;
  for (const Variable &v : variables_of(t, order)) {
    if (v.name.empty()) {  // in Keras integers if the weight is no matrix
      all.push_back(make_zeros(v.shape.rank() == 0 ? DType::i32 : DType::f32, v.shape));
      continue;
    }
    const Tensor &from = find(state, v.name);
    Tensor to = make_tensor(from.dtype, v.shape);
    std::copy_n(from.data.get() + v.offset * size_of(from.dtype), to.bytes(), to.data.get());
    all.push_back(std::move(to));
  }
  return all;
}

std::map<std::string, Tensor> state_with(const train::Trainer &t, const std::vector<std::string> &order,
                                         const std::vector<Tensor> &variables, const std::vector<Tensor> &weights) {
  std::map<std::string, Tensor> state = t.state(), changed;
  std::vector<Variable> wanted = variables_of(t, order);
  // Keras creates optimizer slots at the first step.
  const size_t heads = t.optimizer().learning_rate.schedule ? 1 : 2;
  const bool fresh = variables.size() == heads && variables[0].dtype == DType::i64 && variables[0].elements() == 1 &&
                     *variables[0].as<int64_t>() == 0;
  if (fresh && t.get("iterations") == 0 && wanted.size() > heads) wanted.resize(heads);
  if (wanted.size() != variables.size())
    fail(Code::shape_mismatch, "the optimizer has ", wanted.size(), " variables, the file ", variables.size());
  for (size_t n = 0; n < wanted.size(); ++n) {
    const Variable &v = wanted[n];
    if (v.name.empty()) continue;
    auto it = changed.find(v.name);
    if (it == changed.end()) it = changed.emplace(v.name, clone(find(state, v.name))).first;
    Tensor &to = it->second;
    const Tensor &from = variables[n];
    if (from.dtype != to.dtype || !std::ranges::equal(from.shape.dims(), v.shape.dims()))
      fail(Code::shape_mismatch, "variable ", n, " of the optimizer: expected ", to.dtype, ' ', v.shape,
           ", the file has ", from.dtype, ' ', from.shape);
    std::ranges::copy(from.memory(), to.data.get() + v.offset * size_of(to.dtype));
  }
  for (auto &[name, tensor] : changed) state[name] = std::move(tensor);
  for (size_t i = 0; i < weights.size(); ++i) state[kept::weight_prefix + t.model().weights()[i]->name] = weights[i];
  return state;
}

}  // namespace dl4::io
