// Ops of ai.onnx.ml and com.microsoft: what is refused, and by which name. What they give: onnx_exports_test.cpp.
#include <stdexcept>

#include "capi/onnx_bytes.hpp"
#include "capi/texts.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using namespace dl4_test::onnx_bytes;

std::string in_domain(const std::string &domain, const std::string &op, const std::vector<std::string> &in,
                      const std::string &more = "") {
  return node(op, in, more + field(7, domain));
}
std::string ml(const std::string &op, const std::string &more = "") { return in_domain("ai.onnx.ml", op, {"x"}, more); }
std::string text_of(const std::string &name, const std::string &v) { return attribute(name, field(4, v), 3); }
std::string texts(const std::string &name, const std::vector<std::string> &list) {
  std::string all;
  for (const std::string &s : list) all += field(9, s);
  return attribute(name, all, 8);
}
std::string reals(const std::string &name, const std::vector<float> &list) {
  std::string all;
  for (float v : list) all += varint(7 << 3 | 5) + std::string(reinterpret_cast<const char *>(&v), sizeof v);
  return attribute(name, all, 6);
}
void expect_refused(const std::string &bytes, std::initializer_list<const char *> words) {
  Refusal r;
  load(nullptr, bytes, r);
  EXPECT_NE(r.code, 0);
  for (const char *word : words) EXPECT_NE(r.message.find(word), std::string::npos) << word << " in " << r.message;
}

