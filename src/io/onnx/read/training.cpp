// ONNX's ops of training: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss, Dropout.
#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

Tensor ones(int64_t n) {
  Tensor t = make_tensor(DType::f32, {n});
  std::fill_n(t.as<float>(), n, 1.0f);
  return t;
}

// From log probabilities, classes last, and target classes.
void likelihood(const Op &op, Node logs) {
  const Value &x = op.in(0);
  const std::string reduction = op.string("reduction");
  const int rank = op.in(1).rank();
  if (rank + 1 != x.rank()) fail(Code::corrupt_file, "has a target of ", rank, " axes for scores of ", x.rank());
  const int64_t classes = x.dims[1].factor;
  op.take(checked_mul(classes, place_bytes));
  const auto number = static_cast<double>(classes);
  Node ids = op.cast(op.x(1), DType::i64), ignored = graph::no_node;
  if (op.says("ignore_index")) {
    ignored = by_number(op, "Equal", ids, static_cast<double>(op.integer("ignore_index", 0)));
    ids = op.layer("Where", {{"x1", 0}}, {ignored, ids});
  }
  // A negative target is no class, and must not count from the end.
  const Node safe = op.layer("Where", {{"x1", number}}, {by_number(op, "Less", ids, 0), ids});
  const Node weight = op.has(2) ? op.x(2) : op.constant_node(ones(classes));
  Node by = op.layer("Take", {{"axis", 0}}, {weight, safe});
  Ints all(static_cast<size_t>(classes)), axes(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  std::iota(axes.begin(), axes.end(), 0);
  const Node hot =
      op.layer("Equal", {}, {op.layer("ExpandDims", {{"axis", rank}}, {ids}), op.constant_node(tensor_of(all))});
  const Node wanted =
      op.layer("Sum", {{"axis", rank}, {"keepdims", false}}, {op.layer("Where", {{"x2", 0}}, {hot, logs})});
  Node loss = op.layer("Negative", {}, {times(op, wanted, by)});
  if (ignored != graph::no_node) {
    loss = op.layer("Where", {{"x1", 0}}, {ignored, loss});
    by = op.layer("Where", {{"x1", 0}}, {ignored, by});
  }
  if (reduction == "none") return op.give(0, loss, op.in(1).dims);
  const auto sum = [&](Node n) { return op.layer("Sum", {{"axis", axes}, {"keepdims", false}}, {n}); };
  op.give(0, reduction == "sum" ? sum(loss) : op.layer("Divide", {}, {sum(loss), sum(by)}));
}

// The scores, classes last.
Node scores(const Op &op) {
  Value &x = op.in(0);
  if (x.rank() < 2 || !x.dims[1].known()) op.refuse("needs a known number of classes, along axis 1");
  return op.as(x, channels_last(x.rank()));
}

void negative_log_likelihood(const Op &op) { likelihood(op, scores(op)); }

void softmax_cross_entropy(const Op &op) {
  const Node logs = op.layer("Activation", activation("log_softmax", {{"axis", -1}}), {scores(op)});
  likelihood(op, logs);
  op.give(1, logs, op.in(0).dims, channels_last(op.in(0).rank()));
}

// Dropout when the model trains, with this library's generator. The mask marks kept elements.
void training_dropout(const Op &op) {
  Value &v = op.in(0);
  if (op.has(2) && !op.constant(2)) op.refuse("with a training mode that the model computes is not supported");
  const bool trains = op.has(2) && op.number(2, 0) != 0;
  const double ratio = trains ? op.number(1, 0.5) : 0;
  if (!(ratio >= 0 && ratio < 1)) fail(Code::corrupt_file, "has a ratio of ", ratio, ", expected one in [0, 1)");
  if (ratio == 0) {
    if (op.wants(1)) {
      const Node x = op.x(0), some = op.layer("Equal", {}, {x, x});
      op.give(1, op.cast(op.layer("Where", {{"x1", 1}, {"x2", 1}}, {some}), DType::boolean), v.dims);
    }
    return op.give_value(0, v);
  }
  const Perm perm = v.perm();
  const Node x = op.as(v, perm);
  Json config{{"shape", Json::array()}, {"axes", v.rank()}};
  if (op.says("seed")) config["seed"] = op.integer("seed", 0);
  const Node keep = by_number(op, "GreaterEqual", op.layer("RandomUniform", config, {x}), ratio);
  const Node scaled = by_number(op, "BroadcastMultiply", x, 1 / (1 - ratio));
  op.give(0, op.layer("Where", {{"x2", 0}}, {keep, scaled}), v.dims, perm);
  op.give(1, keep, v.dims, perm);
}

}  // namespace

constexpr Row training_table[] = {
    {"NegativeLogLikelihoodLoss", negative_log_likelihood,
     "input~ target weight? > loss; ignore_index:int reduction=mean|sum|none"},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy,
     "scores~ labels weights? > output log_prob?; ignore_index:int reduction=mean|sum|none"},
    {"Dropout", training_dropout,
     "data ratio?@12 training_mode?@12 > output=data mask?; consumed_inputs@-5:ints is_test@-6=0|1 "
     "ratio@-11=0.5 seed@12:int"},
};
const std::span<const Row> training_rows = training_table;

}  // namespace dl4::io::onnx
