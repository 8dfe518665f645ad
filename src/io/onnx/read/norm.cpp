// ONNX's reductions, ops that process an axis in order, softmaxes and normalizations.

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

Node apply(const Op &op, const char *kind, Node x) { return op.layer(kind, {}, {x}); }
Node reduced(const Op &op, const char *kind, Node x, const Ints &axes, bool keep = true) {
  return op.layer(kind, {{"axis", axes}, {"keepdims", keep}}, {x});
}

// ---- reductions ----------------------------------------------------------------------------------------------------

// f(x, axes): the result with the axes kept.
template <class F>
void reduce(const Op &op, F f) {
  Value &v = op.in(0);
  std::optional<Ints> axes = op.integers("axes", 1);
  const bool keep = op.flag("keepdims");
  if (!axes || axes->empty()) {
    const int all = op.flag("noop_with_empty_axes") ? 0 : v.rank();
    axes = Ints{};
    for (int i = 0; i < all; ++i) axes->push_back(i);
  }
  const Perm perm = v.perm(), back = inverse(perm);
  Ints places;
  std::vector<bool> gone(v.dims.size(), false);
  for (int64_t a : *axes) {
    const auto axis = static_cast<size_t>(op.axis_of(a, v.rank()));
    if (!gone[axis]) places.push_back(back[axis]);
    gone[axis] = true;
  }
  const Node y = f(op.as(v, perm), places);
  std::vector<Dim> dims = v.dims;
  for (size_t i = 0; i < gone.size(); ++i)
    if (gone[i]) dims[i] = Dim{};
  if (keep || places.empty()) return op.give(0, y, dims, perm);
  give_without(op, y, perm, dims, gone);
}

template <class F>
void reduce_floats(const Op &op, F f) {
  float_only(op, 0);
  reduce(op, f);
}

// Without axes, a function of each element.
Node over(const Op &op, const char *kind, Node x, const Ints &axes) {
  return axes.empty() ? x : reduced(op, kind, x, axes);
}

bool whole(const Value &v) { return v.dtype == DType::i32 || v.dtype == DType::i64 || v.dtype == DType::u8; }

void plain_reduction(const Op &op, const char *kind) {
  const Value &v = op.in(0);
  if (whole(v) && kind != std::string_view("Mean"))
    return reduce(
        op, [&](Node x, const Ints &axes) { return wrapped(op, over(op, kind, wide(op, x), axes), v.onnx_type()); });
  reduce_floats(op, [&](Node x, const Ints &axes) { return over(op, kind, x, axes); });
}

// Reduces a list of sizes by f; false: not a list of sizes.
template <class F>
bool of_sizes(const Op &op, F f) {
  const auto sizes = op.sizes(0);
  const bool noop = op.flag("noop_with_empty_axes");
  if (!sizes || sizes->empty() || op.in(0).rank() != 1 || noop) return false;
  for (int64_t a : op.integers("axes", 1).value_or(Ints{})) op.axis_of(a, 1);
  Dim all = (*sizes)[0];
  for (size_t i = 1; i < sizes->size(); ++i) all = f(all, (*sizes)[i]);
  op.give_sizes(0, {all}, !op.flag("keepdims"), op.in(0).onnx_type());
  return true;
}

// A function of the reduction of a function; null: none.
void composed(const Op &op, const char *inner, const char *kind, const char *outer) {
  reduce_floats(op, [&](Node x, const Ints &axes) {
    const Node y = over(op, kind, inner ? apply(op, inner, x) : x, axes);
    return outer ? apply(op, outer, y) : y;
  });
}

void reduced_product(const Op &op) {
  if (!of_sizes(op, [](const Dim &a, const Dim &b) { return a * b; })) plain_reduction(op, "Prod");
}

void extreme(const Op &op, const char *kind, const char *of_flags) {
  Symbols &s = op.symbols();
  const bool most = kind == std::string_view("Max");
  if (of_sizes(op, [&](const Dim &a, const Dim &b) { return most ? s.largest(a, b) : s.smallest(a, b); })) return;
  if (op.in(0).dtype != DType::boolean) return plain_reduction(op, kind);
  reduce(op, [&](Node x, const Ints &axes) { return over(op, of_flags, x, axes); });
}

