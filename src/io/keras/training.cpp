// What layers have besides weights, under the path of these (layers/string_lookup_1); optimizer variables in Keras's
// order, and compile configs.
#include "base/take.hpp"
#include "io/bytes.hpp"
#include "io/keras/operations.hpp"
#include "io/keras/paths.hpp"
#include "io/keras/store.hpp"
#include "kinds/layers/preprocessing/lookup.hpp"
#include "kinds/signatures.hpp"

namespace dl4::io {
namespace {

bool is_lookup(std::string_view name) {
  return name == "StringLookup" || name == "IntegerLookup" || name == "TextVectorization";
}

int64_t integer_of(std::string_view line, const std::string &member) {
  int64_t v = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), v);
  if (error != std::errc() || end != line.data() + line.size())
    fail(Code::corrupt_file, '"', member, "\": expected an integer in each line, got \"", printable(excerpt(line)),
         '"');
  return v;
}

// f(layer, class, path) in the place of each layer with a vocabulary.
template <class F>
Json with_lookups(const Json &model, const std::string &path, const F &f) {
  const Json *config = model.find("config"), *layers = config ? config->find("layers") : nullptr;
  if (!layers || !layers->is_array()) return model;
  KerasNames names;
  Json list = Json::array(), to = model, changed = *config;
  for (const Json &l : *layers) {
    const Json *name = l.find("class_name");
    if (!name || !name->is_string() || !l.find("config") || keras::is_operation(l)) {
      list.push_back(l);
      continue;
    }
    const std::string class_name = name->get<std::string>(), below = path + "layers/" + names.next(class_name);
    const bool is_model = class_name == "Functional" || class_name == "Sequential" || class_name == "Model";
    list.push_back(is_model ? with_lookups(l, below + '/', f) : is_lookup(class_name) ? f(l, class_name, below) : l);
  }
  changed["layers"] = std::move(list);
  to["config"] = std::move(changed);
  return to;
}

class Assets {
 public:
  Assets(const Zip &archive, const Hdf5 &store, Budget &budget) : archive_(archive), store_(store), budget_(budget) {}

  Json of_layer(const Json &l, const std::string &class_name, const std::string &path) const {
    Json config = *l.find("config");
    if (!config.value("vocabulary", nullptr).is_null()) return l;
    const std::string member = "assets/" + path + "/vocabulary.txt";
    if (!archive_.contains(member)) {
      if (config.value("vocabulary_size", nullptr).is_null()) return l;  // it was saved without one
      throw Error(Code::corrupt_file, text("layer \"", config.value("name", "").get<std::string>(),
                                           "\": the file has no \"", member, "\", the layer's vocabulary"));
    }
    Json tokens = lines(member, class_name == "IntegerLookup");
    if (tokens.empty()) return l;
    const std::string weights = path + "/vars/idf_weights";
    if (store_.contains(weights)) config["idf_weights"] = first_of(store_.read(weights), tokens.size(), weights);
    config["vocabulary"] = std::move(tokens);
    Json to = l;
    to["config"] = std::move(config);
    return to;
  }

 private:
  Json lines(const std::string &member, bool integers) const {
    const std::string all = archive_.text(member);
    budget_.take(checked_mul(static_cast<int64_t>(all.size()), 2), "the tokens");
    std::string_view rest = all;
    while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
    Json tokens = Json::array();
    bool more = !rest.empty();
    while (more) {
      more = rest.find('\n') != rest.npos;
      const std::string_view line = take(rest, '\n');
      if (!integers && valid_utf8(line) != line)
        fail(Code::corrupt_file, '"', member, "\": expected UTF-8, got \"", excerpt(valid_utf8(line)), '"');
      tokens.push_back(integers ? Json(integer_of(line, member)) : Json(line));
    }
    return tokens;
  }

  // Of vectors that are padded there are more.
  static Json first_of(const Tensor &t, size_t n, const std::string &what) {
    if (t.dtype != DType::f32 || t.elements() < static_cast<int64_t>(n))
      fail(Code::corrupt_file, '"', what, "\": expected ", n, " float32 weights, as the vocabulary has tokens, got ",
           t.elements(), " of ", t.dtype);
    Json list = Json::array();
    for (size_t i = 0; i < n; ++i) list.push_back(static_cast<double>(t.as<float>()[i]));
    return list;
  }

  const Zip &archive_;
  const Hdf5 &store_;
  Budget &budget_;
};

}  // namespace

Json with_assets(const Json &model, const Zip &archive, const Hdf5 &store, Budget &budget) {
  const Assets assets(archive, store, budget);
  return with_lookups(model, "", [&](const Json &l, const std::string &class_name, const std::string &path) {
    return assets.of_layer(l, class_name, path);
  });
}

std::map<std::string, Tensor> token_weights(const Json &model) {
  std::map<std::string, Tensor> all;
  with_lookups(model, "", [&](const Json &l, const std::string &class_name, const std::string &path) {
    const Json *mode = l.find("config")->find("output_mode");
    if (!mode || (!(*mode == "tf_idf") && !(*mode == "tf-idf"))) return l;
    Json config = *l.find("config");
    config.erase("trainable");
    const auto layer = kinds::find("layer", class_name).make(config);
    const Tensor weights = dynamic_cast<const kinds::WithVocabulary &>(*layer).token_weights();
    if (!weights.data) return l;
    all.emplace(path + "/vars/idf_weights", weights);
    if (class_name == "TextVectorization") all.emplace(path + "/_lookup_layer/vars/idf_weights", weights);
    return l;
  });
  return all;
}

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