TEST(OnnxDomains, OfScalersAndNormalizersAreRead) {
  const auto y = [](const std::string &graph) {
    return run<float, float>(model(graph), {2, 4}, {1, -2, 0, 4, 0, 0, 0, 0});
  };
  EXPECT_EQ(y(ml("Scaler", reals("offset", {1}) + reals("scale", {1, 2, 3, 4}))),
            (std::vector<float>{0, -6, -3, 12, -1, -2, -3, -4}));
  EXPECT_EQ(y(ml("Normalizer", text_of("norm", "L1")))[3], 4.0f / 7);
  EXPECT_EQ(y(ml("Normalizer", text_of("norm", "MAX"))), (std::vector<float>{0.25f, -0.5f, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(y(ml("Binarizer", real("threshold", 0.5f))), (std::vector<float>{1, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(y(ml("Imputer", reals("imputed_value_floats", {1, 2, 3, 4}) + real("replaced_value_float", 0))),
            (std::vector<float>{1, -2, 3, 4, 1, 2, 3, 4}));
}

TEST(OnnxDomains, RefuseByName) {
  expect_refused(model(ml("SVMRegressor")), {"SVMRegressor", "support vector machines are not read"});
  expect_refused(model(ml("SVMClassifier")), {"SVMClassifier", "support vector machines"});
  expect_refused(model(ml("DictVectorizer")), {"DictVectorizer", "dictionaries"});
  expect_refused(model(ml("Normalizer", text_of("norm", "L7"))), {"L7"});
  expect_refused(model(ml("LinearRegressor", reals("coefficients", {1, 2, 3}) + integer("targets", 2))),
                 {"3 coefficients"});
  expect_refused(model(ml("TreeEnsembleRegressor")), {"TreeEnsembleRegressor"});
  expect_refused(model(ml("NoSuchOp")), {"NoSuchOp", "ai.onnx.ml"});
  const auto ours = [](const std::string &op, const std::vector<std::string> &in, const std::string &more = "") {
    return model(in_domain("com.microsoft", op, in, more));
  };
  expect_refused(ours("NhwcFusedConv", {"x"}), {"NhwcFusedConv", "com.microsoft"});
  expect_refused(model(in_domain("com.microsoft.nchwc", "Conv", {"x", "x"})), {"nchwc", "ORT_ENABLE_EXTENDED"});
  expect_refused(ours("FusedMatMul", {"x", "x"}, integer("transBatchA", 1)), {"transBatchA"});
  expect_refused(ours("FusedGemm", {"x", "x"}, integer("transB", 1) + text_of("activation", "Swirl")), {"Swirl"});
  expect_refused(ours("Attention", {"x", "x"}), {"num_heads"});
}

// Labels that are strings, and probabilities.
TEST(OnnxDomains, OfClassifiersGiveLabelsOfStrings) {
  const auto classifier = [](const std::string &labels, const std::vector<float> &weights, size_t functions,
                             const std::string &after) {
    const std::string node = field(1, std::string("x")) + field(2, std::string("label")) + field(2, std::string("y")) +
                             field(4, std::string("LinearClassifier")) + field(7, std::string("ai.onnx.ml")) + labels +
                             reals("coefficients", weights) + reals("intercepts", std::vector<float>(functions, 0.5f)) +
                             text_of("post_transform", after);
    return model_of(field(1, node), port(11, "x", 1, {-1, 2}) + port(12, "label", 8, {-1}) + port(12, "y", 1, {-1, 2}));
  };
  const std::string two = texts("classlabels_strings", {"a", "b"});
  const auto expect = [&](const std::string &bytes, std::vector<float> x, const Strings &labels,
                          const std::vector<float> &scores) {
    Refusal r;
    const auto m = load(nullptr, bytes, r);
    ASSERT_EQ(r.message, "");
    Own<dl4_session> s;
    ok(dl4_session_create(m, nullptr, s.out()));
    const auto in = tensor({static_cast<int64_t>(x.size()) / 2, 2}, x);
    dl4_tensor *from = in, *to[2] = {};
    ok(dl4_session_run(s, &from, 1, to, 2, nullptr));
    EXPECT_EQ(strings_of(to[0]), labels);
    std::vector<float> y(scores.size());
    ok(dl4_tensor_copy_out(to[1], y.data(), static_cast<int64_t>(4 * y.size())));
    EXPECT_EQ(y, scores);
    for (dl4_tensor *t : to) dl4_release(t);
  };
  expect(classifier(two, {1, 0, 0, 1}, 2, "NONE"), {1, 2, 4, 3}, {"b", "a"}, {1.5f, 2.5f, 4.5f, 3.5f});
  // One function is of the second class: what is left to 1 is of the first.
  expect(classifier(two, {1, 0}, 1, "NONE"), {1, 2, -1, 4}, {"b", "a"}, {-0.5f, 1.5f, 1.5f, -0.5f});
  expect(classifier(two, {1, 0}, 1, "LOGISTIC"), {-0.5f, 2}, {"a"}, {0.5f, 0.5f});
  expect(classifier(texts("classlabels_strings", {"same", "same"}), {1, 0, 0, 1}, 2, "NONE"), {1, 2}, {"same"},
         {1.5f, 2.5f});
  expect_refused(classifier(two + integers("classlabels_ints", {1, 2}), {1, 0}, 1, "NONE"),
                 {"classlabels_ints", "classlabels_strings"});
  expect_refused(classifier(two, {1, 0, 0, 1, 1, 1}, 3, "NONE"), {"3 functions for 2 classes"});
  expect_refused(classifier(texts("classlabels_strings", {"a", "\xff"}), {1, 0, 0, 1}, 2, "NONE"),
                 {"\"classlabels_strings\" that are no UTF-8"});
}

// Of a node with strings x (n, 2), each of which gives `wide` numbers.
template <class T>
std::vector<T> of_strings(const std::string &op, const std::string &more, int type, const Strings &x, int64_t wide = 0,
                          const std::string &opset = "") {
  std::vector<int64_t> dims = {-1, 2};
  if (wide) dims.push_back(wide);
  Refusal r;
  const auto m =
      load(nullptr, model_of(ml(op, more), port(11, "x", 8, {-1, 2}) + port(12, "y", type, dims)) + opset, r);
  EXPECT_EQ(r.message, "");
  if (!m) return {};
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  const auto given = strings({static_cast<int64_t>(x.size()) / 2, 2}, x);
  dl4_tensor *in = given;
  Own<dl4_tensor> y;
  const Refusal run = refusal(dl4_session_run(s, &in, 1, y.out(), 1, nullptr));
  if (run.code) throw std::runtime_error(run.message);
  std::vector<T> all(static_cast<size_t>(dl4_tensor_bytes(y)) / sizeof(T));
  ok(dl4_tensor_copy_out(y, all.data(), dl4_tensor_bytes(y)));
  return all;
}

TEST(OnnxDomains, OfStringsGiveNumbers) {
  const Strings x = {"b", "a", "zebra", ""};
  const std::string cats = texts("cats_strings", {"a", "", "b"});
  EXPECT_EQ(of_strings<float>("OneHotEncoder", cats, 1, x, 3),
            (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(of_strings<float>("OneHotEncoder", cats + integer("zeros", 0), 1, {"a", "b"}, 3),
            (std::vector<float>{1, 0, 0, 0, 0, 1}));
  try {
    of_strings<float>("OneHotEncoder", cats + integer("zeros", 0), 1, x, 3);
    ADD_FAILURE() << "an unknown category";
  } catch (const std::runtime_error &e) {
    EXPECT_NE(std::string(e.what()).find("got \"zebra\""), std::string::npos) << e.what();
  }
  // Of equal keys the first one counts; the text of unknown tokens is one as any other.
  const std::string keys = texts("keys_strings", {"[UNK]", "a", "b", "a"});
  EXPECT_EQ(
      of_strings<int64_t>("LabelEncoder", keys + integers("values_int64s", {7, 8, 9, 10}), 7, {"[UNK]", "a", "b", "c"}),
      (std::vector<int64_t>{7, 8, 9, -1}));
  EXPECT_EQ(of_strings<float>("LabelEncoder", keys + reals("values_floats", {0.5f, 1, 2, 3}) + real("default_float", 9),
                              1, x),
            (std::vector<float>{2, 1, 9, 9}));
  const std::string first_version = field(8, field(1, std::string("ai.onnx.ml")) + field(2, int64_t{1}));
  EXPECT_EQ(of_strings<int64_t>("LabelEncoder", texts("classes_strings", {"a", "b"}), 7, x, 0, first_version),
            (std::vector<int64_t>{1, 0, -1, -1}));
  const auto of_numbers = [](const std::string &op, const std::string &more) {
    return model_of(ml(op, more), port(11, "x", 1, {-1, 2}) + port(12, "y", 1, {-1, 2}));
  };
  expect_refused(of_numbers("OneHotEncoder", cats), {"OneHotEncoder", "has strings for float32"});
  expect_refused(of_numbers("OneHotEncoder", cats + integers("cats_int64s", {1})), {"expects one of"});
  expect_refused(of_numbers("LabelEncoder", keys + reals("values_floats", {0.5f, 1, 2, 3})),
                 {"has strings for float32"});
  const auto of_texts = [](const std::string &graph) {
    return model_of(graph, port(11, "x", 8, {-1, 2}) + port(12, "y", 1, {-1, 2}));
  };
  expect_refused(of_texts(ml("LabelEncoder", keys + reals("values_floats", {1, 2}))),
                 {"expects as many values as keys"});
  expect_refused(of_texts(ml("LabelEncoder", reals("keys_floats", {1}) + reals("values_floats", {1}))),
                 {"has numbers for string"});
  expect_refused(of_texts(ml("LabelEncoder", texts("keys_strings", {"\xff"}) + reals("values_floats", {1}))),
                 {"\"keys_strings\" that are no UTF-8"});
  expect_refused(of_texts(node("Relu", {"x"})), {"Relu", "string"});
  const std::string map = cats + integers("cats_int64s", {5, 6, 7});
  EXPECT_EQ(of_strings<int64_t>("CategoryMapper", map + integer("default_int64", 9), 7, x),
            (std::vector<int64_t>{7, 5, 9, 6}));
  expect_refused(of_texts(ml("CategoryMapper", cats)), {"CategoryMapper", "as many"});
  expect_refused(of_numbers("CategoryMapper", map), {"CategoryMapper", "has keys of int64 for float32"});
  expect_refused(of_texts(ml("LabelEncoder", keys + texts("values_strings", {"a"}))),
                 {"expects as many values as keys"});
  expect_refused(of_texts(ml("LabelEncoder",
                             keys + texts("values_strings", {"a", "b", "c", "d"}) + text_of("default_string", "\xff"))),
                 {"\"default_string\" that is no UTF-8"});
  for (const char *op : {"DictVectorizer", "CastMap"}) expect_refused(of_texts(ml(op)), {op, "is not supported"});
}

TEST(OnnxDomains, OfFeaturesAreCutAndFilled) {
  const auto y = [](const std::vector<int64_t> &sizes) {
    return run<float, float>(
        model(in_domain("ai.onnx.ml", "FeatureVectorizer", {"x", "x"}, integers("inputdimensions", sizes))), {1, 4},
        {1, 2, 3, 4});
  };
  EXPECT_EQ(y({4, 2}), (std::vector<float>{1, 2, 3, 4, 1, 2}));
  EXPECT_EQ(y({1, 5}), (std::vector<float>{1, 1, 2, 3, 4, 0}));
  expect_refused(model(in_domain("ai.onnx.ml", "FeatureVectorizer", {"x", "x"}, integers("inputdimensions", {4}))),
                 {"1 \"inputdimensions\" for 2 inputs"});
}

// A tree whose branches lead to themselves, or to a node twice, is no tree.
TEST(OnnxDomains, TreesHaveNoCircles) {
  const auto tree = [](const std::vector<int64_t> &yes, const std::vector<int64_t> &no) {
    return model(ml("TreeEnsembleRegressor",
                    integers("nodes_treeids", {0, 0, 0}) + integers("nodes_nodeids", {0, 1, 2}) +
                        integers("nodes_featureids", {0, 0, 0}) + reals("nodes_values", {0.5f, 0, 0}) +
                        integers("nodes_truenodeids", yes) + integers("nodes_falsenodeids", no) +
                        texts("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"}) + integers("target_treeids", {0, 0}) +
                        integers("target_nodeids", {1, 2}) + integers("target_ids", {0, 0}) +
                        reals("target_weights", {3, 5}) + integer("n_targets", 1)));
  };
  const auto y = run<float, float>(tree({1, 0, 0}, {2, 0, 0}), {2, 4}, {0, 0, 0, 0, 1, 0, 0, 0});
  EXPECT_EQ(y, (std::vector<float>{3, 5}));
  expect_refused(tree({0, 0, 0}, {2, 0, 0}), {"two branches"});
  expect_refused(tree({1, 0, 0}, {1, 0, 0}), {"two branches"});
  expect_refused(tree({1, 0, 0}, {7, 0, 0}), {"no node of its tree"});
  // A node that leads to itself, and branches to nothing, in the later form.
  const auto ensemble = [](int64_t yes, int64_t no, int64_t root, const std::string &more = "") {
    const auto tensor = [](const char *name, const std::string &t) {
      return field(5, field(1, std::string(name)) + field(20, int64_t{4}) + field(5, t));
    };
    const std::string mode = field(1, int64_t{1}) + field(2, int64_t{2}) + field(9, std::string(1, '\0'));
    const auto numbers = [](std::vector<float> v) {
      return field(1, static_cast<int64_t>(v.size())) + field(2, int64_t{1}) +
             field(9, std::string(reinterpret_cast<const char *>(v.data()), v.size() * sizeof(float)));
    };
    return model(ml("TreeEnsemble", integers("nodes_featureids", {0}) + integers("nodes_truenodeids", {yes}) +
                                        integers("nodes_trueleafs", {yes == 0 ? 0 : 1}) +
                                        integers("nodes_falsenodeids", {no}) + integers("nodes_falseleafs", {1}) +
                                        integers("tree_roots", {root}) + integers("leaf_targetids", {0, 0}) +
                                        tensor("nodes_modes", mode) + tensor("nodes_splits", numbers({0.5f})) +
                                        tensor("leaf_weights", numbers({3, 5})) + more));
  };
  EXPECT_EQ((run<float, float>(ensemble(1, 0, 0), {2, 4}, {0, 0, 0, 0, 1, 0, 0, 0})), (std::vector<float>{5, 3}));
  expect_refused(ensemble(0, 1, 0), {"two branches"});
  expect_refused(ensemble(7, 1, 0), {"no node of its tree"});
  expect_refused(ensemble(1, 7, 0), {"no node of its tree"});
  expect_refused(ensemble(1, 0, 3), {"a tree of root 3"});
  expect_refused(ensemble(1, 0, -1), {"a tree of root -1"});
  expect_refused(ensemble(1, 0, 0, integer("post_transform", 1)),
                 {"\"post_transform\" of 1 is not supported; expected 0"});
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
