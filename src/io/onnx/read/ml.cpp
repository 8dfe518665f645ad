// Ops of ai.onnx.ml, for scikit-learn's models.
#include <cmath>
#include <numeric>

#include "base/utf8.hpp"
#include "io/onnx/read/math.hpp"
#include "io/onnx/read/ml.hpp"
#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {

Node row(const Op &op, const std::vector<double> &list) {
  op.take(static_cast<int64_t>(4 * list.size()));
  return op.constant_node(tensor_of(list, {static_cast<int64_t>(list.size())}));
}

std::vector<double> reals(const Op &op, std::string_view name) {
  const Attribute *a = op.node.find(name);
  if (a && a->type != 6) fail(Code::corrupt_file, "has \"", std::string(name), "\" that is no list of floats");
  return a ? a->floats : std::vector<double>();
}

// Applies the transform to scores, whose last axis is the classes.
Node transformed(const Op &op, Node x) {
  const std::string how = op.string("post_transform");
  if (how == "NONE") return x;
  if (how == "LOGISTIC") return op.layer("Activation", activation("sigmoid"), {x});
  return op.layer("Softmax", {{"axis", -1}}, {x});
}

Labels::Labels(const Op &op, const char *as_numbers, const char *as_texts)
    : numbers(op.integers(as_numbers).value_or(Ints{})), as_texts(as_texts) {
  const Attribute *texts = op.node.find(as_texts);
  const size_t strings = texts ? texts->strings.size() : 0;
  if (strings > 0 && !numbers.empty()) fail(Code::corrupt_file, "has both \"", as_numbers, "\" and \"", as_texts, '"');
  count = static_cast<int64_t>(std::max(strings, numbers.size()));
}

void Labels::give(const Op &op, Node place) const {
  if (numbers.empty())
    return op.give(0, text_of_place(op, op.cast(place, DType::i64), texts(op, as_texts)), {rows_and(op, 1)[0]});
  op.give(0, op.layer("Take", {{"axis", 0}}, {op.constant_node(tensor_of(numbers)), op.cast(place, DType::i64)}),
          {rows_and(op, 1)[0]});
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
  const std::string norm = op.string("norm");
  const Node x = op.cast(op.x(0), DType::f32);
  const auto reduced = [&](const char *kind, Node of) {
    return op.layer(kind, {{"axis", Ints{-1}}, {"keepdims", true}}, {of});
  };
  Node size;
  if (norm == "MAX")
    size = reduced("Max", x);
  else if (norm == "L1")
    size = reduced("Sum", op.layer("Absolute", {}, {x}));
  else
    size = op.layer("Sqrt", {}, {reduced("Sum", op.layer("Square", {}, {x}))});
  const Node none = by_number(op, "Equal", size, 0);
  op.give(0, op.layer("Divide", {}, {x, op.layer("Where", {{"x1", 1}}, {none, size})}), op.in(0).dims);
}

void binarizer(const Op &op) {
  const Node above = by_number(op, "Greater", op.cast(op.x(0), DType::f32), op.real("threshold"));
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
    const Node missing = by_number(op, "Equal", x, static_cast<double>(op.integer("replaced_value_int64")));
    return put(missing, tensor_of(*values, v.dtype, {static_cast<int64_t>(values->size())}));
  }
  const auto values = reals(op, "imputed_value_floats");
  if (values.empty()) fail(Code::corrupt_file, "has no \"imputed_value_floats\"");
  const double replaced = op.real("replaced_value_float");
  const Node missing = std::isnan(replaced) ? op.layer("LogicalNot", {}, {op.layer("Equal", {}, {x, x})})
                                            : by_number(op, "Equal", x, replaced);
  put(missing, tensor_of(values, {static_cast<int64_t>(values.size())}));
}

