// The table of Keras's activation functions, with the defaults of the functions in keras.activations.
#include "kinds/activation.hpp"

#include <tuple>

#include "kinds/field.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit;
using ops::Id;
using ops::Unary;

constexpr std::string_view linear = "linear";

// A row: an elementwise function with at most one parameter.
struct Elementwise final : ActivationFunction {
  struct Row : Entry {
    Unary f;
    const char *key = nullptr;  // of the parameter
    double fallback = 0;
    const char *doc_of_key = "";
  };

  explicit Elementwise(const Row &row) : row(row), parameter(row.fallback) {}
  void fields(Fields &f) override {
    if (row.key) f(row.key, parameter, row.doc_of_key);
  }
  Id apply(Emit &e, Id x) const override {
    if (!row.key) return ops::unary(e, row.f, x);
    return ops::unary(e, row.f, x, {static_cast<float>(parameter)});
  }

  const Row &row;
  double parameter;
};

// A row: a function of whole vectors.
struct AlongAxis final : ActivationFunction {
  struct Row : Entry {
    Id (*f)(Emit &, Id x, int axis);
  };

  explicit AlongAxis(const Row &row) : row(row) {}
  void fields(Fields &f) override { f("axis", axis, "the axis it works along"); }
  Id apply(Emit &e, Id x) const override { return row.f(e, x, axis); }

  const Row &row;
  int32_t axis = -1;
};

struct Linear final : ActivationFunction {
  Id apply(Emit &, Id x) const override { return x; }
};

struct Relu final : ActivationFunction {
  double negative_slope = 0, threshold = 0;
  std::optional<double> max_value;

  void fields(Fields &f) override {
    f("negative_slope", negative_slope, "slope below the threshold");
    f("max_value", max_value, "the largest value it gives; null = none");
    f("threshold", threshold, "values up to it are damped or 0");
  }
  Id apply(Emit &e, Id x) const override {
    if (negative_slope == 0 && !max_value && threshold == 0) return ops::unary(e, Unary::relu, x);
    double most = max_value.value_or(std::numeric_limits<double>::infinity());
    return ops::unary(e, Unary::relu_general, x,
                      {static_cast<float>(negative_slope), static_cast<float>(most), static_cast<float>(threshold)});
  }
};

struct Gelu final : ActivationFunction {
  bool approximate = false;

  void fields(Fields &f) override { f("approximate", approximate, "the form with tanh instead of the exact one"); }
  Id apply(Emit &e, Id x) const override { return ops::unary(e, approximate ? Unary::gelu_tanh : Unary::gelu, x); }
};

struct Threshold final : ActivationFunction {
  double threshold = 0, default_value = 0;

  void fields(Fields &f) override {
    f("threshold", threshold, "values up to it are replaced").required("0");
    f("default_value", default_value, "what replaces them").required("1");
  }
  Id apply(Emit &e, Id x) const override {
    return ops::unary(e, Unary::threshold, x, {static_cast<float>(threshold), static_cast<float>(default_value)});
  }
};

Id glu(Emit &e, Id x, int along) {
  int axis = e.shape(x).axis(along);
  int64_t size = e.shape(x)[axis];
  if (size == free_dim || size % 2 != 0)
    fail(Code::shape_mismatch, "glu: expected axis ", axis, " to be known and even, got shape ", e.shape(x));
  return ops::mul(e, ops::slice(e, x, axis, 0, size / 2),
                  ops::unary(e, Unary::sigmoid, ops::slice(e, x, axis, size / 2, size / 2)));
}

constexpr Elementwise::Row plain(const char *name, const char *doc, Unary f, const char *onnx = "",
                                 const char *alias = "") {
  return {row_of<Elementwise>(name, doc, alias, "", onnx), f};
}
constexpr Elementwise::Row one(const char *name, const char *doc, Unary f, const char *key, double fallback,
                               const char *doc_of_key) {
  return {row_of<Elementwise>(name, doc), f, key, fallback, doc_of_key};
}

}  // namespace

