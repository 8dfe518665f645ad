// Converts layers and attributes of Keras 1 to Keras 2's form.
// Converts models' JSON of Keras 1 and 2 to Keras 3's form.
#include <set>

#include "io/keras/json.hpp"

namespace dl4::io::keras {
namespace {

constexpr std::pair<std::string_view, std::string_view> classes[] = {
    {"Convolution1D", "Conv1D"},       {"Convolution2D", "Conv2D"},
    {"Convolution3D", "Conv3D"},       {"AtrousConvolution1D", "Conv1D"},
    {"AtrousConvolution2D", "Conv2D"}, {"SeparableConvolution2D", "SeparableConv2D"}};

constexpr std::pair<std::string_view, std::string_view> keys[] = {{"output_dim", "units"},
                                                                  {"init", "kernel_initializer"},
                                                                  {"inner_init", "recurrent_initializer"},
                                                                  {"inner_activation", "recurrent_activation"},
                                                                  {"gamma_init", "gamma_initializer"},
                                                                  {"beta_init", "beta_initializer"},
                                                                  {"W_regularizer", "kernel_regularizer"},
                                                                  {"U_regularizer", "recurrent_regularizer"},
                                                                  {"b_regularizer", "bias_regularizer"},
                                                                  {"W_constraint", "kernel_constraint"},
                                                                  {"b_constraint", "bias_constraint"},
                                                                  {"dropout_W", "dropout"},
                                                                  {"dropout_U", "recurrent_dropout"},
                                                                  {"bias", "use_bias"},
                                                                  {"nb_filter", "filters"},
                                                                  {"filter_length", "kernel_size"},
                                                                  {"border_mode", "padding"},
                                                                  {"subsample", "strides"},
                                                                  {"subsample_length", "strides"},
                                                                  {"stride", "strides"},
                                                                  {"pool_length", "pool_size"},
                                                                  {"atrous_rate", "dilation_rate"},
                                                                  {"p", "rate"},
                                                                  {"sigma", "stddev"}};

// Attributes that do not affect the computation.
constexpr std::string_view silent[] = {"input_dim",   "input_length", "consume_less",
                                       "input_dtype", "weights",      "forget_bias_init"};

[[noreturn]] void refuse_keras_1(const std::string &layer, const std::string &why) {
  throw of_layer(Code::unsupported, layer, why + " of Keras 1 is not supported");
}

// {"name": "WeightRegularizer", "l1": 0.1, "l2": 0.0} and {"name": "MaxNorm", "m": 2}.
Json penalty(const std::string &layer, const Json &old) {
  const Json *name = old.find("name");
  if (!name) return old;
  if (old.contains("l1") || old.contains("l2"))
    return {{"class_name", "L1L2"}, {"config", {{"l1", old.value("l1", 0.0)}, {"l2", old.value("l2", 0.0)}}}};
  if (*name == "MaxNorm" && old.contains("m"))
    return {{"class_name", "MaxNorm"}, {"config", {{"max_value", old["m"]}, {"axis", old.value("axis", 0)}}}};
  if (*name == "NonNeg") return {{"class_name", "NonNeg"}, {"config", Json::object()}};
  refuse_keras_1(layer, name->shown());
}

// A layer whose "mode" selects one of several.
Json merged(const std::string &layer, const Json &config) {
  constexpr std::pair<std::string_view, std::string_view> modes[] = {
      {"sum", "Add"}, {"mul", "Multiply"}, {"ave", "Average"}, {"max", "Maximum"}, {"concat", "Concatenate"}};
  const Json mode = config.value("mode", "sum");
  for (const auto &[word, name] : modes) {
    if (!(mode == word)) continue;
    Json to{{"name", layer}};
    if (word == "concat") to["axis"] = config.value("concat_axis", -1);
    return {{"class_name", name}, {"config", std::move(to)}};
  }
  refuse_keras_1(layer, "the mode " + mode.shown() + " of a Merge");
}

void rename_sizes(Json &config) {
  Json sizes = Json::array();
  for (const char *key : {"kernel_dim1", "kernel_dim2", "kernel_dim3", "nb_row", "nb_col"})
    if (const Json *n = config.find(key)) {
      sizes.push_back(Json(*n));
      config.erase(key);
    }
  if (!sizes.empty()) config["kernel_size"] = std::move(sizes);
  if (const Json *order = config.find("dim_ordering")) {
    const char *format = *order == "th" ? "channels_first" : "channels_last";
    config.erase("dim_ordering");
    config["data_format"] = format;
  }
}

}  // namespace

Json keras_2_layer(const Json &layer) {
  Json to = layer;
  const Json *given = layer.find("config"), *class_name = layer.find("class_name");
  if (!given || !given->is_object() || !class_name || !class_name->is_string()) return to;
  std::string name = class_name->get<std::string>();
  const std::string who = given->value("name", name).get<std::string>();
  if (name == "Merge") {
    Json now = merged(who, *given);
    to["class_name"] = Json(now["class_name"]);
    to["config"] = Json(now["config"]);
    return to;
  }
  for (const auto &[old, now] : classes)
    if (name == old) name = now;
  Json config = Json::object();
  const bool embedding = name == "Embedding";
  for (const auto &[key, value] : given->items()) {
    if (std::find(std::begin(silent), std::end(silent), key) != std::end(silent) && !(embedding && key == "input_dim"))
      continue;
    std::string word(key);
    for (const auto &[old, now] : keys)
      if (word == old && !(embedding && word == "output_dim")) {
        word = now;
        break;
      }
    if (embedding && word.starts_with("kernel_")) word = "embeddings_" + word.substr(7);
    const bool is_penalty = word.ends_with("_regularizer") || word.ends_with("_constraint");
    config[word] = is_penalty ? penalty(who, value) : value;
  }
  rename_sizes(config);
  // Such a file does not say whether it is Theano's, whose kernels are flipped.
  if (name.find("Conv") != name.npos && config.value("data_format", "") == "channels_first")
    refuse_keras_1(who, "the dim_ordering \"th\" of a convolution");
  if (const Json *mode = config.find("mode"); mode && name == "BatchNormalization") {
    if (!(*mode == 0)) refuse_keras_1(who, "the mode " + mode->shown());
    config.erase("mode");
  }
  if (embedding) {
    if (const Json *dropout = config.find("dropout"); dropout && !(*dropout == 0) && !(*dropout == 0.0))
      refuse_keras_1(who, "the dropout of an Embedding");
    config.erase("dropout");
  }
  to["class_name"] = name;
  to["config"] = std::move(config);
  return to;
}

namespace {

// Converts [layer, node, tensor] to a tensor, also inside lists.
Json as_tensor(const Json &j) {
  if (is_history(j))
    return {{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", Json::array({j[0], j[1], j[2]})}}}};
  if (!j.is_array()) return j;
  Json list = Json::array();
  for (const Json &item : j) list.push_back(as_tensor(item));
  return list;
}

// A node is a list of [layer, node, tensor, {arguments}]; after a recurrent layer's input come its initial states.
Json modern_node(const Json &node, bool recurrent) {
  if (!node.is_array()) return node;
  const Json refs = is_history(node, 4) || is_history(node) ? Json::array({node}) : node;
  Json args = Json::array(), kwargs = Json::object();
  for (const Json &ref : refs) {
    if (ref.is_array() && ref.size() >= 3 && ref[0] == "_CONSTANT_VALUE") {
      args.push_back(Json{{"class_name", "__numpy__"}, {"config", {{"value", Json(ref[2])}}}});
      if (ref.size() < 4) continue;
    } else if (!is_history(ref) && !is_history(ref, 4)) {
      fail(Code::corrupt_file, "expected [layer, node, tensor, arguments], got ", ref.shown());
    } else {
      args.push_back(as_tensor(Json::array({ref[0], ref[1], ref[2]})));
    }
    if (ref.size() < 4) continue;
    for (const auto &[key, value] : ref[3].items()) kwargs[key] = as_tensor(value);
  }
  if (recurrent && args.size() > 1) {
    Json states = Json::array();
    for (size_t i = 1; i < args.size(); ++i) states.push_back(Json(args[i]));
    kwargs["initial_state"] = std::move(states);
    args = Json::array({Json(args[0])});
  }
  return {{"args", Json::array({std::move(args)})}, {"kwargs", std::move(kwargs)}};
}

// In old versions a model's own node was its first wherever its calls were read, except for a Sequential built later;
// in Keras 3 only where a Functional is an output.
void count_calls_from_0(Json &layers, Json &config) {
  std::map<std::string, std::pair<int64_t, bool>> models;  // by name: number of calls, is it a Sequential?
  for (const Json &l : layers)
    if (const Json *nodes = l.find("inbound_nodes"), *name = l.find("name");
        nodes && name && (l["class_name"] == "Functional" || l["class_name"] == "Sequential"))
      models[name->get<std::string>()] = {std::ssize(*nodes), l["class_name"] == "Sequential"};
  std::set<std::string> from_1;
  const auto look = [&](const Json &j) {
    const auto it = models.find(j[0].get<std::string>());
    if (it != models.end() && j[1].get<int64_t>() == it->second.first) from_1.insert(it->first);
    return j;
  };
  const auto less = [&](const Json &j) {
    return from_1.count(j[0].get<std::string>()) ? Json::array({j[0], j[1].get<int64_t>() - 1, j[2]}) : j;
  };
  const auto less_if_sequential = [&](const Json &j) {
    const auto it = models.find(j[0].get<std::string>());
    return it != models.end() && it->second.second ? less(j) : j;
  };
  const Json outputs = config.value("output_layers", nullptr);
  each_history(outputs, look);
  for (const Json &l : layers) each_history(l.value("inbound_nodes", nullptr), look);
  if (from_1.empty()) return;
  Json all = Json::array();
  for (const Json &l : layers) {
    Json to = l;
    if (const Json *nodes = l.find("inbound_nodes")) to["inbound_nodes"] = each_history(*nodes, less);
    all.push_back(std::move(to));
  }
  layers = std::move(all);
  config["output_layers"] = each_history(outputs, less_if_sequential);
}

// Keras 2 uses the mask of a recurrent layer's input also with initial states; Keras 3 only an explicit one.
Json with_masks(const Json &layers) {
  Json all = Json::array();
  for (const Json &l : layers) {
    const Json *name = l.find("name"), *nodes = l.find("inbound_nodes");
    const std::string mask = text(name && name->is_string() ? name->get<std::string>() : "", "__mask");
    Json asked = Json::array(), changed = Json::array();
    for (const Json &node : nodes ? *nodes : Json()) {
      Json to = node;
      const Json *kwargs = node.find("kwargs"), *args = node.find("args");
      if (args && !args->empty() && kwargs && kwargs->contains("initial_state") &&
          kwargs->value("mask", nullptr).is_null()) {
        to["kwargs"]["mask"] = as_tensor(Json::array({mask, asked.size(), 0}));
        asked.push_back({{"args", Json((*args)[0])}, {"kwargs", Json::object()}});
      }
      changed.push_back(std::move(to));
    }
    Json layer = l;
    if (!asked.empty()) {
      layer["inbound_nodes"] = std::move(changed);
      all.push_back({{"module", "keras.src.ops.tensorflow"},
                     {"class_name", "GetMask"},
                     {"config", {{"name", mask}}},
                     {"name", mask},
                     {"inbound_nodes", std::move(asked)}});
    }
    all.push_back(std::move(layer));
  }
  return all;
}

// Removes attributes without effect at these values; null: at any value.
void drop_silent(std::string_view class_name, Json &config) {
  const std::pair<const char *, Json> silent[] = {{"time_major", false},
                                                  {"dynamic", false},
                                                  {"implementation", nullptr},
                                                  {"batch_input_shape", nullptr},
                                                  {"synchronized", false},
                                                  {"input_dtype", nullptr},
                                                  {"input_length", nullptr},
                                                  {"query_shape", nullptr},
                                                  {"key_shape", nullptr},
                                                  {"value_shape", nullptr},
                                                  {"softmax_robust_masking", false},
                                                  {"renorm", false},
                                                  {"fused", nullptr}};
  for (const auto &[key, value] : silent)
    if (const Json *found = config.find(key);
        found && (value.is_null() || *found == value || (value == false && *found == 0)))
      config.erase(key);
  for (const char *key : {"batch_size", "virtual_batch_size", "noise_shape"})
    if (const Json *found = config.find(key); found && found->is_null()) config.erase(key);
  // Only plain convolutions used it.
  if (const Json *groups = config.find("groups");
      groups && *groups == 1 && !is_any(class_name, {"Conv1D", "Conv2D", "Conv3D", "GroupNormalization"}))
    config.erase("groups");
  // Attributes of its base class that it lacks.
  if (class_name == "SeparableConv1D" || class_name == "SeparableConv2D")
    for (const char *key : {"kernel_initializer", "kernel_regularizer", "kernel_constraint"}) config.erase(key);
  if (class_name.starts_with("Random")) config.erase("rng_type");
}

// Adjusts words with another meaning before Keras 3, and layers that were GPU variants of others.
void say_what_was_meant(Json &class_name, Json &config) {
  if (class_name == "CuDNNLSTM" || class_name == "CuDNNGRU") {
    class_name = class_name == "CuDNNLSTM" ? "LSTM" : "GRU";
    config["activation"] = "tanh";
    config["recurrent_activation"] = "sigmoid";
    if (class_name == "GRU") config["reset_after"] = true;
  }
  if (class_name == "GRU" && !config.contains("reset_after")) config["reset_after"] = false;
  if (const Json *alpha = config.find("alpha"); alpha && class_name == "LeakyReLU") {
    config["negative_slope"] = Json(*alpha);
    config.erase("alpha");
  }
  if (class_name == "ThresholdedReLU") {
    const Json theta = config.value("theta", 1.0);
    class_name = "Activation";
    config.erase("theta");
    config["activation"] =
        Json{{"class_name", "threshold"}, {"config", {{"threshold", theta}, {"default_value", 0.0}}}};
  }
  for (const char *key : {"activation", "recurrent_activation"})
    if (const Json *f = config.find(key); f && *f == "hard_sigmoid") config[key] = "hard_sigmoid_v1";
}

// A layer or model; in a list of calls, each one.
Json modern_layer(const Json &given_layer, int major) {
  const Json layer = major < 2 ? keras_2_layer(given_layer) : given_layer;
  const Json *name = layer.find("class_name"), *given = layer.find("config");
  if (!name || !name->is_string() || !given)
    fail(Code::corrupt_file, "expected a layer's \"class_name\" and \"config\", got ", layer.shown());
  if (*name == "TFOpLambda" || *name == "SlicingOpLambda") return of_tensorflow(layer, as_tensor);
  Json to = layer, config = given->is_array() ? Json{{"name", "sequential"}, {"layers", *given}} : *given;
  const std::string class_name = name->get<std::string>();
  if (class_name == "Model") to["class_name"] = "Functional";
  if (class_name == "RandomCrop" && major < 3)
    throw Error(Code::unsupported, text("layer \"", config.value("name", class_name).shown(),
                                        "\": the RandomCrop of Keras 2, which resizes in inference, is not supported"))
        .with("layer", class_name);
  if (class_name == "Custom>CustomScaleLayer") to["class_name"] = "CustomScaleLayer";
  if (class_name == "BatchNormalizationV1" || class_name == "BatchNormalizationV2")
    to["class_name"] = "BatchNormalization";
  const Json *layers = config.find("layers"), *shape = config.find("batch_input_shape"), *axis = config.find("axis");
  const Json *first = layers && !layers->empty() ? (*layers)[0].find("config") : nullptr;
  const Json *first_shape = first ? first->find("batch_input_shape") : nullptr;
  if (class_name == "Sequential" && first_shape && !config.contains("build_input_shape"))
    config["build_input_shape"] = Json(*first_shape);
  else if (class_name == "InputLayer" && shape)
    config["batch_shape"] = Json(*shape);
  else if (to["class_name"] == "BatchNormalization" && axis && axis->is_array() && axis->size() == 1)
    config["axis"] = Json((*axis)[0]);
  // Keras 3.0 to 3.10 stores an operation's name only beside its config.
  if (const Json *said = layer.find("name"); said && said->is_string() && !config.contains("name"))
    config["name"] = Json(*said);
  drop_silent(to["class_name"].get<std::string_view>(), config);
  if (major < 3) say_what_was_meant(to["class_name"], config);
  for (const char *key : {"layer", "backward_layer", "cell"})
    if (const Json *inner = config.find(key); inner && inner->is_object()) config[key] = modern_layer(*inner, major);
  for (const char *key : {"layers", "cells"}) {
    const Json *list = config.find(key);
    if (!list || !list->is_array()) continue;
    Json all = Json::array();
    for (const Json &l : *list) all.push_back(modern_layer(l, major));
    if (major < 3 && std::string_view(key) == "layers") {
      count_calls_from_0(all, config);
      all = with_masks(all);
    }
    config[key] = std::move(all);
  }
  to["config"] = std::move(config);
  const Json *nodes = layer.find("inbound_nodes");
  if (!nodes) return to;
  const auto arguments = kinds::facts_of(to["class_name"].get<std::string>()).arguments;
  const bool recurrent = std::ranges::any_of(
      arguments, [](const kinds::CallArgument &a) { return std::string_view(a.name) == "initial_state"; });
  Json calls = Json::array();
  for (const Json &node : *nodes) calls.push_back(modern_node(node, recurrent));
  to["inbound_nodes"] = std::move(calls);
  return to;
}

}  // namespace

Json modern(const Json &model, int major) { return modern_layer(model, major); }

}  // namespace dl4::io::keras