// log(sum(exp(x))), with the maximum subtracted.
Node log_sum_exp(const Op &op, Node x, const Ints &axes) {
  constexpr double most = std::numeric_limits<float>::max();
  if (axes.empty()) return x;
  const Node top = op.layer("Clip", {{"x_min", -most}, {"x_max", most}}, {reduced(op, "Max", x, axes)});
  const Node sum = reduced(op, "Sum", apply(op, "Exp", minus(op, x, top)), axes);
  return plus(op, apply(op, "Log", sum), top);
}

void arg(const Op &op, bool smallest) {
  Value &v = op.in(0);
  const Perm perm = v.perm();
  const auto axis = static_cast<size_t>(op.axis(v.rank()));
  const int at = inverse(perm)[axis];
  if (!whole(v)) float_only(op, 0);
  Node x = wide(op, op.as(v, perm));
  if (smallest) x = apply(op, whole(v) ? "BitwiseNot" : "Negative", x);  // every integer has a complement
  const bool last = op.flag("select_last_index");
  if (last) x = op.layer("Flip", {{"axis", at}}, {x});
  Node y = op.layer("Argmax", {{"axis", at}, {"keepdims", true}}, {x});
  if (last) {
    if (!v.dims[axis].known()) op.refuse("\"select_last_index\" over a free axis is not supported");
    y = op.layer("BroadcastSubtract", {{"x1", v.dims[axis].factor - 1}}, {y});
  }
  y = op.cast(y, DType::i64);
  if (op.flag("keepdims")) return op.give(0, y, v.dims, perm);
  std::vector<bool> gone(v.dims.size(), false);
  gone[axis] = true;
  give_without(op, y, perm, v.dims, gone);
}

// ---- an axis in order ----------------------------------------------------------------------------------------------

void cumulate(const Op &op, const char *kind) {
  Value &v = op.in(0);
  if (v.dtype == DType::boolean) op.refuse("of ", v.dtype, " is not supported");
  const Perm perm = v.perm();
  const auto axis = static_cast<size_t>(op.axis_of(static_cast<int64_t>(op.number(1, 0)), v.rank()));
  const Json config{
      {"axis", inverse(perm)[axis]}, {"exclusive", op.flag("exclusive")}, {"reverse", op.flag("reverse")}};
  Node y = op.layer(kind, config, {wide(op, op.as(v, perm))});
  if (v.dtype != DType::f32) y = wrapped(op, y, v.onnx_type());
  op.give(0, y, v.dims, perm);
}

void top_k(const Op &op) {
  Value &v = op.in(0);
  if (v.dtype == DType::boolean) op.refuse("of ", v.dtype, " is not supported");
  const std::vector<Dim> asked = op.sizes_of(1);
  if (asked.size() != 1) fail(Code::corrupt_file, "wants ", asked.size(), " numbers of places");
  const Dim most = asked[0];
  const int64_t k = most.known() ? most.factor : 0;
  const auto axis = static_cast<size_t>(op.axis(v.rank()));
  if (k < 0 || (v.dims[axis].known() && k > v.dims[axis].factor))
    fail(Code::corrupt_file, "wants ", k, " of ", v.dims[axis].factor, " places");
  const Perm perm = v.perm();
  const int at = inverse(perm)[axis];
  const Json config{{"axis", at}, {"descending", op.flag("largest")}};
  const Node x = wide(op, op.as(v, perm));
  std::vector<Dim> dims = v.dims;
  dims[axis] = most;
  const auto first = [&](Node y) {
    if (most == v.dims[axis]) return y;
    return most.known() ? op.cut(y, at, 0, k) : op.layer("Take", {{"axis", at}}, {y, op.places(most)});
  };
  if (op.wants(0)) op.give(0, op.cast(first(op.layer("Sort", config, {x})), v.dtype), dims, perm);
  if (op.wants(1)) op.give(1, op.cast(first(op.layer("Argsort", config, {x})), DType::i64), dims, perm);
  op.of_type(1, Type::int64);
}

// ---- softmaxes -----------------------------------------------------------------------------------------------------

// Before opset 13 all axes from that one count as one.
Ints softmax_axes(const Op &op, const Value &v, const Perm &perm) {
  const auto axis = static_cast<size_t>(op.axis(v.rank()));
  Ints axes;
  for (size_t i = axis; i < (op.opset() < 13 ? v.dims.size() : axis + 1); ++i) axes.push_back(inverse(perm)[i]);
  return axes;
}

template <class F>
void softmax_like(const Op &op, F f) {
  Value &v = op.in(0);
  const Perm perm = v.perm();
  op.give(0, f(op.as(v, perm), softmax_axes(op, v, perm)), v.dims, perm);
}

