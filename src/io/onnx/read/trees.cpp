// Ensembles of trees: all trees go down one level at a time, each item and tree from its node to the next.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"
#include "io/onnx/read/ml.hpp"

namespace dl4::io::onnx {
namespace {

struct Forest {
  std::vector<double> values;
  Ints features, yes, no, roots;  // a leaf goes to itself
  std::vector<bool> missing;      // does NaN go the way of yes?
  const char *test = "LessEqual";
  bool differs = false;  // not equal
  int64_t depth = 0;
  std::map<std::pair<int64_t, int64_t>, size_t> places;  // by tree and node
};

const char *test_of(const Op &op, std::string_view mode) {
  if (mode == "BRANCH_LEQ") return "LessEqual";
  if (mode == "BRANCH_LT") return "Less";
  if (mode == "BRANCH_GTE") return "GreaterEqual";
  if (mode == "BRANCH_GT") return "Greater";
  if (mode == "BRANCH_EQ" || mode == "BRANCH_NEQ") return "Equal";
  op.refuse("a node of the mode \"", std::string(mode), "\" is not supported");
}

Forest forest_of(const Op &op) {
  const auto list = [&](const char *name) { return op.integers(name).value_or(Ints{}); };
  const Ints trees = list("nodes_treeids"), nodes = list("nodes_nodeids"), yes = list("nodes_truenodeids"),
             no = list("nodes_falsenodeids"), missing = list("nodes_missing_value_tracks_true");
  const Attribute *modes = op.node.find("nodes_modes");
  Forest f;
  f.features = list("nodes_featureids");
  f.values = reals(op, "nodes_values");
  const size_t n = trees.size();
  if (n == 0 || nodes.size() != n || yes.size() != n || no.size() != n || f.features.size() != n ||
      f.values.size() != n || !modes || modes->strings.size() != n || (!missing.empty() && missing.size() != n))
    op.refuse("expects lists of as many trees, nodes, features, values, modes and branches");
  op.take(static_cast<int64_t>(n * 256));
  std::set<std::string_view> tests;
  for (size_t i = 0; i < n; ++i) {
    if (!f.places.try_emplace({trees[i], nodes[i]}, i).second)
      fail(Code::corrupt_file, "has node ", nodes[i], " of tree ", trees[i], " twice");
    if (i == 0 || trees[i] != trees[i - 1]) f.roots.push_back(static_cast<int64_t>(i));
    if (modes->strings[i] != "LEAF") tests.insert(modes->strings[i]);
    f.missing.push_back(!missing.empty() && missing[i] != 0);
  }
  if (std::set<int64_t>(trees.begin(), trees.end()).size() != f.roots.size())
    op.refuse("of trees whose nodes do not stand together is not supported");
  if (tests.size() > 1) op.refuse("of nodes of several modes is not supported");
  if (!tests.empty()) f.test = test_of(op, *tests.begin()), f.differs = *tests.begin() == "BRANCH_NEQ";
  // One branch leads to each node: so no tree has a circle.
  std::vector<int64_t> depth(n, -1);
  for (int64_t root : f.roots) depth[static_cast<size_t>(root)] = 0;
  std::vector<size_t> open(f.roots.begin(), f.roots.end());
  f.yes.resize(n), f.no.resize(n);
  for (size_t i = 0; i < n; ++i) f.yes[i] = f.no[i] = static_cast<int64_t>(i);
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    f.depth = std::max(f.depth, depth[at]);
    if (modes->strings[at] == "LEAF") {
      f.features[at] = 0;
      continue;
    }
    for (const auto &[from, to] : {std::pair(&yes, &f.yes), std::pair(&no, &f.no)}) {
      const auto child = f.places.find({trees[at], (*from)[at]});
      if (child == f.places.end()) fail(Code::corrupt_file, "has a branch to no node of its tree");
      if (depth[child->second] >= 0) fail(Code::corrupt_file, "has a node that two branches lead to");
      depth[child->second] = depth[at] + 1;
      (*to)[at] = static_cast<int64_t>(child->second);
      open.push_back(child->second);
    }
  }
  if (f.depth > 256) op.refuse("of trees of more than 256 levels is not supported");
  return f;
}

// (N, trees) the leaf of each item.
Node leaves(const Op &op, const Forest &f) {
  const Node x = rows_of_floats(op, 0);
  const Dim &columns = op.in(0).dims.back();
  if (!columns.known()) op.refuse("of a free number of features is not supported");
  for (int64_t feature : f.features)
    if (feature < 0 || feature >= columns.factor)
      fail(Code::corrupt_file, "reads feature ", feature, " of ", columns.factor);
  const auto take = [&](Node table, Node places) { return op.layer("Take", {{"axis", 0}}, {table, places}); };
  const auto table = [&](const Ints &list) { return op.constant_node(tensor_of(list)); };
  const Node features = table(f.features), yes = table(f.yes), no = table(f.no), values = row(op, f.values);
  const bool tracks = std::find(f.missing.begin(), f.missing.end(), true) != f.missing.end();
  Node missing = graph::no_node;
  if (tracks) {
    Tensor t = make_tensor(DType::f32, {static_cast<int64_t>(f.missing.size())});
    for (size_t i = 0; i < f.missing.size(); ++i) t.as<float>()[i] = f.missing[i] ? 1.0f : 0.0f;
    missing = op.constant_node(t);
  }
  const Node flat = op.reshape(x, {-1});
  const Node item = op.cast(op.layer("Arange", {{"axis", 0}}, {x}), DType::i64);
  const Node first = op.layer("ExpandDims", {{"axis", 1}},
                              {by_number(op, "BroadcastMultiply", item, static_cast<double>(columns.factor))});
  const Node roots = op.constant_node(reshaped(tensor_of(f.roots), {1, static_cast<int64_t>(f.roots.size())}));
  Node at = plus(op, by_number(op, "BroadcastMultiply", first, 0), roots);
  for (int64_t level = 0; level < f.depth; ++level) {
    const Node v = take(flat, plus(op, first, take(features, at)));
    Node goes = op.layer(f.test, Json::object(), {v, take(values, at)});
    if (f.differs) goes = op.layer("LogicalNot", Json::object(), {goes});
    if (tracks) {
      const Node nan = op.layer("LogicalNot", Json::object(), {op.layer("Equal", Json::object(), {v, v})});
      const Node there = by_number(op, "Greater", take(missing, at), 0.5);
      goes = op.layer("LogicalOr", Json::object(), {goes, op.layer("LogicalAnd", Json::object(), {nan, there})});
    }
    at = op.layer("Where", Json::object(), {goes, take(yes, at), take(no, at)});
  }
  return at;
}

struct Leaves {
  Tensor weights;  // (nodes, n)
  std::set<int64_t> targets;
  bool positive = true;
};
Leaves weights_of(const Op &op, const Forest &f, const std::string &of, int64_t n) {
  const auto list = [&](const char *name) { return op.integers(of + name).value_or(Ints{}); };
  const Ints trees = list("_treeids"), nodes = list("_nodeids"), ids = list("_ids");
  const std::vector<double> weights = reals(op, of + "_weights");
  if (trees.size() != weights.size() || nodes.size() != trees.size() || ids.size() != trees.size())
    op.refuse("expects lists of as many weights, trees, nodes and ids");
  const auto all = static_cast<int64_t>(f.values.size());
  op.take(checked_mul(all, n, 4));
  Leaves leaves{make_zeros(DType::f32, {all, n}), {}};
  for (size_t i = 0; i < trees.size(); ++i) {
    const auto place = f.places.find({trees[i], nodes[i]});
    if (place == f.places.end() || ids[i] < 0 || ids[i] >= n) fail(Code::corrupt_file, "has a weight of no leaf");
    leaves.weights.as<float>()[static_cast<int64_t>(place->second) * n + ids[i]] += static_cast<float>(weights[i]);
    leaves.targets.insert(ids[i]);
    leaves.positive &= weights[i] >= 0;
  }
  return leaves;
}

// (N, n) of all trees together.
Node scores(const Op &op, const Forest &f, const Tensor &weights, const std::string &how) {
  const Node all = op.layer("Take", {{"axis", 0}}, {op.constant_node(weights), leaves(op, f)});
  const char *kind = how == "SUM" ? "Sum" : how == "AVERAGE" ? "Mean" : how == "MIN" ? "Min" : "Max";
  if (how != "SUM" && how != "AVERAGE" && how != "MIN" && how != "MAX")
    fail(Code::corrupt_file, "has \"aggregate_function\" ", how);
  return op.layer(kind, {{"axis", Ints{1}}, {"keepdims", false}}, {all});
}

void refuse_doubles(const Op &op) {
  for (const Attribute &a : op.node.attributes)
    if (a.name.ends_with("_as_tensor") && a.t && !a.t->dims.empty())
      op.refuse("\"", std::string(a.name), "\" is not supported: numbers of double precision are not read here");
}

}  // namespace

