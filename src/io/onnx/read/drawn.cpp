// ONNX's random ops: new numbers in each run, from the session's generator.
#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

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

constexpr Row drawn_table[] = {
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
const std::span<const Row> drawn_rows = drawn_table;

}  // namespace dl4::io::onnx