// One-hot flags of each element among the keys, along a new last axis.
Node among(const Op &op, Node x, Tensor keys) {
  const Node wide = op.layer("ExpandDims", {{"axis", op.shape(x).rank()}}, {x});
  return op.layer("Equal", {}, {wide, op.constant_node(std::move(keys))});
}
Node any(const Op &op, Node flags) { return op.layer("Any", {{"axis", Ints{-1}}, {"keepdims", false}}, {flags}); }
Node first(const Op &op, Node flags) {
  return op.cast(op.layer("Argmax", {{"axis", -1}, {"keepdims", false}}, {op.cast(flags, DType::f32)}), DType::i64);
}

void one_hot_encoder(const Op &op) {
  const Ints cats = op.integers("cats_int64s").value_or(Ints{});
  const std::vector<std::string> words = texts(op, "cats_strings");
  if (cats.empty() == words.empty()) fail(Code::corrupt_file, "expects one of \"cats_int64s\" and \"cats_strings\"");
  need_texts(op, !words.empty());
  const auto n = static_cast<int64_t>(std::max(cats.size(), words.size()));
  std::vector<Dim> dims = op.in(0).dims;
  dims.push_back({n, {}});
  const bool zeros = op.flag("zeros"), takes_others = zeros && !words.empty();
  Node place;
  if (words.empty()) {
    const Node flags = among(op, op.cast(op.x(0), DType::i64), tensor_of(cats));
    if (zeros) return op.give(0, op.cast(flags, DType::f32), dims);
    // An unknown category selects a position out of range, which the run reports.
    const Node past = op.constant_node(tensor_of({n}, DType::i64, {}));
    place = op.layer("Where", {}, {any(op, flags), first(op, flags), past});
  } else {
    place = place_of_text(op, op.x(0), words, zeros);
  }
  op.take(checked_mul(n + 1, n, 4));
  Tensor rows = make_zeros(DType::f32, {n + (takes_others ? 1 : 0), n});
  for (int64_t i = 0; i < n; ++i) rows.as<float>()[(i + (takes_others ? 1 : 0)) * n + i] = 1;
  op.give(0, op.layer("Take", {{"axis", 0}}, {op.constant_node(rows), place}), dims);
}

// A LabelEncoder's keys or values that are numbers: a list of floats or integers, or a tensor.
std::optional<Tensor> listed(const Op &op, const std::string &what) {
  if (const auto ints = op.integers((what + "_int64s").c_str()); ints && !ints->empty()) return tensor_of(*ints);
  if (const auto list = reals(op, what + "_floats"); !list.empty())
    return tensor_of(list, {static_cast<int64_t>(list.size())});
  const Attribute *a = op.node.find(what + "_tensor");
  if (!a || !a->t || a->t->type == Type::string) return {};
  return read(*a->t, op.r.outside());
}

// The same for strings.
std::vector<std::string> listed_texts(const Op &op, const std::string &what) {
  if (auto words = texts(op, what + "_strings"); !words.empty()) return words;
  const std::string tensor = what + "_tensor";
  const Attribute *a = op.node.find(tensor);
  return a && a->t && a->t->type == Type::string ? texts(op, tensor) : std::vector<std::string>();
}

// 0, 1, 2 ...
Tensor numbered(size_t n) {
  Ints places(n);
  std::iota(places.begin(), places.end(), 0);
  return tensor_of(places);
}

// place: from 1 on; 0 is the default.
Node text_or_default(const Op &op, Node place, std::vector<std::string> words) {
  std::string otherwise = text(op, "default_string");
  if (op.says("default_tensor")) {
    const std::vector<std::string> given = texts(op, "default_tensor");
    if (given.size() != 1) fail(Code::corrupt_file, "has a default of ", given.size(), " strings");
    otherwise = given[0];
  }
  words.insert(words.begin(), otherwise);
  return text_of_place(op, place, words);
}

