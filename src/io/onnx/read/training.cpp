// ONNX's ops of training: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss, Dropout.
// ONNX's random ops: new numbers in each run, from the session's generator.
#include <numeric>

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

void need_float_type(const Op &op, int64_t otherwise) {
  const auto type = static_cast<Type>(op.integer("dtype", otherwise));
  if (type != Type::float32 && type != Type::float64) op.refuse("of ", type, " is not supported, only of floats");
}

// Shaped as the first `axes` axes of `like`, if given, followed by `dims`.
Node drawn(const Op &op, const char *kind, Json config, const std::vector<Node> &like, int axes,
           const Ints &dims = Ints()) {
  config["shape"] = dims;
  config["axes"] = axes;
  // Its bits, so that different seeds give different numbers.
  if (op.says("seed"))
    config["seed"] = static_cast<int64_t>(std::bit_cast<uint32_t>(static_cast<float>(op.real("seed", 0))));
  return op.layer(kind, std::move(config), like);
}

Json bounds(const Op &op) { return {{"minval", op.real("low")}, {"maxval", op.real("high")}}; }
Json normal(const Op &op) { return {{"mean", op.real("mean")}, {"stddev", op.real("scale")}}; }

void of_shape(const Op &op, const char *kind, Json config) {
  need_float_type(op, 1);
  const auto dims = op.integers("shape");
  if (!dims) fail(Code::corrupt_file, "has no \"shape\"");
  op.give(0, drawn(op, kind, std::move(config), {}, 0, *dims));
}

void as_like(const Op &op, const char *kind, Json config) {
  Value &v = op.in(0);
  need_float_type(op, static_cast<int64_t>(v.onnx_type()));
  const Perm perm = v.perm();
  op.give(0, drawn(op, kind, std::move(config), {op.as(v, perm)}, v.rank()), v.dims, perm);
}

void bernoulli(const Op &op) {
  Value &v = op.in(0);
  const auto type = static_cast<Type>(op.integer("dtype", static_cast<int64_t>(v.onnx_type())));
  const DType to = stands_for(type);
  const Perm perm = v.perm();
  const Node x = op.as(v, perm), u = drawn(op, "RandomUniform", Json::object(), {x}, v.rank());
  op.give(0, op.cast(op.layer("Less", {}, {u, x}), to), v.dims, perm);
}

// Counts the cumulative probabilities below a uniform number.
void multinomial(const Op &op) {
  Value &v = op.in(0);
  const auto type = static_cast<Type>(op.integer("dtype", 6));
  if (type != Type::int32 && type != Type::int64) fail(Code::corrupt_file, "has \"dtype\" ", type);
  const int64_t samples = op.integer("sample_size");
  if (v.rank() != 2 || samples < 1 || samples > max_dim)
    fail(Code::corrupt_file, "expects a value of two axes, and one sample or more, got ", samples);
  const int64_t classes = known(op, v.dims[1], "classes");
  const Node x = op.x(0), sums = op.layer("Cumsum", {{"axis", 1}}, {op.layer("Softmax", {}, {x})});
  const Node u = drawn(op, "RandomUniform", Json::object(), {x}, 1, {samples});
  const Node below = op.layer("LessEqual", {},
                              {op.layer("ExpandDims", {{"axis", 1}}, {op.cut(sums, 1, 0, classes - 1)}),
                               op.layer("ExpandDims", {{"axis", 2}}, {u})});
  const Node count = op.layer("Sum", {{"axis", 2}}, {op.cast(below, DType::f32)});
  op.give(0, op.cast(count, stands_for(type)), {v.dims[0]});
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
    {"RandomUniform", [](const Op &op) { of_shape(op, "RandomUniform", bounds(op)); },
     " > output; dtype=1 high=1.0 low=0.0 seed:float shape:ints!"},
    {"RandomNormal", [](const Op &op) { of_shape(op, "RandomNormal", normal(op)); },
     " > output; dtype=1 mean=0.0 scale=1.0 seed:float shape:ints!"},
    {"RandomUniformLike", [](const Op &op) { as_like(op, "RandomUniform", bounds(op)); },
     "input > output; dtype:int high=1.0 low=0.0 seed:float"},
    {"RandomNormalLike", [](const Op &op) { as_like(op, "RandomNormal", normal(op)); },
     "input > output; dtype:int mean=0.0 scale=1.0 seed:float"},
    {"Bernoulli", bernoulli, "input~ > output; dtype:int seed:float"},
    {"Multinomial", multinomial, "input~ > output; dtype=6 sample_size=1 seed:float"},
};
const std::span<const Row> training_rows = training_table;

}  // namespace dl4::io::onnx
