// Tree ensembles: all trees descend one level at a time, each item and tree from node to child.
#include <cmath>

#include "io/onnx/read/math.hpp"
#include "io/onnx/read/ml.hpp"

namespace dl4::io::onnx {
namespace {

struct Forest {
  std::vector<double> values;
  Ints features, yes, no, roots;  // a leaf is its own child
  std::vector<bool> missing;      // whether NaN takes the true branch
  std::vector<std::string_view> modes;
  std::map<size_t, std::vector<double>> members;  // of nodes with a set membership test
  int64_t depth = 0;
  std::map<std::pair<int64_t, int64_t>, size_t> places;  // by tree and node
};

constexpr std::string_view leaf = "LEAF", member = "BRANCH_MEMBER";

// Visits from the roots. A node has one parent, which excludes cycles; leaves may be shared.
void connect(const Op &op, Forest &f, bool shares_leaves) {
  std::vector<int64_t> depth(f.modes.size(), -1);
  for (int64_t root : f.roots) {
    if (depth[static_cast<size_t>(root)] == 0) fail(Code::corrupt_file, "has a tree twice");
    depth[static_cast<size_t>(root)] = 0;
  }
  std::vector<size_t> open(f.roots.begin(), f.roots.end());
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    f.depth = std::max(f.depth, depth[at]);
    if (f.modes[at] == leaf) {
      f.features[at] = 0, f.yes[at] = f.no[at] = static_cast<int64_t>(at);
      continue;
    }
    for (const int64_t to : {f.yes[at], f.no[at]}) {
      if (to < 0) fail(Code::corrupt_file, "has a branch to no node of its tree");
      const auto child = static_cast<size_t>(to);
      const bool again = depth[child] >= 0;
      if (again && !(shares_leaves && f.modes[child] == leaf))
        fail(Code::corrupt_file, "has a node that two branches lead to");
      depth[child] = std::max(depth[child], depth[at] + 1);
      f.depth = std::max(f.depth, depth[child]);
      if (!again) open.push_back(child);
    }
  }
  for (size_t i = 0; i < depth.size(); ++i)  // unreachable nodes
    if (depth[i] < 0) f.features[i] = 0, f.yes[i] = f.no[i] = static_cast<int64_t>(i);
  if (f.depth > 256) op.refuse("of trees of more than 256 levels is not supported");
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
  f.modes = modes->strings;
  for (size_t i = 0; i < n; ++i) {
    if (!f.places.try_emplace({trees[i], nodes[i]}, i).second)
      fail(Code::corrupt_file, "has node ", nodes[i], " of tree ", trees[i], " twice");
    if (i == 0 || trees[i] != trees[i - 1]) f.roots.push_back(static_cast<int64_t>(i));
    f.missing.push_back(!missing.empty() && missing[i] != 0);
  }
  if (std::set<int64_t>(trees.begin(), trees.end()).size() != f.roots.size())
    op.refuse("of trees whose nodes do not stand together is not supported");
  const auto place = [&](size_t i, int64_t node) {
    const auto at = f.places.find({trees[i], node});
    return at == f.places.end() ? -1 : static_cast<int64_t>(at->second);
  };
  for (size_t i = 0; i < n; ++i) f.yes.push_back(place(i, yes[i])), f.no.push_back(place(i, no[i]));
  connect(op, f, false);
  return f;
}

// A column with a number per node.
Node by_node(const Op &op, const Forest &f, const std::function<double(size_t)> &number) {
  Tensor t = make_tensor(DType::f32, {static_cast<int64_t>(f.modes.size())});
  for (size_t i = 0; i < f.modes.size(); ++i) t.as<float>()[i] = static_cast<float>(number(i));
  return op.constant_node(t);
}

// Whether v is in the member sets of the nodes `at`.
Node among(const Op &op, const Forest &f, Node v, Node at) {
  size_t most = 1;
  for (const auto &[node, list] : f.members) most = std::max(most, list.size());
  const auto n = static_cast<int64_t>(f.modes.size()), wide = static_cast<int64_t>(most);
  op.take(checked_mul(n, wide, 8));
  Tensor t = make_tensor(DType::f32, {n, wide});
  std::fill_n(t.as<float>(), t.elements(), std::numeric_limits<float>::quiet_NaN());  // equal to nothing
  for (const auto &[node, list] : f.members)
    for (size_t k = 0; k < list.size(); ++k)
      t.as<float>()[static_cast<int64_t>(node) * wide + static_cast<int64_t>(k)] = static_cast<float>(list[k]);
  const Node lists = op.layer("Take", {{"axis", 0}}, {op.constant_node(t), at});
  const Node same = op.layer("Equal", {}, {op.layer("ExpandDims", {{"axis", 2}}, {v}), lists});
  return op.layer("Any", {{"axis", Ints{2}}}, {same});
}

// The branch that nodes of this mode take for v.
Node tested(const Op &op, const Forest &f, std::string_view mode, Node v, Node values, Node at) {
  if (mode == member) return among(op, f, v, at);
  const std::pair<std::string_view, const char *> kinds[] = {{"BRANCH_LEQ", "LessEqual"},    {"BRANCH_LT", "Less"},
                                                             {"BRANCH_GTE", "GreaterEqual"}, {"BRANCH_GT", "Greater"},
                                                             {"BRANCH_EQ", "Equal"},         {"BRANCH_NEQ", "Equal"}};
  for (const auto &[name, kind] : kinds)
    if (name == mode) {
      const Node y = op.layer(kind, {}, {v, op.layer("Take", {{"axis", 0}}, {values, at})});
      return mode == "BRANCH_NEQ" ? op.layer("LogicalNot", {}, {y}) : y;
    }
  op.refuse("a node of the mode \"", std::string(mode), "\" is not supported");
}

// (N, trees): the leaf of each item.
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
  const Node missing = tracks ? by_node(op, f, [&](size_t i) { return f.missing[i] ? 1 : 0; }) : graph::no_node;
  std::set<std::string_view> modes(f.modes.begin(), f.modes.end());
  modes.erase(leaf);
  std::vector<std::pair<std::string_view, Node>> tests;  // and the nodes with each mode, if there are several
  for (std::string_view mode : modes)
    tests.emplace_back(mode, modes.size() == 1 ? graph::no_node
                                               : by_node(op, f, [&](size_t i) { return f.modes[i] == mode ? 1 : 0; }));
  const Node flat = op.reshape(x, {-1});
  const Node item = op.cast(op.layer("Arange", {{"axis", 0}}, {x}), DType::i64);
  const Node first = op.layer("ExpandDims", {{"axis", 1}},
                              {by_number(op, "BroadcastMultiply", item, static_cast<double>(columns.factor))});
  const Node roots = op.constant_node(reshaped(tensor_of(f.roots), {1, static_cast<int64_t>(f.roots.size())}));
  Node at = plus(op, by_number(op, "BroadcastMultiply", first, 0), roots);
  for (int64_t level = 0; level < f.depth; ++level) {
    const Node v = take(flat, plus(op, first, take(features, at)));
    Node goes = graph::no_node;
    for (const auto &[mode, nodes] : tests) {
      Node y = tested(op, f, mode, v, values, at);
      if (tests.size() > 1) y = op.layer("LogicalAnd", {}, {y, by_number(op, "Greater", take(nodes, at), 0.5)});
      goes = goes == graph::no_node ? y : op.layer("LogicalOr", {}, {goes, y});
    }
    if (tracks) {
      const Node nan = op.layer("LogicalNot", {}, {op.layer("Equal", {}, {v, v})});
      const Node there = by_number(op, "Greater", take(missing, at), 0.5);
      goes = op.layer("LogicalOr", {}, {goes, op.layer("LogicalAnd", {}, {nan, there})});
    }
    at = op.layer("Where", {}, {goes, take(yes, at), take(no, at)});
  }
  return at;
}