// With the default before them.
Tensor after_default(const Op &op, const Tensor &values) {
  const Attribute *given = op.node.find("default_tensor");
  Tensor otherwise = make_tensor(values.dtype, {});
  if (given && given->t)
    otherwise = reshaped(read(*given->t, op.r.outside()), {});
  else if (values.dtype == DType::f32)
    *otherwise.as<float>() = static_cast<float>(op.real("default_float"));
  else
    otherwise = tensor_of({op.integer("default_int64")}, values.dtype, {});
  if (otherwise.dtype != values.dtype)
    fail(Code::corrupt_file, "has a default of ", otherwise.dtype, " for values of ", values.dtype);
  Tensor all = make_tensor(values.dtype, {values.elements() + 1});
  const auto size = static_cast<size_t>(size_of(values.dtype));
  std::memcpy(all.data.get(), otherwise.data.get(), size);
  std::memcpy(all.data.get() + size, values.data.get(), static_cast<size_t>(values.elements()) * size);
  return all;
}

// Numbers as their places among keys, from 1 on; others: 0.
Node place_of_number(const Op &op, const Tensor &keys) {
  if (keys.dtype == DType::f32)
    for (int64_t i = 0; i < keys.elements(); ++i)
      if (std::isnan(keys.as<float>()[i])) op.refuse("a key that is NaN is not supported");
  if ((op.in(0).dtype == DType::f32) != (keys.dtype == DType::f32))
    fail(Code::corrupt_file, "has keys of ", keys.dtype, " for ", op.in(0).dtype);
  const Node flags = among(op, op.cast(op.x(0), keys.dtype), keys);
  return op.layer("Where", {{"x2", 0}}, {any(op, flags), by_number(op, "BroadcastAdd", first(op, flags), 1)});
}

void label_encoder(const Op &op) {
  const Value &v = op.in(0);
  // Before opset 2: classes as their places, or the reverse.
  const bool old = op.says("classes_strings"), from_places = old && v.dtype != DType::string;
  const std::vector<std::string> classes = texts(op, "classes_strings"), none,
                                 words = from_places ? none
                                         : old       ? classes
                                                     : listed_texts(op, "keys"),
                                 values = from_places ? classes
                                          : old       ? none
                                                      : listed_texts(op, "values");
  need_texts(op, !words.empty());
  std::optional<Tensor> keys;
  if (words.empty()) keys = from_places ? numbered(classes.size()) : listed(op, "keys");
  const auto count = keys ? keys->elements() : std::ssize(words);
  if (count == 0) fail(Code::corrupt_file, "expects as many values as keys");
  const Node place = keys ? place_of_number(op, *keys) : place_of_text(op, op.x(0), words, true);
  const std::optional<Tensor> numbers = old ? numbered(classes.size()) : listed(op, "values");
  if (values.empty() ? !numbers || numbers->elements() != count : std::ssize(values) != count)
    fail(Code::corrupt_file, "expects as many values as keys");
  const Node y = values.empty()
                     ? op.layer("Take", {{"axis", 0}}, {op.constant_node(after_default(op, *numbers)), place})
                     : text_or_default(op, place, values);
  op.give(0, y, v.dims);
}

void category_mapper(const Op &op) {
  const std::vector<std::string> words = texts(op, "cats_strings");
  Ints numbers = op.integers("cats_int64s").value_or(Ints{});
  if (words.empty() || words.size() != numbers.size())
    fail(Code::corrupt_file, "expects as many \"cats_int64s\" as \"cats_strings\"");
  if (op.in(0).dtype != DType::string)
    return op.give(0, text_or_default(op, place_of_number(op, tensor_of(numbers)), words), op.in(0).dims);
  numbers.insert(numbers.begin(), op.integer("default_int64"));
  const Node place = place_of_text(op, op.x(0), words, true);
  op.give(0, op.layer("Take", {{"axis", 0}}, {op.constant_node(tensor_of(numbers)), place}), op.in(0).dims);
}

// Positions of the last axis; a single axis is a row.
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

