// Ops of ai.onnx.ml: what scikit-learn's models are made of, as far as numbers say it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"
#include "io/onnx/read/ml.hpp"
#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {

Tensor tensor_of_floats(const std::vector<double> &list, const Shape &shape) {
  Tensor t = make_tensor(DType::f32, shape);
  for (size_t i = 0; i < list.size(); ++i) t.as<float>()[i] = static_cast<float>(list[i]);
  return t;
}

Node row(const Op &op, const std::vector<double> &list) {
  op.take(static_cast<int64_t>(4 * list.size()));
  return op.constant_node(tensor_of_floats(list, {static_cast<int64_t>(list.size())}));
}

std::vector<double> reals(const Op &op, std::string_view name) {
  const Attribute *a = op.node.find(name);
  if (a && a->type != 6) fail(Code::corrupt_file, "has \"", std::string(name), "\" that is no list of floats");
  return a ? a->floats : std::vector<double>();
}

void refuse_texts(const Op &op, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (const Attribute *a = op.node.find(name); a && (!a->strings.empty() || !a->s.empty()))
      throw Error(Code::unsupported, text("\"", std::string(name), "\" are strings, which no layer reads or gives"))
          .with("attribute", std::string(name));
}

// What a probability is made by; the scores of an item are the last axis.
Node transformed(const Op &op, Node x) {
  const std::string how = op.string("post_transform", "NONE");
  if (how == "NONE") return x;
  if (how == "LOGISTIC") return op.layer("Activation", activation("sigmoid"), {x});
  if (how == "SOFTMAX") return op.layer("Softmax", {{"axis", -1}}, {x});
  op.refuse("\"post_transform\" of \"", how, "\" is not supported, only NONE, LOGISTIC and SOFTMAX");
}

Node rows_of_floats(const Op &op, size_t i) {
  Value &v = op.in(i);
  if (v.rank() < 1 || v.rank() > 2) fail(Code::corrupt_file, "expects rows of numbers, got ", v.rank(), " axes");
  const Node x = op.cast(op.x(i), DType::f32);
  return v.rank() == 2 ? x : op.layer("ExpandDims", {{"axis", 0}}, {x});
}

std::vector<Dim> rows_and(const Op &op, int64_t n) {
  const Value &v = op.in(0);
  return {v.rank() == 2 ? v.dims[0] : Dim{}, Dim{n, {}}};
}

