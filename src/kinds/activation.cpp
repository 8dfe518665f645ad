// The one table of Keras's activation functions, with the defaults of the functions in keras.activations.
#include "kinds/activation.hpp"

#include <array>
#include <limits>

#include "kinds/field.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

using ops::Emit;
using ops::Id;
using ops::Unary;

struct ActivationFunction {
  Entry entry;  // its fields are the function's parameters: numbers and booleans
  Id (*apply)(Emit &e, Id x, const double *p);
};

namespace {

struct Parameter {
  const char *key;
  Json fallback;
  const char *doc;
  bool required = false;
};

using Apply = Id (*)(Emit &, Id, const double *);

template <Unary F>
Id plain(Emit &e, Id x, const double *) {
  return ops::unary(e, F, x);
}

template <Unary F>
Id with_one(Emit &e, Id x, const double *p) {
  return ops::unary(e, F, x, {static_cast<float>(p[0])});
}

Id relu(Emit &e, Id x, const double *p) {
  if (p[0] == 0 && p[1] == std::numeric_limits<double>::infinity() && p[2] == 0) return ops::unary(e, Unary::relu, x);
  return ops::unary(e, Unary::relu_general, x,
                    {static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2])});
}

Id threshold(Emit &e, Id x, const double *p) {
  return ops::unary(e, Unary::threshold, x, {static_cast<float>(p[0]), static_cast<float>(p[1])});
}

Id gelu(Emit &e, Id x, const double *p) { return ops::unary(e, p[0] != 0 ? Unary::gelu_tanh : Unary::gelu, x); }

Id glu(Emit &e, Id x, const double *p) {
  int axis = e.shape(x).axis(static_cast<int64_t>(p[0]));
  int64_t size = e.shape(x)[axis];
  if (size == free_dim || size % 2 != 0)
    fail(Code::shape_mismatch, "glu: expected axis ", axis, " to be known and even, got shape ", e.shape(x));
  return ops::mul(e, ops::slice(e, x, axis, 0, size / 2),
                  ops::unary(e, Unary::sigmoid, ops::slice(e, x, axis, size / 2, size / 2)));
}

Id softmax(Emit &e, Id x, const double *p) { return ops::softmax(e, x, static_cast<int>(p[0])); }
Id log_softmax(Emit &e, Id x, const double *p) { return ops::log_softmax(e, x, static_cast<int>(p[0])); }
Id sparsemax(Emit &e, Id x, const double *p) { return ops::sparsemax(e, x, static_cast<int>(p[0])); }

ActivationFunction function(const char *name, const char *doc, Apply apply, std::vector<Parameter> parameters = {},
                            std::vector<std::string> aliases = {}) {
  Entry e;
  e.category = "activation";
  e.name = name;
  e.doc = doc;
  e.aliases = std::move(aliases);
  for (Parameter &p : parameters) {
    FieldInfo f;
    f.key = p.key;
    f.type = p.fallback.is_boolean() ? "bool" : p.fallback.is_integer() ? "i64" : "f64";
    f.doc = p.doc;
    f.required = p.required;
    f.fallback = p.fallback;
    e.fields.push_back(std::move(f));
  }
  return {std::move(e), apply};
}

const std::vector<ActivationFunction> &table() {
  static const Parameter axis{"axis", -1, "the axis it works along"};
  static const std::vector<ActivationFunction> functions{
      function("linear", "x", [](Emit &, Id x, const double *) { return x; }),
      function("relu", "max(x, 0)", relu,
               {{"negative_slope", 0.0, "slope below the threshold"},
                {"max_value", nullptr, "the largest value it gives; null = none"},
                {"threshold", 0.0, "values up to it are damped or 0"}}),
      function("relu6", "min(max(x, 0), 6)", plain<Unary::relu6>),
      function("leaky_relu", "x where x > 0, else negative_slope * x", with_one<Unary::leaky_relu>,
               {{"negative_slope", 0.2, "slope below 0"}}),
      function("elu", "x where x > 0, else alpha * (exp(x) - 1)", with_one<Unary::elu>,
               {{"alpha", 1.0, "the limit below 0, negated"}}),
      function("selu", "1.0507 * elu(x, 1.6733)", plain<Unary::selu>),
      function("celu", "max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)", with_one<Unary::celu>,
               {{"alpha", 1.0, "the limit below 0, negated"}}),
      function("gelu", "x times the normal distribution function of x", gelu,
               {{"approximate", false, "the form with tanh instead of the exact one"}}),
      function("glu", "the first half of an axis times the sigmoid of the second", glu, {axis}),
      function("silu", "x * sigmoid(x)", plain<Unary::silu>, {}, {"swish"}),
      function("mish", "x * tanh(softplus(x))", plain<Unary::mish>),
      function("softplus", "log(exp(x) + 1)", plain<Unary::softplus>),
      function("softsign", "x / (|x| + 1)", plain<Unary::softsign>),
      function("softmax", "exp(x) over its sum along an axis", softmax, {axis}),
      function("log_softmax", "the logarithm of softmax", log_softmax, {axis}),
      function("sigmoid", "1 / (1 + exp(-x))", plain<Unary::sigmoid>),
      function("log_sigmoid", "the logarithm of sigmoid", plain<Unary::log_sigmoid>),
      function("hard_sigmoid", "relu6(x + 3) / 6", plain<Unary::hard_sigmoid>),
      function("hard_sigmoid_v1", "clip(0.2 x + 0.5, 0, 1): hard_sigmoid of Keras 1 and 2",
               plain<Unary::hard_sigmoid_v1>),
      function("hard_silu", "x * hard_sigmoid(x)", plain<Unary::hard_silu>, {}, {"hard_swish"}),
      function("hard_tanh", "clip(x, -1, 1)", plain<Unary::hard_tanh>),
      function("hard_shrink", "x where |x| > threshold, else 0", with_one<Unary::hard_shrink>,
               {{"threshold", 0.5, "half the width of what becomes 0"}}),
      function("soft_shrink", "x moved towards 0 by threshold, 0 where |x| <= threshold", with_one<Unary::soft_shrink>,
               {{"threshold", 0.5, "how far values move"}}),
      function("tanh", "hyperbolic tangent", plain<Unary::tanh>),
      function("tanh_shrink", "x - tanh(x)", plain<Unary::tanh_shrink>),
      function("threshold", "x where x > threshold, else default_value", threshold,
               {{"threshold", nullptr, "values up to it are replaced", true},
                {"default_value", nullptr, "what replaces them", true}}),
      function("squareplus", "(x + sqrt(x^2 + b)) / 2", with_one<Unary::squareplus>, {{"b", 4.0, "smoothness"}}),
      function("sparse_plus", "0 below -1, (x + 1)^2 / 4 up to 1, then x", plain<Unary::sparse_plus>),
      function("sparse_sigmoid", "clip((x + 1) / 2, 0, 1)", plain<Unary::sparse_sigmoid>),
      function("sparsemax", "the nearest point of the probability simplex", sparsemax, {axis}),
      function("exponential", "exp(x)", plain<Unary::exp>),
  };
  return functions;
}

