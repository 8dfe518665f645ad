// Ops of ai.onnx.ml and com.microsoft: what is refused, and by which name. What they give: onnx_exports_test.cpp.
#include "capi/onnx_bytes.hpp"

namespace {

using namespace dl4_test;
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
  expect_refused(model(ml("CategoryMapper")), {"CategoryMapper", "strings"});
  expect_refused(model(ml("OneHotEncoder", texts("cats_strings", {"a", "b"}))), {"cats_strings", "strings"});
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

// The labels, which are strings, are left out with all that only they need; the probabilities are there.
TEST(OnnxDomains, OfClassifiersWithLabelsOfStringsGiveProbabilities) {
  const auto classifier = [](const std::string &labels, const std::vector<float> &weights, size_t functions,
                             const std::string &after, const std::string &more = "") {
    const std::string node = field(1, std::string("x")) + field(2, std::string("label")) + field(2, std::string("y")) +
                             field(4, std::string("LinearClassifier")) + field(7, std::string("ai.onnx.ml")) + labels +
                             reals("coefficients", weights) + reals("intercepts", std::vector<float>(functions, 0.5f)) +
                             text_of("post_transform", after);
    return model_of(field(1, node) + more,
                    port(11, "x", 1, {-1, 2}) + port(12, "name", 8, {-1}) + port(12, "y", 1, {-1, 2}));
  };
  const std::string two = texts("classlabels_strings", {"a", "b"}), named_ = named("Identity", {"label"}, "name");
  EXPECT_EQ((run<float, float>(classifier(two, {1, 0, 0, 1}, 2, "NONE", named_), {2, 2}, {1, 2, 3, 4})),
            (std::vector<float>{1.5f, 2.5f, 3.5f, 4.5f}));
  // One function is of the second class: what is left to 1 is of the first.
  EXPECT_EQ((run<float, float>(classifier(two, {1, 0}, 1, "NONE", named_), {2, 2}, {1, 2, 0.25f, 4})),
            (std::vector<float>{-0.5f, 1.5f, 0.25f, 0.75f}));
  const auto logistic = run<float, float>(classifier(two, {1, 0}, 1, "LOGISTIC", named_), {1, 2}, {-0.5f, 2});
  EXPECT_EQ(logistic, (std::vector<float>{0.5f, 0.5f}));
  // To ask for them is refused: here y is made of them.
  const std::string asking = field(1, std::string("x")) + field(2, std::string("label")) + field(2, std::string("p")) +
                             field(4, std::string("LinearClassifier")) + field(7, std::string("ai.onnx.ml")) + two +
                             reals("coefficients", {1, 0, 0, 1}) + reals("intercepts", {0, 0});
  expect_refused(model_of(field(1, asking) + named("Cast", {"label"}, "y", integer("to", 1)),
                          port(11, "x", 1, {-1, 2}) + port(12, "y", 1, {-1})),
                 {"LinearClassifier", "\"classlabels_strings\" are strings"});
  expect_refused(classifier(two + integers("classlabels_ints", {1, 2}), {1, 0}, 1, "NONE", named_),
                 {"classlabels_ints", "classlabels_strings"});
  expect_refused(classifier(two, {1, 0, 0, 1, 1, 1}, 3, "NONE", named_), {"3 functions for 2 classes"});
  expect_refused(model_of(named("Identity", {"x"}, "name"), port(11, "x", 1, {-1, 2}) + port(12, "name", 8, {-1})),
                 {"all outputs are strings", "\"name\""});
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
