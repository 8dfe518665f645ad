// Converts layers and attributes of Keras 1 to Keras 2's form.
#include <algorithm>
#include <string_view>

#include "base/error.hpp"
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

}  // namespace dl4::io::keras
