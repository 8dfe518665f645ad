// What reading a list of fields refuses, in the user's words.
#include "kinds/field.hpp"

#include <algorithm>

namespace dl4::kinds {
namespace {

// Keras writes a dtype as its name or as a policy of that name.
bool is_float32(const Json &j) {
  if (j.is_null() || j == "float32") return true;
  const Json *config = j.find("config"), *name = config ? config->find("name") : nullptr;
  return name && *name == "float32";
}

}  // namespace

void expected(const std::string &what, const Json &got) {
  fail(Code::invalid_argument, "expected ", what, ", got ", got.shown());
}

void expected_one_of(const std::vector<std::string> &words, const Json &got) {
  std::string list;
  for (const auto &word : words) list += (list.empty() ? "\"" : ", \"") + word + '"';
  Error error(Code::invalid_argument, text("expected one of ", list, ", got ", got.shown()));
  if (got.is_string()) error.suggest(got.get<std::string>(), words);
  throw error;
}

void need_name(const Json &name) {
  if (!name.is_string() && !name.is_null())
    throw Error(Code::invalid_argument, text("\"name\": expected a string, got ", name.shown()))
        .with("attribute", "name");
}

void refuse_unknown_keys(const Json &config, const std::vector<std::string> &keys, bool of_keras) {
  if (config.is_null()) return;
  if (!config.is_object()) expected("an object of attributes", config);
  for (const auto &[key, value] : config.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    if (of_keras && key == "name") {
      need_name(value);
      continue;
    }
    if (of_keras && key == "dtype") {
      if (is_float32(value)) continue;
      throw Error(Code::unsupported, text("\"dtype\": only float32 is supported, got ", value.shown()))
          .with("attribute", std::string(key));
    }
    // Keras writes them for every Dense and Embedding; null means that they are not used.
    if (of_keras && value.is_null() && (key == "quantization_config" || key == "lora_rank" || key == "lora_alpha"))
      continue;
    throw Error(Code::invalid_argument, text("unknown attribute \"", key, '"'))
        .with("attribute", std::string(key))
        .suggest(std::string(key), keys);
  }
}

void refuse_missing(const std::string &key) {
  throw Error(Code::invalid_argument, text("attribute \"", key, "\" is missing")).with("attribute", key);
}

}  // namespace dl4::kinds