struct Leaves {
  Tensor weights;  // (nodes, n)
  std::set<int64_t> targets;
  bool positive = true;
};
Leaves weights_of(const Op &op, const Forest &f, const std::string &of, int64_t n) {
  const auto list = [&](const char *name) { return op.integers((of + name).c_str()).value_or(Ints{}); };
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

// (N, n): summed over the trees.
Node scores(const Op &op, const Forest &f, const Tensor &weights, const std::string &how) {
  const Node all = op.layer("Take", {{"axis", 0}}, {op.constant_node(weights), leaves(op, f)});
  const char *kind = how == "SUM" ? "Sum" : how == "AVERAGE" ? "Mean" : how == "MIN" ? "Min" : "Max";
  if ((how == "MIN" || how == "MAX") && weights.shape[1] > 1)
    op.refuse("\"aggregate_function\" ", how, " of several targets is not supported");
  return op.layer(kind, {{"axis", Ints{1}}, {"keepdims", false}}, {all});
}

void refuse_doubles(const Op &op) {
  for (const Attribute &a : op.node.attributes)
    if (a.name.ends_with("_as_tensor") && a.t && !a.t->dims.empty())
      op.refuse("\"", std::string(a.name), "\" is not supported: numbers of double precision are not read here");
}

// (nodes, columns): each leaf, behind n inner nodes, has a weight in the column of its target.
Tensor leaf_table(const Op &op, const Ints &targets, const Tensor &weights, size_t n, int64_t columns) {
  const auto all = static_cast<int64_t>(n + targets.size());
  op.take(checked_mul(all, columns, 4));
  Tensor table = make_zeros(DType::f32, {all, columns});
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0 || targets[i] >= columns) fail(Code::corrupt_file, "has a weight of target ", targets[i]);
    table.as<float>()[static_cast<int64_t>(n + i) * columns + targets[i]] = weights.as<float>()[i];
  }
  return table;
}

}  // namespace