// Each input as rows of "inputdimensions" numbers: truncated, or padded with 0.
void feature_vectorizer(const Op &op) {
  const auto sizes = op.integers("inputdimensions");
  if (sizes && sizes->size() != op.inputs())
    fail(Code::corrupt_file, "has ", sizes->size(), " \"inputdimensions\" for ", op.inputs(), " inputs");
  std::vector<Node> in;
  for (size_t i = 0; i < op.inputs(); ++i) {
    const Value &v = op.in(i);
    if (v.rank() < 1) fail(Code::corrupt_file, "expects rows of numbers, got no axes");
    std::vector<Dim> dims = v.dims;
    if (v.rank() == 1) dims.insert(dims.begin(), Dim{});
    const Dim features = product({dims.begin() + 1, dims.end()});
    Node x = op.cast(with_dims(op, op.x(i), v.dims, {dims[0], features}), DType::f32);
    if (sizes) {
      const int64_t n = known(op, features, "the features of an input"), wanted = (*sizes)[i];
      if (wanted < 1 || wanted > max_dim) fail(Code::corrupt_file, "has \"inputdimensions\" of ", wanted);
      if (wanted < n) x = op.cut(x, 1, 0, wanted);
      if (wanted > n) x = with_ends(op, x, {{0, 0}, {0, wanted - n}});
    }
    in.push_back(x);
  }
  op.give(0, in.size() == 1 ? in[0] : op.layer("Concatenate", {{"axis", 1}}, in), {rows_and(op, 1)[0]});
}

// Rows times the coefficients (n, features) of n linear functions.
Node linear(const Op &op, int64_t n) {
  const auto coefficients = reals(op, "coefficients"), intercepts = reals(op, "intercepts");
  const auto all = static_cast<int64_t>(coefficients.size());
  if (n < 1 || all < n || all % n != 0 || (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != n))
    fail(Code::corrupt_file, "has ", all, " coefficients and ", intercepts.size(), " intercepts of ", n, " functions");
  op.take(checked_mul(8, all));
  const Tensor kernel = transposed(tensor_of(coefficients, {n, all / n}), {1, 0});
  Weights weights{{"kernel", kernel}};
  if (!intercepts.empty()) weights.emplace_back("bias", tensor_of(intercepts, {n}));
  return op.weighted("Dense", {{"units", n}, {"use_bias", !intercepts.empty()}}, {rows_of_floats(op, 0)}, weights);
}

void linear_regressor(const Op &op) {
  const int64_t n = op.integer("targets");
  op.give(0, transformed(op, linear(op, n)), rows_and(op, n));
}

// A function per class, or one for the second of two.
void linear_classifier(const Op &op) {
  const Labels labels(op, "classlabels_ints", "classlabels_strings");
  const int64_t n = labels.count;
  const auto said = static_cast<int64_t>(reals(op, "intercepts").size()), functions = said == 0 ? n : said;
  const bool one = functions == 1 && n == 2;
  if (n < 2 || functions > n || (functions == 1 && !one))
    op.refuse("of ", functions, " functions for ", n, " classes is not supported");
  Node scores = linear(op, functions);
  if (!one) {
    labels.give(op, op.layer("Argmax", {{"axis", -1}, {"keepdims", false}}, {scores}));
    return op.give(1, transformed(op, scores), rows_and(op, functions));
  }
  labels.give(op, op.layer("Squeeze", {{"axis", 1}}, {by_number(op, "Greater", scores, 0)}));
  // The other one's: the negated logit, or 1 minus the value.
  const bool logistic = op.string("post_transform") == "LOGISTIC";
  const Node other =
      logistic ? op.layer("Negative", {}, {scores}) : op.layer("BroadcastSubtract", {{"x1", 1}}, {scores});
  scores = op.layer("Concatenate", {{"axis", 1}}, {other, scores});
  op.give(1, logistic ? op.layer("Activation", activation("sigmoid"), {scores}) : scores, rows_and(op, n));
}

// The dictionary of a row is its scores in the order of the keys.
void zip_map(const Op &op) { op.give_value(0, op.in(0)); }

void vectors(const Op &op) { op.refuse("is not supported: support vector machines are not read"); }
void dictionaries(const Op &op) { op.refuse("is not supported: dictionaries are not read"); }

}  // namespace