void softmax(const Op &op) {
  softmax_like(op, [&](Node x, const Ints &axes) {
    return op.layer("Softmax", {{"axis", axes.size() == 1 ? Json(axes[0]) : Json(axes)}}, {x});
  });
}
void log_softmax(const Op &op) {
  softmax_like(op, [&](Node x, const Ints &axes) {
    if (axes.size() > 1) return minus(op, x, log_sum_exp(op, x, axes));
    return op.layer("Activation", activation("log_softmax", {{"axis", axes[0]}}), {x});
  });
}
void hardmax(const Op &op) {
  softmax_like(op, [&](Node x, const Ints &axes) {
    const int64_t n = op.shape(x)[static_cast<int>(axes[0])];
    if (axes.size() > 1 || n == free_dim) op.refuse("over several axes, or a free one, is not supported");
    op.take(checked_mul(n, 16));
    Ints numbers, dims(static_cast<size_t>(op.shape(x).rank()), 1);
    for (int64_t i = 0; i < n; ++i) numbers.push_back(i);
    dims[static_cast<size_t>(axes[0])] = n;
    const Node places = op.constant_node(reshaped(tensor_of(numbers), Shape(dims)));
    const Node best = op.cast(op.layer("Argmax", {{"axis", axes[0]}, {"keepdims", true}}, {x}), DType::i64);
    return op.cast(op.layer("Equal", {}, {best, places}), DType::f32);
  });
}

// ---- normalizations ------------------------------------------------------------------------------------------------

// By the batch's mean and variance; updates the moving ones.
void by_batch(const Op &op) {
  Value &v = op.in(0);
  const Perm perm = channels_last(v.rank());
  const Node x = op.as(v, perm);
  Ints axes;
  for (int i = 0; i + 1 < v.rank(); ++i) axes.push_back(i);
  const Node mean = reduced(op, "Mean", x, axes, false), apart = minus(op, x, mean);
  const Node variance = reduced(op, "Mean", apply(op, "Square", apart), axes, false);
  const Node root = apply(op, "Sqrt", by_number(op, "BroadcastAdd", variance, op.real("epsilon")));
  const Node y = op.layer("Divide", {}, {apart, root});
  op.give(0, plus(op, times(op, y, op.x(1)), op.x(2)), v.dims, perm);
  const double momentum = op.real("momentum");
  const Node now[] = {mean, variance};
  for (size_t i = 0; i < 2; ++i)
    if (op.wants(i + 1))
      op.give(i + 1, plus(op, by_number(op, "BroadcastMultiply", op.x(i + 3), momentum),
                          by_number(op, "BroadcastMultiply", now[i], 1 - momentum)));
}

void batch_normalization(const Op &op) {
  Value &v = op.in(0);
  if (v.rank() < 2) op.refuse("of a value of ", v.rank(), " axes is not supported");
  if (op.flag("training_mode")) return by_batch(op);
  const Perm perm = channels_last(v.rank());
  const Json config{{"axis", -1}, {"epsilon", op.real("epsilon")}, {"momentum", op.real("momentum")}};
  const Weights weights{{"gamma", op.floats(1, "scale")},
                        {"beta", op.floats(2, "bias")},
                        {"moving_mean", op.floats(3, "mean")},
                        {"moving_variance", op.floats(4, "variance")}};
  op.give(0, op.weighted("BatchNormalization", config, {op.as(v, perm)}, weights), v.dims, perm);
}

// A tensor of one number per channel.
Tensor by_channel(const Op &op, size_t i, const char *what, int64_t channels) {
  const Tensor t = op.floats(i, what);
  if (t.elements() == channels) return reshaped(t, {channels});
  if (t.elements() < 1 || channels % t.elements() != 0)
    fail(Code::corrupt_file, "has a ", what, " of ", t.elements(), " numbers for ", channels, " channels");
  op.take(checked_mul(channels, 4));
  Tensor all = make_tensor(DType::f32, {channels});  // one per group, in opset 18
  const int64_t each = channels / t.elements();
  for (int64_t k = 0; k < channels; ++k) all.as<float>()[k] = t.as<float>()[k / each];
  return all;
}