void list_activation(Entries &all) {
  static constexpr std::tuple table{
      row_of<Linear>("linear", "x"),
      row_of<Relu>("relu", "max(x, 0)", "", "", "Relu"),
      plain("relu6", "min(max(x, 0), 6)", Unary::relu6),
      one("leaky_relu", "x where x > 0, else negative_slope * x", Unary::leaky_relu, "negative_slope", 0.2,
          "slope below 0"),
      one("elu", "x where x > 0, else alpha * (exp(x) - 1)", Unary::elu, "alpha", 1, "the limit below 0, negated"),
      plain("selu", "1.0507 * elu(x, 1.6733)", Unary::selu, "Selu"),
      one("celu", "max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)", Unary::celu, "alpha", 1,
          "the limit below 0, negated"),
      row_of<Gelu>("gelu", "x times the normal distribution function of x", "", "", "Gelu"),
      AlongAxis::Row{row_of<AlongAxis>("glu", "the first half of an axis times the sigmoid of the second"), glu},
      plain("silu", "x * sigmoid(x)", Unary::silu, "", "swish"),
      plain("mish", "x * tanh(softplus(x))", Unary::mish, "Mish"),
      plain("softplus", "log(exp(x) + 1)", Unary::softplus, "Softplus"),
      plain("softsign", "x / (|x| + 1)", Unary::softsign, "Softsign"),
      AlongAxis::Row{row_of<AlongAxis>("softmax", "exp(x) over its sum along an axis"), ops::softmax},
      AlongAxis::Row{row_of<AlongAxis>("log_softmax", "the logarithm of softmax"), ops::log_softmax},
      plain("sigmoid", "1 / (1 + exp(-x))", Unary::sigmoid, "Sigmoid"),
      plain("log_sigmoid", "the logarithm of sigmoid", Unary::log_sigmoid),
      plain("hard_sigmoid", "relu6(x + 3) / 6", Unary::hard_sigmoid),
      plain("hard_sigmoid_v1", "clip(0.2 x + 0.5, 0, 1): hard_sigmoid of Keras 1 and 2", Unary::hard_sigmoid_v1),
      plain("hard_silu", "x * hard_sigmoid(x)", Unary::hard_silu, "HardSwish", "hard_swish"),
      plain("hard_tanh", "clip(x, -1, 1)", Unary::hard_tanh),
      one("hard_shrink", "x where |x| > threshold, else 0", Unary::hard_shrink, "threshold", 0.5,
          "half the width of what becomes 0"),
      one("soft_shrink", "x moved towards 0 by threshold, 0 where |x| <= threshold", Unary::soft_shrink, "threshold",
          0.5, "how far values move"),
      plain("tanh", "hyperbolic tangent", Unary::tanh),
      plain("tanh_shrink", "x - tanh(x)", Unary::tanh_shrink),
      row_of<Threshold>("threshold", "x where x > threshold, else default_value"),
      one("squareplus", "(x + sqrt(x^2 + b)) / 2", Unary::squareplus, "b", 4, "smoothness"),
      plain("sparse_plus", "0 below -1, (x + 1)^2 / 4 up to 1, then x", Unary::sparse_plus),
      plain("sparse_sigmoid", "clip((x + 1) / 2, 0, 1)", Unary::sparse_sigmoid),
      AlongAxis::Row{row_of<AlongAxis>("sparsemax", "the nearest point of the probability simplex"), ops::sparsemax},
      plain("exponential", "exp(x)", Unary::exp),
  };
  std::apply([&](const auto &...row) { (list(all, row), ...); }, table);
}

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
    // Keras writes its own functions as {"class_name": "function", "config": "relu"}.
    if (config.is_string()) {
      name = config.get<std::string>();
      config = Json::object();
    }
  }
  const Entry &entry = find("activation", name);
  try {
    auto function = std::static_pointer_cast<const ActivationFunction>(entry.make(config));
    if (entry.name != linear) a.function_ = std::move(function);
  } catch (Error &error) {
    throw error.in(text("activation \"", entry.name, '"'));
  }
  return a;
}

Json Activation::to_json() const { return function_ ? function_->brief() : Json(linear); }

std::string_view Activation::name() const { return function_ ? function_->entry().name.view() : linear; }

}  // namespace dl4::kinds