namespace {

void scaler(const Op &op) {
  Value &v = op.in(0);
  Node x = op.cast(op.x(0), DType::f32);
  if (const auto offset = reals(op, "offset"); !offset.empty()) x = minus(op, x, row(op, offset));
  if (const auto scale = reals(op, "scale"); !scale.empty()) x = times(op, x, row(op, scale));
  op.give(0, x, v.dims);
}

void normalizer(const Op &op) {
  const std::string norm = op.string("norm", "MAX");
  const Node x = op.cast(op.x(0), DType::f32);
  const auto reduced = [&](const char *kind, Node of) {
    return op.layer(kind, {{"axis", Ints{-1}}, {"keepdims", true}}, {of});
  };
  Node size;
  if (norm == "MAX")
    size = reduced("Max", x);
  else if (norm == "L1")
    size = reduced("Sum", op.layer("Absolute", {}, {x}));
  else if (norm == "L2")
    size = op.layer("Sqrt", {}, {reduced("Sum", op.layer("Square", {}, {x}))});
  else
    fail(Code::corrupt_file, "has \"norm\" ", norm);
  const Node none = by_number(op, "Equal", size, 0);
  op.give(0, op.layer("Divide", {}, {x, op.layer("Where", {{"x1", 1}}, {none, size})}), op.in(0).dims);
}

void binarizer(const Op &op) {
  const Node above = by_number(op, "Greater", op.cast(op.x(0), DType::f32), op.real("threshold", 0));
  op.give(0, op.cast(above, DType::f32), op.in(0).dims);
}

void imputer(const Op &op) {
  Value &v = op.in(0);
  const bool floats = v.dtype == DType::f32;
  const Node x = op.x(0);
  const auto put = [&](Node missing, Tensor values) {
    op.give(0, op.layer("Where", {}, {missing, op.constant_node(std::move(values)), x}), v.dims);
  };
  if (!floats) {
    const auto values = op.integers("imputed_value_int64s");
    if (!values || values->empty()) fail(Code::corrupt_file, "has no \"imputed_value_int64s\"");
    const Node missing = by_number(op, "Equal", x, static_cast<double>(op.integer("replaced_value_int64", 0)));
    return put(missing, tensor_of(*values, v.dtype, {static_cast<int64_t>(values->size())}));
  }
  const auto values = reals(op, "imputed_value_floats");
  if (values.empty()) fail(Code::corrupt_file, "has no \"imputed_value_floats\"");
  const double replaced = op.real("replaced_value_float", 0);
  const Node missing = std::isnan(replaced) ? op.layer("LogicalNot", {}, {op.layer("Equal", {}, {x, x})})
                                            : by_number(op, "Equal", x, replaced);
  put(missing, tensor_of_floats(values, {static_cast<int64_t>(values.size())}));
}

// For each element which of the keys it is, as flags along a new last axis.
Node among(const Op &op, Node x, Tensor keys) {
  const Node wide = op.layer("ExpandDims", {{"axis", op.shape(x).rank()}}, {x});
  return op.layer("Equal", {}, {wide, op.constant_node(std::move(keys))});
}
Node any(const Op &op, Node flags) { return op.layer("Any", {{"axis", Ints{-1}}, {"keepdims", false}}, {flags}); }
Node first(const Op &op, Node flags) {
  return op.cast(op.layer("Argmax", {{"axis", -1}, {"keepdims", false}}, {op.cast(flags, DType::f32)}), DType::i64);
}

void one_hot_encoder(const Op &op) {
  refuse_texts(op, {"cats_strings"});
  const Ints cats = op.integers("cats_int64s").value_or(Ints{});
  if (cats.empty()) fail(Code::corrupt_file, "has no categories");
  const auto n = static_cast<int64_t>(cats.size());
  Value &v = op.in(0);
  const Node flags = among(op, op.cast(op.x(0), DType::i64), tensor_of(cats));
  std::vector<Dim> dims = v.dims;
  dims.push_back({n, {}});
  if (op.integer("zeros", 1) != 0) return op.give(0, op.cast(flags, DType::f32), dims);
  // One that is no category names a place past the last, which is an error of the run.
  op.take(checked_mul(n, n, 4));
  Tensor rows = make_zeros(DType::f32, {n, n}), past = make_tensor(DType::i64, {});
  for (int64_t i = 0; i < n; ++i) rows.as<float>()[i * n + i] = 1;
  *past.as<int64_t>() = n;
  const Node place = op.layer("Where", {}, {any(op, flags), first(op, flags), op.constant_node(past)});
  op.give(0, op.layer("Take", {{"axis", 0}}, {op.constant_node(rows), place}), dims);
}

// Keys or values of a LabelEncoder: a list of floats or of integers, or a tensor.
std::optional<Tensor> listed(const Op &op, const std::string &what) {
  refuse_texts(op, {what + "_strings"});
  if (const auto ints = op.integers((what + "_int64s").c_str()); ints && !ints->empty()) return tensor_of(*ints);
  if (const auto list = reals(op, what + "_floats"); !list.empty())
    return tensor_of_floats(list, {static_cast<int64_t>(list.size())});
  const Attribute *a = op.node.find(what + "_tensor");
  if (!a || !a->t) return {};
  if (a->t->type == Type::string) op.refuse("\"", what, "_tensor\" are strings, which no layer reads or gives");
  return read(*a->t, op.r.outside());
}

void label_encoder(const Op &op) {
  refuse_texts(op, {"classes_strings"});
  const auto keys = listed(op, "keys"), values = listed(op, "values");
  if (!keys || !values || keys->elements() != values->elements())
    fail(Code::corrupt_file, "expects as many values as keys");
  if (keys->dtype == DType::f32)
    for (int64_t i = 0; i < keys->elements(); ++i)
      if (std::isnan(keys->as<float>()[i])) op.refuse("a key that is NaN is not supported");
  Value &v = op.in(0);
  if ((v.dtype == DType::f32) != (keys->dtype == DType::f32))
    fail(Code::corrupt_file, "has keys of ", keys->dtype, " for ", v.dtype);
  Tensor otherwise = make_tensor(values->dtype, {});
  const Attribute *given = op.node.find("default_tensor");
  if (given && given->t)
    otherwise = reshaped(read(*given->t, op.r.outside()), {});
  else if (values->dtype == DType::f32)
    *otherwise.as<float>() = static_cast<float>(op.real("default_float", -0.0));
  else
    otherwise = tensor_of({op.integer("default_int64", -1)}, values->dtype, {});
  const Node flags = among(op, op.cast(op.x(0), keys->dtype), *keys);
  const Node value = op.layer("Take", {{"axis", 0}}, {op.constant_node(*values), first(op, flags)});
  op.give(0, op.layer("Where", {}, {any(op, flags), value, op.constant_node(otherwise)}), v.dims);
}

// Places of the last axis. One axis is a row.
void feature_extractor(const Op &op) {
  Value &v = op.in(0);
  if (v.rank() < 1) fail(Code::corrupt_file, "expects an axis to take places of");
  const bool list = op.in(1).rank() == 1;
  const Node y = op.layer("Take", {{"axis", v.rank() - 1}}, {op.x(0), list ? op.x(1) : op.reshape(op.x(1), {-1})});
  std::vector<Dim> dims(v.dims.begin(), v.dims.end() - 1);
  dims.push_back(list ? op.in(1).dims[0] : Dim{1, {op.r.fresh()}});
  if (v.rank() > 1) return op.give(0, y, dims);
  op.give(0, op.layer("ExpandDims", {{"axis", 0}}, {y}), {Dim{}, dims[0]});
}

void feature_vectorizer(const Op &op) {
  std::vector<Node> in;
  for (size_t i = 0; i < op.inputs(); ++i) in.push_back(rows_of_floats(op, i));
  op.give(0, in.size() == 1 ? in[0] : op.layer("Concatenate", {{"axis", 1}}, in), {op.in(0).dims[0]});
}

// Rows by the coefficients (n, features) of n linear functions.
Node linear(const Op &op, int64_t n) {
  const auto coefficients = reals(op, "coefficients"), intercepts = reals(op, "intercepts");
  const auto all = static_cast<int64_t>(coefficients.size());
  if (n < 1 || all < n || all % n != 0 || (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != n))
    fail(Code::corrupt_file, "has ", all, " coefficients and ", intercepts.size(), " intercepts of ", n, " functions");
  op.take(checked_mul(8, all));
  const Tensor kernel = transposed(tensor_of_floats(coefficients, {n, all / n}), {1, 0});
  Weights weights{{"kernel", kernel}};
  if (!intercepts.empty()) weights.emplace_back("bias", tensor_of_floats(intercepts, {n}));
  return op.weighted("Dense", {{"units", n}, {"use_bias", !intercepts.empty()}}, {rows_of_floats(op, 0)}, weights);
}

void linear_regressor(const Op &op) {
  const int64_t n = op.integer("targets", 1);
  op.give(0, transformed(op, linear(op, n)), rows_and(op, n));
}

void linear_classifier(const Op &op) {
  refuse_texts(op, {"classlabels_strings"});
  const Ints labels = op.integers("classlabels_ints").value_or(Ints{});
  const auto n = static_cast<int64_t>(labels.size());
  const auto functions = static_cast<int64_t>(reals(op, "intercepts").size());
  if (n < 2 || functions != n)
    op.refuse("of ", functions, " functions for ", n, " classes is not supported, only of one for each class");
  const Node scores = linear(op, n);
  op.give(0,
          op.layer("Take", {{"axis", 0}},
                   {op.constant_node(tensor_of(labels)),
                    op.cast(op.layer("Argmax", {{"axis", -1}, {"keepdims", false}}, {scores}), DType::i64)}),
          {rows_and(op, n)[0]});
  op.give(1, transformed(op, scores), rows_and(op, n));
}

// A dictionary of each row is its scores in the order of the keys.
void zip_map(const Op &op) { op.give_value(0, op.in(0)); }

void vectors(const Op &op) { op.refuse("is not supported: support vector machines are not read"); }
void strings(const Op &op) { op.refuse("is not supported: strings and dictionaries are not read"); }

}  // namespace

std::span<const Row> ml_rows() {
  static constexpr Row rows[] = {
      {"Scaler", scaler},
      {"Normalizer", normalizer},
      {"Binarizer", binarizer},
      {"Imputer", imputer},
      {"OneHotEncoder", one_hot_encoder},
      {"LabelEncoder", label_encoder},
      {"ArrayFeatureExtractor", feature_extractor},
      {"FeatureVectorizer", feature_vectorizer},
      {"LinearRegressor", linear_regressor},
      {"LinearClassifier", linear_classifier},
      {"TreeEnsembleRegressor", tree_regressor},
      {"TreeEnsembleClassifier", tree_classifier},
      {"TreeEnsemble", tree_ensemble},
      {"ZipMap", zip_map},
      {"SVMClassifier", vectors},
      {"SVMRegressor", vectors},
      {"CategoryMapper", strings},
      {"DictVectorizer", strings},
      {"CastMap", strings},
  };
  return rows;
}

}  // namespace dl4::io::onnx
