// Reads, checks, writes and describes the fields of an object.
#include "kinds/field.hpp"

#include <algorithm>
#include <cmath>

#include "base/utf8.hpp"

namespace dl4::kinds {
namespace {

constexpr Conversion choice_conversion{"str", nullptr, nullptr, nullptr};

// Keras writes a dtype as its name or as a policy of that name.
bool is_policy(const Json &j, const char *policy) {
  if (j == policy) return true;
  const Json *config = j.find("config"), *name = config ? config->find("name") : nullptr;
  return name && *name == policy;
}

// Keras writes a tensor and an array as {"class_name", "config": {"value", "dtype"}}.
const Json &without_dtype(const Json &j) {
  const Json *name = j.find("class_name"), *config = j.find("config");
  if (!name || !config || !(*name == "__tensor__" || *name == "__numpy__")) return j;
  const Json *value = config->find("value");
  return value ? *value : j;
}

[[noreturn]] void refuse_missing(const std::string &key) {
  throw Error(Code::invalid_argument, text("attribute \"", key, "\" is missing")).with("attribute", key);
}

// Calls f for every number in j.
template <class F>
void each_number(const Json &j, F f) {
  if (j.is_number()) f(j.get<double>());
  for (const Json &item : j) each_number(item, f);
}

// The short form of a default: a kind's name, or one number for a list of equal numbers.
Json in_short(const char *category, const Json &v) {
  if (category && v.is_object()) return parse(category, v)->brief();
  bool equal = v.is_array() && !v.empty();
  for (const Json &item : v) equal = equal && item == v[0];
  return equal ? v[0] : v;
}

}  // namespace

void refuse_by(Code code, std::string_view key, const std::string &why) {
  throw Error(code, text('"', key, "\": ", why)).with("attribute", key);
}

void expected(std::string_view what, const Json &got) {
  fail(Code::invalid_argument, "expected ", what, ", got ", got.shown());
}

void expected_one_of(const std::vector<std::string> &words, const Json &got) {
  std::string list;
  for (const auto &word : words) list += (list.empty() ? "\"" : ", \"") + word + '"';
  Error error(Code::invalid_argument, text("expected one of ", list, ", got ", got.shown()));
  if (got.is_string()) error.suggest(got.get<std::string>(), words);
  throw error;
}

// In the field's number type, for display.
Json Field::limit(double v) const {
  if (as_->type[0] == 'i') return static_cast<int64_t>(v);
  return v;
}

void Field::read(const Json &given) const {
  const Json &j = without_dtype(given);
  const Json supported = default_only_ ? write() : Json();
  convert(j);
  if (default_only_ && !(write() == supported))
    fail(Code::unsupported, "only ", supported.dump(), " is supported, got ", j.shown());
}

void Field::convert(const Json &j) const {
  if (as_ == &choice_conversion) return convert_choice(j);
  as_->read(j, place_);
  // A kind in place of a number checks its own range.
  if ((least_ > -HUGE_VAL || most_ < HUGE_VAL) && !(as_->category && j.is_object())) check_range(j);
}

void Field::convert_choice(const Json &j) const {
  auto it = choices_.begin();
  while (it != choices_.end() && !(j == *it)) ++it;
  int v = static_cast<int>(it - choices_.begin());
  if (j.is_null() && null_ >= 0)
    v = null_;
  else if (it == choices_.end() && among_others_ && j.is_string())
    throw Error(Code::unsupported, text(j.shown(), " is not supported"));
  else if (it == choices_.end())
    expected_one_of(choices_, j);
  std::memcpy(place_, &v, sizeof v);
}

void Field::check_range(const Json &j) const {
  each_number(as_->write(place_), [&](double v) {
    if (v < least_) expected("at least " + limit(least_).dump(), j);
    if (v > most_) expected("at most " + limit(most_).dump(), j);
  });
}

Json Field::write() const {
  if (as_ != &choice_conversion) return as_->write(place_);
  int v = 0;
  std::memcpy(&v, place_, sizeof v);
  if (static_cast<size_t>(v) >= choices_.size()) return nullptr;
  return choices_[static_cast<size_t>(v)];
}

Json Field::describe() const {
  Json j{{"name", key_}, {"type", as_->type}, {"required", required_}};
  if (!required_) j["default"] = in_short(as_->category, write());
  if (!example_.empty()) j["example"] = Json::parse(example_);
  if (least_ > -HUGE_VAL) j["min"] = limit(least_);
  if (most_ < HUGE_VAL) j["max"] = limit(most_);
  if (!choices_.empty()) j["enum"] = choices_;
  if (as_->category) j["category"] = as_->category;
  if (default_only_) j["default_only"] = true;
  j["doc"] = doc_;
  return j;
}

Field &Fields::add(const char *key, void *place, const Conversion &conversion, const char *doc) {
  return list_.emplace_back(key, place, conversion, doc);
}

Field &Fields::choice(const char *key, void *place, std::span<const char *const> words, const char *doc) {
  Field &f = add(key, place, choice_conversion, doc);
  f.choices_.assign(words.begin(), words.end());
  return f;
}

void Fields::drop(const std::string &key) {
  std::erase_if(list_, [&](const Field &f) { return f.key_ == key; });
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> all;
  for (const Field &f : list_) all.emplace_back(f.key_);
  return all;
}

void Fields::read(const Json &config, bool of_keras) const {
  refuse_unknown_keys(config, keys(), of_keras);
  for (const Field &f : list_) {
    const Json *given = config.find(f.key_);
    if (!given && f.required_) refuse_missing(f.key_);
    if (!given) continue;
    try {
      f.read(*given);
    } catch (Error &error) {
      error.with("attribute", f.key_).in(text('"', f.key_, '"'));
      throw;
    }
  }
}

Json Fields::write() const {
  Json config = Json::object();
  for (const Field &f : list_) config[f.key_] = f.write();
  return config;
}

Json Fields::describe() const {
  Json list = Json::array();
  for (const Field &f : list_) list.push_back(f.describe());
  return list;
}

bool Fields::any_required() const {
  return std::any_of(list_.begin(), list_.end(), [](const Field &f) { return f.required_; });
}

bool is_mixed_bfloat16(const Json &dtype) { return is_policy(dtype, mixed_bfloat16); }

void need_name(const Json &name) {
  if (!name.is_string() && !name.is_null()) refuse_attribute("name", "expected a string, got ", name.shown());
  const std::string s = name.is_string() ? name.get<std::string>() : "";
  if (const std::string valid = valid_utf8(s); valid != s)
    refuse_attribute("name", "expected UTF-8, got \"", excerpt(valid), '"');
  if (s.find('\0') != std::string::npos) refuse_attribute("name", "expected a text without U+0000, got ", name.shown());
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
      if (value.is_null() || is_policy(value, "float32")) continue;
      throw Error(Code::unsupported,
                  text("\"dtype\": expected float32, or for a layer of a graph mixed_bfloat16, got ", value.shown()))
          .with("attribute", std::string(key));
    }
    // Keras writes it for every Dense and Embedding; null means unused.
    if (of_keras && value.is_null() && key == "quantization_config") continue;
    Error error(Code::invalid_argument, text("unknown attribute \"", key, '"'));
    error.with("attribute", std::string(key)).suggest(std::string(key), keys);
    std::string list;
    for (const std::string &k : keys) list += (list.empty() ? "\"" : ", \"") + k + '"';
    error.message +=
        (error.message.back() == '?' ? " " : "; ") + (list.empty() ? "there are none" : "known are " + list);
    throw error;
  }
}

}  // namespace dl4::kinds