void grouped(const Op &op, int64_t groups) {
  Value &v = op.in(0);
  if (v.rank() < 2 || !v.dims[1].known()) op.refuse("needs a known number of channels");
  const int64_t channels = v.dims[1].factor;
  const Perm perm = channels_last(v.rank());
  const Json config{{"groups", groups}, {"epsilon", op.real("epsilon")}};
  const Weights weights{{"gamma", by_channel(op, 1, "scale", channels)}, {"beta", by_channel(op, 2, "bias", channels)}};
  op.give(0, op.weighted("GroupNormalization", config, {op.as(v, perm)}, weights), v.dims, perm);
}

Ints last_axes(const Op &op, const Value &v) {
  Ints axes;
  for (int64_t i = op.axis(v.rank()); i < v.rank(); ++i) axes.push_back(i);
  return axes;
}

// Whether input i is a constant of exactly the normalized dims.
bool fits(const Op &op, size_t i, const Value &v, const Ints &axes) {
  const auto t = op.has(i) ? op.constant(i) : std::nullopt;
  if (!t || t->dtype != DType::f32 || t->shape.rank() != static_cast<int>(axes.size())) return false;
  for (size_t k = 0; k < axes.size(); ++k)
    if (v.dims[static_cast<size_t>(axes[k])] != Dim{t->shape[static_cast<int>(k)], {}}) return false;
  return true;
}

void layer_normalization(const Op &op) {
  Value &v = op.in(0);
  const Ints axes = last_axes(op, v);
  const double epsilon = op.real("epsilon");
  const bool gamma = fits(op, 1, v, axes), beta = op.has(2) && fits(op, 2, v, axes) && gamma;
  Weights weights;
  if (gamma) weights.emplace_back("gamma", op.floats(1, "scale"));
  if (beta) weights.emplace_back("beta", op.floats(2, "bias"));
  const Node x = op.x(0);
  Node y = op.weighted("LayerNormalization", {{"axis", axes}, {"epsilon", epsilon}, {"scale", gamma}, {"center", beta}},
                       {x}, weights);
  if (!gamma) y = times(op, y, op.x(1));
  if (op.has(2) && !beta) y = plus(op, y, op.x(2));
  op.give(0, y, v.dims);
  if (op.wants(1)) op.give(1, reduced(op, "Mean", x, axes), v.dims);
  if (op.wants(2)) {
    const Node variance = by_number(op, "BroadcastAdd", reduced(op, "Var", x, axes), epsilon);
    op.give(2, apply(op, "Rsqrt", variance), v.dims);
  }
}

void rms_normalization(const Op &op) {
  Value &v = op.in(0);
  const Ints axes = last_axes(op, v);
  const double epsilon = op.real("epsilon");
  const Node x = op.x(0);
  if (fits(op, 1, v, axes))
    return op.give(0,
                   op.weighted("RMSNormalization", {{"axis", axes}, {"epsilon", epsilon}}, {x},
                               {{"scale", op.floats(1, "scale")}}),
                   v.dims);
  const Node mean = by_number(op, "BroadcastAdd", reduced(op, "Mean", apply(op, "Square", x), axes), epsilon);
  op.give(0, times(op, times(op, x, apply(op, "Rsqrt", mean)), op.x(1)), v.dims);
}

void mean_variance(const Op &op) {
  Value &v = op.in(0);
  Ints axes;
  for (int64_t a : op.integers("axes").value_or(Ints{0, 2, 3})) axes.push_back(op.axis_of(a, v.rank()));
  const Node x = op.x(0), apart = minus(op, x, reduced(op, "Mean", x, axes));
  const Node deviation = by_number(op, "BroadcastAdd", reduced(op, "Std", x, axes), 1e-9);
  op.give(0, op.layer("Divide", {}, {apart, deviation}), v.dims);
}

void lp_normalization(const Op &op) {
  Value &v = op.in(0);
  const int64_t p = op.integer("p");
  if (p != 1 && p != 2) op.refuse("\"p\" of ", p, " is not supported");
  const Ints axes{op.axis(v.rank())};
  const Node x = op.x(0);
  const Node norm = p == 1 ? reduced(op, "Sum", apply(op, "Absolute", x), axes)
                           : apply(op, "Sqrt", reduced(op, "Sum", apply(op, "Square", x), axes));
  const Node y = op.layer("Divide", {}, {x, norm});
  op.give(0, op.layer("Where", {{"x1", 0}}, {by_number(op, "Equal", norm, 0), y}), v.dims);
}

}  // namespace