void tree_regressor(const Op &op) {
  refuse_doubles(op);
  const int64_t n = op.integer("n_targets", 1);
  if (n < 1 || n > 1 << 20) fail(Code::corrupt_file, "has ", n, " targets");
  const Forest f = forest_of(op);
  Node y = scores(op, f, weights_of(op, f, "target", n).weights, op.string("aggregate_function", "SUM"));
  if (const auto base = reals(op, "base_values"); !base.empty()) y = plus(op, y, row(op, base));
  op.give(0, transformed(op, y), rows_and(op, n));
}

void tree_classifier(const Op &op) {
  refuse_doubles(op);
  refuse_texts(op, {"classlabels_strings"});
  const Ints labels = op.integers("classlabels_int64s").value_or(Ints{});
  const auto n = static_cast<int64_t>(labels.size());
  if (n < 2) op.refuse("of ", n, " classes is not supported");
  const Forest f = forest_of(op);
  const Leaves leaves = weights_of(op, f, "class", n);
  const std::vector<double> base = reals(op, "base_values");
  Node y = scores(op, f, leaves.weights, "SUM");
  const bool single = n == 2 && leaves.targets.size() == 1;
  if (!base.empty() && (single || static_cast<int64_t>(base.size()) != n)) {
    if (!single || base.size() != 1)
      op.refuse(base.size(), " base values for ", n, " classes, of which ", leaves.targets.size(),
                " have weights, are not supported");
  }
  const auto named = [&](Node place) {
    op.give(0, op.layer("Take", {{"axis", 0}}, {op.constant_node(tensor_of(labels)), op.cast(place, DType::i64)}),
            {rows_and(op, n)[0]});
  };
  if (!single) {
    if (!base.empty()) y = plus(op, y, row(op, base));
    named(op.layer("Argmax", {{"axis", -1}, {"keepdims", false}}, {y}));
    return op.give(1, transformed(op, y), rows_and(op, n));
  }
  // Two classes by one score: of positive weights it is the probability of the second, else its logit.
  Node score = op.cut(y, 1, *leaves.targets.begin(), 1);
  if (!base.empty()) score = plus(op, score, row(op, base));
  const Node above = by_number(op, "Greater", score, leaves.positive ? 0.5 : 0);
  named(op.layer("Squeeze", {{"axis", 1}}, {above}));
  const std::string how = op.string("post_transform", "NONE");
  Node other;
  if (leaves.positive) {
    if (how != "NONE")
      op.refuse("\"post_transform\" of \"", how, "\" for one score of positive weights is not supported");
    other = op.layer("BroadcastSubtract", {{"x1", 1}}, {score});
  } else {
    if (how != "NONE" && how != "LOGISTIC")
      op.refuse("\"post_transform\" of \"", how, "\" for one score of two classes is not supported");
    other = op.layer("Negative", Json::object(), {score});
  }
  Node both = op.layer("Concatenate", {{"axis", 1}}, {other, score});
  if (!leaves.positive && how == "LOGISTIC") both = op.layer("Activation", activation("sigmoid"), {both});
  op.give(1, both, rows_and(op, n));
}

}  // namespace dl4::io::onnx