constexpr Row ml_table[] = {
    {"Scaler", scaler, "X > Y; offset:floats scale:floats"},
    {"Normalizer", normalizer, "X > Y; norm=MAX|L1|L2"},
    {"Binarizer", binarizer, "X > Y; threshold=0.0"},
    {"Imputer", imputer,
     "X > Y; imputed_value_floats:floats imputed_value_int64s:ints replaced_value_float=0.0 "
     "replaced_value_int64=0"},
    {"OneHotEncoder", one_hot_encoder, "X > Y; cats_int64s:ints cats_strings:strings zeros=1|0"},
    {"LabelEncoder", label_encoder,
     "X > Y; classes_strings@-1:strings default_float@2=-0.0 default_int64=-1 default_string=_Unused "
     "default_tensor@4:tensor keys_floats@2:floats keys_int64s@2:ints keys_strings@2:strings "
     "keys_tensor@4:tensor values_floats@2:floats values_int64s@2:ints values_strings@2:strings "
     "values_tensor@4:tensor"},
    {"ArrayFeatureExtractor", feature_extractor, "X Y > Z"},
    {"FeatureVectorizer", feature_vectorizer, "X+ > Y; inputdimensions:ints"},
    {"LinearRegressor", linear_regressor,
     "X > Y; coefficients:floats intercepts:floats post_transform=NONE|LOGISTIC|SOFTMAX targets=1"},
    {"LinearClassifier", linear_classifier,
     "X > Y Z; classlabels_ints:ints classlabels_strings:strings coefficients:floats! "
     "intercepts:floats multi_class=0|1 post_transform=NONE|LOGISTIC|SOFTMAX"},
    {"TreeEnsembleRegressor", tree_regressor,
     "X > Y; aggregate_function=SUM|AVERAGE|MIN|MAX base_values:floats base_values_as_tensor@3:tensor "
     "n_targets:int nodes_falsenodeids:ints nodes_featureids:ints nodes_hitrates:floats "
     "nodes_hitrates_as_tensor@3:tensor nodes_missing_value_tracks_true:ints nodes_modes:strings "
     "nodes_nodeids:ints nodes_treeids:ints nodes_truenodeids:ints nodes_values:floats "
     "nodes_values_as_tensor@3:tensor post_transform=NONE|LOGISTIC|SOFTMAX target_ids:ints "
     "target_nodeids:ints target_treeids:ints target_weights:floats target_weights_as_tensor@3:tensor"},
    {"TreeEnsembleClassifier", tree_classifier,
     "X > Y Z; base_values:floats base_values_as_tensor@3:tensor class_ids:ints class_nodeids:ints "
     "class_treeids:ints class_weights:floats class_weights_as_tensor@3:tensor "
     "classlabels_int64s:ints classlabels_strings:strings nodes_falsenodeids:ints "
     "nodes_featureids:ints nodes_hitrates:floats nodes_hitrates_as_tensor@3:tensor "
     "nodes_missing_value_tracks_true:ints nodes_modes:strings nodes_nodeids:ints nodes_treeids:ints "
     "nodes_truenodeids:ints nodes_values:floats nodes_values_as_tensor@3:tensor "
     "post_transform=NONE|LOGISTIC|SOFTMAX"},
    {"TreeEnsemble", tree_ensemble,
     "X > Y; aggregate_function=1|0|2|3 leaf_targetids:ints! leaf_weights:tensor! "
     "membership_values:tensor n_targets:int nodes_falseleafs:ints! nodes_falsenodeids:ints! "
     "nodes_featureids:ints! nodes_hitrates:tensor nodes_missing_value_tracks_true:ints "
     "nodes_modes:tensor! nodes_splits:tensor! nodes_trueleafs:ints! nodes_truenodeids:ints! "
     "post_transform=0| tree_roots:ints!"},
    {"ZipMap", zip_map, "X > Z; classlabels_int64s:ints classlabels_strings:strings"},
    {"SVMClassifier", vectors},
    {"SVMRegressor", vectors},
    {"CategoryMapper", category_mapper,
     "X > Y; cats_int64s:ints cats_strings:strings default_int64=-1 default_string=_Unused"},
    {"DictVectorizer", dictionaries},
    {"CastMap", dictionaries},
};
const std::span<const Row> ml_rows = ml_table;

}  // namespace dl4::io::onnx