constexpr Row norm_table[] = {
    {"ReduceSum", [](const Op &op) { plain_reduction(op, "Sum"); },
     "data axes?@13 > reduced=data; axes@-12:ints keepdims=1|0 noop_with_empty_axes@13=0|1"},
    {"ReduceMean", [](const Op &op) { plain_reduction(op, "Mean"); },
     "data axes?@18 > reduced; axes@-17:ints keepdims=1|0 noop_with_empty_axes@18=0|1"},
    {"ReduceMax", [](const Op &op) { extreme(op, "Max", "Any"); },
     "data axes?@18 > reduced=data; axes@-17:ints keepdims=1|0 noop_with_empty_axes@18=0|1"},
    {"ReduceMin", [](const Op &op) { extreme(op, "Min", "All"); },
     "data axes?@18 > reduced=data; axes@-17:ints keepdims=1|0 noop_with_empty_axes@18=0|1"},
    {"ReduceProd", reduced_product,
     "data axes?@18 > reduced=data; axes@-17:ints keepdims=1|0 noop_with_empty_axes@18=0|1"},
    {"ReduceL1", [](const Op &op) { composed(op, "Absolute", "Sum", nullptr); },
     "data axes?@18 > reduced; axes@-17:ints keepdims=1|0 noop_with_empty_axes@18=0|1"},
    {"ReduceL2", [](const Op &op) { composed(op, "Square", "Sum", "Sqrt"); },
     "data axes?@18 > reduced; axes@-17:ints keepdims=1|0 noop_with_empty_axes@18=0|1"},
    {"ReduceSumSquare", [](const Op &op) { composed(op, "Square", "Sum", nullptr); },
     "data axes?@18 > reduced; axes@-17:ints keepdims=1|0 noop_with_empty_axes@18=0|1"},
    {"ReduceLogSum", [](const Op &op) { composed(op, nullptr, "Sum", "Log"); },
     "data axes?@18 > reduced; axes@-17:ints keepdims=1|0 noop_with_empty_axes@18=0|1"},
    {"ReduceLogSumExp",
     [](const Op &op) { reduce_floats(op, [&](Node x, const Ints &axes) { return log_sum_exp(op, x, axes); }); },
     "data axes?@18 > reduced; axes@-17:ints keepdims=1|0 noop_with_empty_axes@18=0|1"},
    {"ArgMax", [](const Op &op) { arg(op, false); }, "data > reduced; axis=0 keepdims=1|0 select_last_index@12=0|1"},
    {"ArgMin", [](const Op &op) { arg(op, true); }, "data > reduced; axis=0 keepdims=1|0 select_last_index@12=0|1"},
    {"TopK", top_k, "X K@10 > Values=X Indices; axis=-1 k@-9:int! largest@11=1|0 sorted@11=1|0"},
    {"CumSum", [](const Op &op) { cumulate(op, "Cumsum"); }, "x axis > y=x; exclusive=0|1 reverse=0|1"},
    {"CumProd", [](const Op &op) { cumulate(op, "Cumprod"); }, "x axis > y=x; exclusive=0|1 reverse=0|1"},
    {"Softmax", softmax, "input > output; axis@-12=1 axis@13=-1"},
    {"LogSoftmax", log_softmax, "input > output; axis@-12=1 axis@13=-1"},
    {"Hardmax", hardmax, "input > output; axis@-12=1 axis@13=-1"},
    {"BatchNormalization", batch_normalization,
     "X scale B input_mean input_var > Y running_mean? running_var? saved_mean?@-13 saved_var?@-13; "
     "consumed_inputs@-5:ints epsilon=1e-05 is_test@-6=0|1 momentum=0.9 spatial@-8=1| "
     "training_mode@14=0|1"},
    {"InstanceNormalization", [](const Op &op) { grouped(op, -1); },
     "input scale B > output; consumed_inputs@-5:ints epsilon=1e-05"},
    {"GroupNormalization", [](const Op &op) { grouped(op, op.integer("num_groups")); },
     "X scale bias > Y; epsilon=1e-05 num_groups:int! stash_type=1|"},
    {"LayerNormalization", layer_normalization, "X Scale B? > Y Mean? InvStdDev?; axis=-1 epsilon=1e-05 stash_type=1|"},
    {"RMSNormalization", rms_normalization, "X scale > Y; axis=-1 epsilon=1e-05 stash_type=1|"},
    {"MeanVarianceNormalization", mean_variance, "X > Y; axes:ints"},
    {"LpNormalization", lp_normalization, "input > output; axis=-1 p=2|1"},
};
const std::span<const Row> norm_rows = norm_table;

}  // namespace dl4::io::onnx
