
#include <cctype>

#include "io/keras/json.hpp"

namespace dl4::io::keras {
namespace {

constexpr const char *quantizing[] = {"QuantizedDTypePolicy", "Int4DTypePolicy", "GPTQDTypePolicy", "AWQDTypePolicy",
                                      "QuantizedFloat8DTypePolicy"};

// An attention layer's projections, from its config.
std::vector<std::string> projections(const Json &config) {
  std::vector<std::string> all{"query", "key", "value", "attention_output"};
  const Json *gate = config.find("use_gate");
  if (gate && kinds::from_json<bool>(*gate)) all.insert(all.end() - 1, "gate");
  return all;
}

[[noreturn]] void refuse_dtype(const std::string &layer, const std::string &why) {
  throw of_layer(Code::unsupported, layer, why).with("attribute", "dtype");
}

// What of a layer can be quantized: nothing, its kernel or table, or the projections of attention.
enum class Quantizes { nothing, itself, projections };
Quantizes quantizes(const std::string &class_name) {
  for (const kinds::Entry *e : kinds::entries("layer")) {
    if (e->name != class_name && !e->has_alias(class_name)) continue;
    const auto fresh = e->fresh(*e);
    if (!fresh->config().contains("quantization")) return Quantizes::nothing;
    const auto weights = static_cast<const kinds::Layer &>(*fresh).facts().weights;
    const bool inside =
        std::ranges::any_of(weights, [](const auto &w) { return w.name == std::string_view("query/kernel"); });
    return inside ? Quantizes::projections : Quantizes::itself;
  }
  return Quantizes::nothing;
}

std::string text_of(const Json &j, const char *key) {
  const Json *v = j.find(key);
  return v && v->is_string() ? v->get<std::string>() : "";
}

// The mode of a policy, or "" if it does not quantize.
std::string mode_of(const Json &policy) {
  if (policy.is_string()) {
    const std::string name = policy.get<std::string>();
    const size_t from = name.find("_from_");
    return from == std::string::npos ? "" : name.substr(0, from);
  }
  const std::string name = text_of(policy, "class_name");
  const Json *config = policy.is_object() ? policy.find("config") : nullptr;
  if (!config || std::find(std::begin(quantizing), std::end(quantizing), name) == std::end(quantizing)) return "";
  return text_of(*config, "mode");
}

// Whether a path matches a pattern of letters and ".*".
bool fits(const std::string &key, const std::string &path) {
  size_t k = 0, p = 0, star = std::string::npos, from = 0;  // position of the last ".*", and the end of its match
  while (p < path.size() || k < key.size()) {
    if (key.compare(k, 2, ".*") == 0 && k < key.size()) {
      star = k, from = p;
      k += 2;
    } else if (k < key.size() && p < path.size() && key[k] == path[p]) {
      ++k, ++p;
    } else if (star != std::string::npos && from < path.size()) {
      k = star + 2, p = ++from;
    } else {
      return false;
    }
  }
  return true;
}

// A map's policy of the layer at a path.
Json policy_for(const Json &dtype, const std::string &layer, const std::string &path) {
  const Json *config = dtype.find("config"), *map = config ? config->find("policy_map") : nullptr;
  if (!map || !map->is_object()) refuse_dtype(layer, "its DTypePolicyMap has no \"policy_map\"");
  if (const Json *exact = map->find(path)) return *exact;
  std::optional<Json> found;
  for (const auto &[key, policy] : map->items()) {
    const std::string pattern(key);
    for (size_t i = 0; i < pattern.size(); ++i) {
      const char c = pattern[i];
      const bool any = pattern.compare(i, 2, ".*") == 0;
      if (!any && !std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '/' && c != '-')
        refuse_dtype(layer, text("the key \"", pattern,
                                 "\" of its DTypePolicyMap: only letters, digits, _ - / and .* are "
                                 "supported"));
      i += any;
    }
    if (!fits(pattern, path)) continue;
    if (found) refuse_dtype(layer, text("\"", path, "\" fits several keys of its DTypePolicyMap"));
    found = policy;
  }
  return found ? *found : config->value("default_policy", nullptr);
}

// A layer's policy; for attention layers that of the projections, which must all be equal.
Json policy_of(const Json &dtype, const std::string &class_name, const std::string &layer, const Json &config) {
  if (text_of(dtype, "class_name") != "DTypePolicyMap") return dtype;
  if (quantizes(class_name) != Quantizes::projections) return policy_for(dtype, layer, layer);
  std::vector<Json> all;
  for (const std::string &part : projections(config)) all.push_back(policy_for(dtype, layer, text(layer, '/', part)));
  for (const Json &p : all)
    if (mode_of(p) != mode_of(all[0])) refuse_dtype(layer, "its projections are quantized in different ways");
  return all[0];
}

// The quantizer of a layer's inputs as `inputs` of the attribute "quantization".
Json inputs_of(const std::string &layer, const Json &quantizer) {
  if (quantizer.is_null()) return nullptr;
  const Json *config = quantizer.is_object() ? quantizer.find("config") : nullptr;
  const std::string name = text_of(quantizer, "class_name");
  if (!config || name != "AbsMaxQuantizer")
    refuse_dtype(layer, text("its \"activation_quantizer\" is ", quantizer.shown(), ", expected an AbsMaxQuantizer"));
  if (const std::string type = text_of(*config, "output_dtype"); type != "int8" && !type.empty())
    refuse_dtype(layer, text("its \"activation_quantizer\" quantizes to ", type, ", expected int8"));
  Json inputs = Json::object();
  for (const char *key : {"value_range", "epsilon"})
    if (const Json *v = config->find(key)) inputs[key] = *v;
  return inputs;
}

Json policy(const std::string &mode) {
  const char *const name = mode == "int8"          ? "QuantizedDTypePolicy"
                           : mode.starts_with("i") ? "Int4DTypePolicy"
                           : mode.starts_with("g") ? "GPTQDTypePolicy"
                                                   : "AWQDTypePolicy";
  return object("keras.dtype_policies", name, {{"mode", mode}, {"source_name", "float32"}});
}

Json quantizer(const Json &inputs) {
  if (inputs.is_null()) return nullptr;
  Json range = Json::array();
  for (const Json &n : inputs.at("value_range")) range.push_back(static_cast<int64_t>(n.get<double>()));
  return object("keras.quantizers", "AbsMaxQuantizer",
                {{"value_range", std::move(range)}, {"epsilon", inputs.at("epsilon")}, {"output_dtype", "int8"}});
}

}  // namespace

std::string floats_of(const Json &config) {
  const Json *dtype = config.find("dtype"), *policy = dtype ? dtype->find("config") : nullptr;
  Json name = policy ? policy->value("name", nullptr) : dtype ? *dtype : Json();
  if (policy && name.is_null()) name = policy->value("source_name", nullptr);
  for (const char *floats :
       {"float16", "bfloat16", "float32", "float64", "mixed_float16", "mixed_bfloat16", "mixed_float64"})
    if (name == floats) return floats;
  return "";
}

Json with_quantization(const std::string &class_name, Json config) {
  const Json *dtype = config.find("dtype");
  if (!dtype) return config;
  const bool map = text_of(*dtype, "class_name") == "DTypePolicyMap";
  const std::string layer = text_of(config, "name");
  const std::string mode = mode_of(policy_of(*dtype, class_name, layer, config));
  if (mode.empty()) {
    if (map) config.erase("dtype");
    return config;
  }
  if (mode.starts_with("float8")) refuse_dtype(layer, "float8 is not supported; expected int8, int4, gptq or awq");
  if (quantizes(class_name) == Quantizes::nothing)
    refuse_dtype(layer, text("a ", class_name, " cannot be quantized, got the policy \"", mode, '"'));
  Json quantization{{"mode", mode}};
  const Json said = config.value("quantization_config", nullptr);
  if (const Json *given = said.is_object() ? said.find("config") : nullptr;
      given && given->contains("activation_quantizer"))
    quantization["inputs"] = inputs_of(layer, given->at("activation_quantizer"));
  else if (class_name == "ReversibleEmbedding" && mode.starts_with("int4"))
    quantization["inputs"] = Json::object();  // the only Keras class that quantizes inputs by default in int4
  for (const char *key : {"dtype", "quantization_config", "gptq_unpacked_column_size"}) config.erase(key);
  config["quantization"] = std::move(quantization);
  return config;
}

void to_policy(const std::string &name, const std::string &class_name, Json &config) {
  const Json *found = config.find("quantization");
  if (!found) return;
  const Json given = *found;
  config.erase("quantization");
  if (given.is_null()) return;
  const std::string mode = given.at("mode").get<std::string>();
  const Json &inputs = given.at("inputs");
  if (quantizes(class_name) == Quantizes::projections) {
    const bool by_default = mode == "int8" ? !inputs.is_null() && inputs.at("epsilon").get<double>() == 1e-7 &&
                                                 inputs.at("value_range") == Json::array({-127.0, 127.0})
                                           : inputs.is_null();
    if (!by_default)
      refuse_dtype(name, text("Keras's config of attention has no place for how its inputs are quantized, got ",
                              inputs.shown(), "; a native file keeps it"));
    Json map = Json::object();
    for (const std::string &part : projections(config)) map[text(name, '/', part)] = policy(mode);
    config["dtype"] = object("keras.dtype_policies", "DTypePolicyMap",
                             {{"default_policy", "float32"}, {"policy_map", std::move(map)}});
    return;
  }
  config["dtype"] = policy(mode);
  const bool int4 = mode.starts_with("int4");
  const int64_t block = int4 ? std::stoll(mode.substr(mode.find('/') + 1)) : -1;
  if (mode == "int8")
    config["quantization_config"] =
        object("keras.quantizers", "Int8QuantizationConfig",
               {{"weight_quantizer", nullptr}, {"activation_quantizer", quantizer(inputs)}});
  else if (int4 && (block < 0 || inputs.is_null()))  // Keras's config has no inputs with blocks
    config["quantization_config"] =
        object("keras.quantizers", "Int4QuantizationConfig",
               {{"weight_quantizer", nullptr}, {"activation_quantizer", quantizer(inputs)}, {"block_size", block}});
}

}  // namespace dl4::io::keras