// Inner nodes and leaves in separate lists; leaves come after.
void tree_ensemble(const Op &op) {
  const auto list = [&](const char *name) { return op.integers(name).value_or(Ints{}); };
  const auto tensor = [&](const char *name) {
    const Attribute *a = op.node.find(name);
    return a && a->t ? std::optional(read(*a->t, op.r.outside())) : std::nullopt;
  };
  const Ints missing = list("nodes_missing_value_tracks_true"), targets = list("leaf_targetids");
  const Ints yes = list("nodes_truenodeids"), no = list("nodes_falsenodeids"), yes_leaf = list("nodes_trueleafs"),
             no_leaf = list("nodes_falseleafs");
  const auto modes = tensor("nodes_modes"), splits = tensor("nodes_splits"), weights = tensor("leaf_weights"),
             members = tensor("membership_values");
  Forest f;
  f.features = list("nodes_featureids"), f.roots = list("tree_roots");
  const size_t n = f.features.size(), ends = targets.size();
  const auto floats_of = [](const std::optional<Tensor> &t, size_t size) {
    return t && t->dtype == DType::f32 && t->elements() == static_cast<int64_t>(size);
  };
  if (n == 0 || f.roots.empty() || !modes || modes->dtype != DType::u8 ||
      modes->elements() != static_cast<int64_t>(n) || !floats_of(splits, n) || !floats_of(weights, ends) ||
      yes.size() != n || no.size() != n || yes_leaf.size() != n || no_leaf.size() != n ||
      (!missing.empty() && missing.size() != n) || (members && members->dtype != DType::f32))
    op.refuse("expects lists of as many features, modes, splits and branches, and of as many weights and targets");
  op.take(static_cast<int64_t>((n + ends) * 256));
  constexpr std::string_view names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", member};
  int64_t next = 0;  // index into the members: each list ends with NaN
  const auto branch = [&](int64_t to, int64_t is_leaf) {
    const size_t at = static_cast<size_t>(to) + (is_leaf != 0 ? n : 0);
    return to >= 0 && static_cast<size_t>(to) < (is_leaf != 0 ? ends : n) ? static_cast<int64_t>(at) : -1;
  };
  for (size_t i = 0; i < n; ++i) {
    const uint8_t mode = modes->as<uint8_t>()[i];
    if (mode >= std::size(names)) fail(Code::corrupt_file, "has a node of the mode ", int{mode});
    f.modes.push_back(names[mode]);
    f.values.push_back(static_cast<double>(splits->as<float>()[i]));
    f.yes.push_back(branch(yes[i], yes_leaf[i])), f.no.push_back(branch(no[i], no_leaf[i]));
    f.missing.push_back(!missing.empty() && missing[i] != 0);
    if (names[mode] != member) continue;
    std::vector<double> &some = f.members[i];
    for (;; ++next) {
      if (!members || next >= members->elements()) fail(Code::corrupt_file, "has no members for node ", i);
      if (std::isnan(members->as<float>()[next])) break;
      some.push_back(static_cast<double>(members->as<float>()[next]));
    }
    ++next;
  }
  for (int64_t root : f.roots)
    if (root < 0 || root >= static_cast<int64_t>(n)) fail(Code::corrupt_file, "has a tree of root ", root);
  f.modes.resize(n + ends, leaf), f.values.resize(n + ends), f.features.resize(n + ends);
  f.yes.resize(n + ends), f.no.resize(n + ends), f.missing.resize(n + ends);
  connect(op, f, true);
  const int64_t columns = op.integer("n_targets", 1);
  if (columns < 1 || columns > 1 << 20) fail(Code::corrupt_file, "has ", columns, " targets");
  const Tensor table = leaf_table(op, targets, *weights, n, columns);
  constexpr const char *joined[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  op.give(0, scores(op, f, table, joined[op.integer("aggregate_function")]), rows_and(op, columns));
}

void tree_regressor(const Op &op) {
  refuse_doubles(op);
  const int64_t n = op.integer("n_targets", 1);
  if (n < 1 || n > 1 << 20) fail(Code::corrupt_file, "has ", n, " targets");
  const Forest f = forest_of(op);
  Node y = scores(op, f, weights_of(op, f, "target", n).weights, op.string("aggregate_function"));
  if (const auto base = reals(op, "base_values"); !base.empty()) y = plus(op, y, row(op, base));
  op.give(0, transformed(op, y), rows_and(op, n));
}

void tree_classifier(const Op &op) {
  refuse_doubles(op);
  const Labels labels(op, "classlabels_int64s", "classlabels_strings");
  const int64_t n = labels.count;
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
  if (!single) {
    if (!base.empty()) y = plus(op, y, row(op, base));
    labels.give(op, op.layer("Argmax", {{"axis", -1}, {"keepdims", false}}, {y}));
    return op.give(1, transformed(op, y), rows_and(op, n));
  }
  // Two classes by one score: with positive weights the probability of the second, else its logit.
  Node score = op.cut(y, 1, *leaves.targets.begin(), 1);
  if (!base.empty()) score = plus(op, score, row(op, base));
  const Node above = by_number(op, "Greater", score, leaves.positive ? 0.5 : 0);
  labels.give(op, op.layer("Squeeze", {{"axis", 1}}, {above}));
  const std::string how = op.string("post_transform");
  Node other;
  if (leaves.positive) {
    if (how != "NONE")
      op.refuse("\"post_transform\" of \"", how, "\" for one score of positive weights is not supported");
    other = op.layer("BroadcastSubtract", {{"x1", 1}}, {score});
  } else {
    if (how != "NONE" && how != "LOGISTIC")
      op.refuse("\"post_transform\" of \"", how, "\" for one score of two classes is not supported");
    other = op.layer("Negative", {}, {score});
  }
  Node both = op.layer("Concatenate", {{"axis", 1}}, {other, score});
  if (!leaves.positive && how == "LOGISTIC") both = op.layer("Activation", activation("sigmoid"), {both});
  op.give(1, both, rows_and(op, n));
}

}  // namespace dl4::io::onnx