// A parameter as a number; null, where it is a default, means no limit.
double number(const FieldInfo &f, const Json &j) {
  if (j.is_null() && !f.required && f.fallback.is_null()) return std::numeric_limits<double>::infinity();
  if (f.type == "bool") return Convert<bool>::from(j) ? 1 : 0;
  if (f.type == "i64") {
    int64_t v = Convert<int64_t>::from(j);
    if (v < INT32_MIN || v > INT32_MAX) expected(text("an integer of ", INT32_MIN, " to ", INT32_MAX), j);
    return static_cast<double>(v);
  }
  return Convert<double>::from(j);
}

Json json(const FieldInfo &f, double v) {
  if (f.type == "bool") return v != 0;
  if (f.type == "i64") return static_cast<int64_t>(v);
  if (v == std::numeric_limits<double>::infinity()) return nullptr;
  return v;
}

std::vector<double> parameters(const Entry &e, const Json &config) {
  std::vector<std::string> keys;
  for (const FieldInfo &f : e.fields) keys.push_back(f.key);
  refuse_unknown_keys(config, keys, true);
  std::vector<double> values;
  for (const FieldInfo &f : e.fields) {
    const Json *given = config.find(f.key);
    if (!given && f.required) refuse_missing(f.key);
    try {
      values.push_back(number(f, given ? *given : f.fallback));
    } catch (Error &error) {
      throw error.with("attribute", f.key).in("\"" + f.key + "\"");
    }
  }
  return values;
}

}  // namespace

Activation Activation::parse(const Json &j) {
  Activation a;
  if (j.is_null()) return a;
  std::string name;
  Json config = Json::object();
  if (j.is_string()) {
    name = j.get<std::string>();
  } else {
    const Json *its_name = j.find("class_name"), *its_config = j.find("config");
    if (!its_name || !its_name->is_string()) expected("the name of an activation", j);
    name = its_name->get<std::string>();
    if (its_config && !its_config->is_null()) config = *its_config;
    // Keras writes a function of its own as {"class_name": "function", "config": "relu"}.
    if (config.is_string()) {
      name = config.get<std::string>();
      config = Json::object();
    }
  }
  const Entry &entry = find("activation", name);
  for (const ActivationFunction &f : table())
    if (&f.entry == &entry) a.function_ = &f;
  try {
    a.parameters_ = parameters(entry, config);
  } catch (Error &error) {
    throw error.in("activation \"" + entry.name + "\"");
  }
  if (a.function_ == table().data()) a.function_ = nullptr;
  return a;
}

Json Activation::to_json() const {
  Json config = Json::object();
  bool plain = true;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const FieldInfo &f = function_->entry.fields[i];
    plain &= !f.required && number(f, f.fallback) == parameters_[i];
    config[f.key] = json(f, parameters_[i]);
  }
  if (plain) return name();
  return {{"class_name", name()}, {"config", std::move(config)}};
}

const std::string &Activation::name() const { return (function_ ? function_ : table().data())->entry.name; }

Id Activation::operator()(Emit &e, Id x) const { return function_ ? function_->apply(e, x, parameters_.data()) : x; }

const std::vector<const Entry *> &activation_entries() {
  static const std::vector<const Entry *> entries = [] {
    std::vector<const Entry *> all;
    for (const ActivationFunction &f : table()) all.push_back(&f.entry);
    return all;
  }();
  return entries;
}

}  // namespace dl4::kinds
