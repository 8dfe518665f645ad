// ONNX's convolutions.

#include "io/onnx/read/windows.hpp"

namespace dl4::io::onnx {
namespace {

// ONNX's (M, C, ...) as (..., C, M), (C, M, ...) as (..., M, C).
Tensor kernel_last(const Tensor &w) {
  Perm perm = plain(w.shape.rank());
  std::rotate(perm.begin(), perm.begin() + 2, perm.end());
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transposed(w, perm);
}
Tensor kernel_of(const Op &op) {
  const Tensor w = op.floats(1, "kernel");
  need_kernel(op, w);
  return w;
}

bool is_constant(const Op &op, size_t i) { return op.constant(i) || op.in(i).around; }

// With a computed kernel: patches times the kernel.
void conv_of_computed(const Op &op) {
  constexpr int64_t most_taps = 1024;
  floats_only(op);
  Value &v = op.in(0), &w = op.in(1);
  if (w.rank() != v.rank() || v.rank() < 3) fail(Code::corrupt_file, "has a kernel of ", w.rank(), " axes");
  Ints size;
  for (size_t i = 2; i < w.dims.size(); ++i) size.push_back(known(op, w.dims[i], "the window of a computed kernel"));
  const Window how = window(op, size, v.dims);
  if (op.integer("group") != 1) op.refuse("in groups, with a kernel that the model computes, is not supported");
  if (how.same && op.string("auto_pad") != "NOTSET")
    op.refuse("\"auto_pad\" with a kernel that the model computes is not supported");
  const int64_t channels = known(op, v.dims[1], "the channels");
  if (w.dims[1] != v.dims[1]) fail(Code::corrupt_file, "has a kernel of other channels than its input");
  const Perm perm = channels_last(v.rank());
  const Node x = padded(op, op.as(v, perm), how.pads);
  Ints out;
  int64_t taps = 1;
  for (size_t i = 0; i < size.size(); ++i) {
    const int64_t n = known(op, v.dims[i + 2], "an image under a computed kernel") + how.pads[i][0] + how.pads[i][1];
    if (n < how.reach(i)) fail(Code::corrupt_file, "has a kernel that does not fit in its input");
    out.push_back((n - how.reach(i)) / how.strides[i] + 1), taps = checked_mul(taps, size[i]);
  }
  if (taps > most_taps) op.refuse("with a window of ", taps, " places that the model computes is not supported");
  for (int64_t n : out) op.take(checked_mul(taps, n, place_bytes));
  std::vector<Node> under;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Node some = x;
    int64_t rest = tap;
    for (size_t i = size.size(); i-- > 0;) {
      const int64_t place = rest % size[i];
      rest /= size[i];
      const auto at = static_cast<int>(i) + 1;
      const int64_t first = place * how.dilations[i];
      Ints from;
      for (int64_t k = 0; k < out[i] && how.strides[i] != 1; ++k) from.push_back(first + k * how.strides[i]);
      some =
          from.empty() ? op.cut(some, at, first, out[i]) : op.layer("Take", {{"indices", from}, {"axis", at}}, {some});
    }
    under.push_back(some);
  }
  Perm last;  // (..., C, M)
  for (int i = 2; i < w.rank(); ++i) last.push_back(i);
  last.push_back(1), last.push_back(0);
  const Node kernel = op.reshape(op.as(w, last), {checked_mul(taps, channels), known_or_free(w.dims[0])});
  const Node all = taps == 1 ? under[0] : op.layer("Concatenate", {{"axis", -1}}, under);
  Node y = op.layer("MatMul", {}, {all, kernel});
  if (op.has(2)) y = plus(op, y, op.x(2));
  std::vector<Dim> dims{v.dims[0], w.dims[0]};
  for (int64_t n : out) dims.push_back({n, {}});
  op.give(0, y, dims, perm);
}

// Whether the result is quantized next, with at most a bias, a sum and an activation in between.
bool is_quantized_after(const Op &op) {
  const NodeProto *node = &op.node;
  for (int steps = 0; steps < 6 && !node->out.empty(); ++steps) {
    node = op.r.only_reader(node->out[0]);
    if (!node) return false;
    if (node->op == "QuantizeLinear") return true;
    if (node->op != "Add" && node->op != "Relu" && node->op != "Clip" && node->op != "LeakyRelu") return false;
  }
  return false;
}

void conv(const Op &op) {
  Value &v = op.in(0);
  if (!is_constant(op, 1)) return conv_of_computed(op);
  const Tensor w = kernel_of(op);
  Window how = window(op, {w.shape.begin() + 2, w.shape.end()}, v.dims);
  const Ints ones(how.axes(), 1), steps = how.strides;
  // Keras's layers have no strides with dilation: computes all positions, then takes every stride-th.
  const bool apart = how.strides != ones && how.dilations != ones;
  if (apart) {
    for (size_t i = 0; i < how.axes() && op.string("auto_pad") == "SAME_UPPER"; ++i) {
      const auto total = same_total(how, i, v.dims[i + 2]);
      if (!total) op.refuse("\"auto_pad\" with strides and dilations over a free axis is not supported");
      how.pads[i] = {*total / 2, *total - *total / 2};
    }
    how.same = false, how.strides = ones;
  }
  std::optional<Tensor> bias;
  const bool computed = op.has(2) && !is_constant(op, 2);
  if (op.has(2) && !computed) bias = op.floats(2, "bias");
  const Perm perm = channels_last(v.rank());
  const auto by = is_quantized_after(op) ? convolved_by_row : convolved;
  const int64_t channels = checked_mul(w.shape[1], op.integer("group"));
  std::vector<Dim> dims;
  for (int i : perm) dims.push_back(v.dims[static_cast<size_t>(i)]);
  Node y = by(op, last_of(op, op.as(v, perm), std::move(dims), channels), w, how, bias);
  if (apart) y = op.layer(of_rank("MaxPooling", how.axes()).c_str(), {{"pool_size", ones}, {"strides", steps}}, {y});
  if (computed) y = plus(op, y, op.x(2));
  op.give(0, y, {v.dims[0]}, perm);
}

// Channels [at, at + n) of a kernel's first axis.
Tensor rows_of(const Tensor &t, int64_t at, int64_t n) {
  const Shape s = t.shape.with(0, n);
  const auto each = static_cast<size_t>(t.elements() / t.shape[0]);
  Tensor part = make_tensor(t.dtype, s);
  std::copy_n(t.as<float>() + static_cast<size_t>(at) * each, static_cast<size_t>(n) * each, part.as<float>());
  return part;
}

// Cropping or padding of a transposed convolution's full output.
Margins transposed_ends(const Op &op, const Window &w, const std::vector<Dim> &dims) {
  const Ints extra = op.integers("output_padding").value_or(Ints(w.axes(), 0));
  const auto wanted = op.integers("output_shape");
  const bool lower = op.string("auto_pad") == "SAME_LOWER";
  const bool same = lower || op.string("auto_pad") == "SAME_UPPER";
  if (extra.size() != w.axes() || (wanted && wanted->size() != w.axes()))
    fail(Code::corrupt_file, "has another number of axes in \"output_padding\" or \"output_shape\"");
  for (const Ints *list : {&extra, wanted ? &*wanted : &extra})
    for (int64_t n : *list)
      if (n < 0 || n > max_dim) fail(Code::corrupt_file, "has an \"output_padding\" or \"output_shape\" of ", n);
  Margins ends(w.axes());
  for (size_t i = 0; i < w.axes(); ++i) {
    ends[i] = {-w.pads[i][0], extra[i] - w.pads[i][1]};
    if (!wanted && !same) continue;
    const Dim &n = dims[i + 2];
    if (wanted && !n.known()) op.refuse("\"output_shape\" for a free axis is not supported");
    // The full output is (n - 1) stride + reach + extra; "same" keeps n stride.
    const int64_t total = wanted ? (n.factor - 1) * w.strides[i] + w.reach(i) + extra[i] - (*wanted)[i]
                                 : w.reach(i) - w.strides[i] + extra[i];
    const int64_t before = total < 0 ? 0 : lower ? total - total / 2 : total / 2;
    ends[i] = {-before, extra[i] - (total - before)};
  }
  return ends;
}

void conv_transpose(const Op &op) {
  Value &v = op.in(0);
  const Tensor w = kernel_of(op);  // (C, M / groups, ...)
  Window how = window(op, {w.shape.begin() + 2, w.shape.end()}, v.dims);
  const int64_t groups = op.integer("group"), channels = w.shape[0];
  if (groups < 1 || groups > 1024 || channels % groups != 0) op.refuse("has ", groups, " groups of ", channels);
  if (how.same && op.string("auto_pad") == "NOTSET") how.same = false;
  const Margins ends = transposed_ends(op, how, v.dims);
  const Node x = op.as(v, channels_last(v.rank()));
  std::vector<Node> parts;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t n = channels / groups;
    const Node in = groups == 1 ? x : op.cut(x, v.rank() - 1, g * n, n);
    const Json config{{"filters", w.shape[1]},
                      {"kernel_size", how.size},
                      {"strides", how.strides},
                      {"dilation_rate", how.dilations},
                      {"output_padding", Ints(how.axes(), 0)},
                      {"use_bias", false}};
    parts.push_back(op.weighted(of_rank("Conv", how.axes(), "Transpose").c_str(), config, {in},
                                {{"kernel", kernel_last(rows_of(w, g * n, n))}}));
  }
  Node y = groups == 1 ? parts[0] : op.layer("Concatenate", {{"axis", -1}}, parts);
  y = with_ends(op, y, inner(ends));
  if (op.has(2)) y = plus(op, y, op.constant_node(op.floats(2, "bias")));
  op.give(0, y, {v.dims[0]}, channels_last(v.rank()));
}
// Adds each block's elements to their positions in the image.
void col_to_im(const Op &op) {
  const Value &v = op.in(0);
  const auto image = op.integers("image_shape", 1), block = op.integers("block_shape", 2);
  if (v.rank() != 3 || !image || !block || image->size() != block->size() || image->empty())
    fail(Code::corrupt_file, "expects a value of three axes and an image and a block of as many");
  const size_t n = image->size();
  const auto list = [&](const char *name, size_t length, int64_t otherwise) {
    const Ints given = op.integers(name).value_or(Ints(length, otherwise));
    if (given.size() != length) fail(Code::corrupt_file, "has ", given.size(), " numbers as \"", name, '"');
    for (int64_t i : given)
      if (i < otherwise || i > max_dim) fail(Code::corrupt_file, "has \"", name, "\" of ", i);
    return given;
  };
  const Ints strides = list("strides", n, 1), dilations = list("dilations", n, 1), pads = list("pads", 2 * n, 0);
  Ints steps;
  int64_t places = 1, elements = 1, blocks = 1;
  for (size_t i = 0; i < n; ++i) {
    const int64_t reach = checked_add(checked_mul((*block)[i] - 1, dilations[i]), 1);
    const int64_t all = checked_add((*image)[i], pads[i], pads[i + n]);
    if ((*block)[i] < 1 || (*image)[i] < 1 || all < reach) fail(Code::corrupt_file, "has a block that does not fit");
    steps.push_back((all - reach) / strides[i] + 1);
    places = checked_mul(places, (*image)[i]), elements = checked_mul(elements, (*block)[i]);
    blocks = checked_mul(blocks, steps[i]);
  }
  const int64_t channels = known(op, v.dims[1], "channels") / elements, total = checked_mul(elements, blocks);
  if (v.dims[1].factor % elements != 0 || known(op, v.dims[2], "a number of blocks") != blocks)
    fail(Code::corrupt_file, "has other blocks than its image: ", v.dims[2].factor, ", expected ", blocks);
  op.take(checked_mul(total, place_bytes));
  Ints ids;
  for (int64_t k = 0; k < elements; ++k)
    for (int64_t b = 0; b < blocks; ++b) {
      int64_t id = 0, step = 1, in_block = k, at_block = b;
      for (size_t i = n; i-- > 0; in_block /= (*block)[i], at_block /= steps[i]) {
        const int64_t at = at_block % steps[i] * strides[i] - pads[i] + in_block % (*block)[i] * dilations[i];
        id = id < 0 || at < 0 || at >= (*image)[i] ? -1 : id + at * step;
        step *= (*image)[i];
      }
      ids.push_back(id);
    }
  const Node x = op.layer("Reshape", {{"target_shape", Ints{channels, total}}}, {op.x(0)});
  const Node rows = op.layer("Transpose", {{"perm", {2, 0, 1}}}, {x});
  const Node sums = op.layer("SegmentSum", {{"num_segments", places}}, {rows, op.constant_node(tensor_of(ids))});
  const Node y = op.layer("Transpose", {{"perm", {1, 2, 0}}}, {sums});
  Ints target{channels};
  target.insert(target.end(), image->begin(), image->end());
  op.give(0, op.layer("Reshape", {{"target_shape", target}}, {y}), {v.dims[0]});
}

}  // namespace

void need_kernel(const Op &op, const Tensor &w) {
  if (w.shape.rank() != op.in(0).rank()) fail(Code::corrupt_file, "has a kernel of ", w.shape.rank(), " axes");
  if (w.elements() == 0) op.refuse("has an empty kernel");
  const auto said = op.integers("kernel_shape");
  if (said && !std::equal(said->begin(), said->end(), w.shape.begin() + 2, w.shape.end()))
    fail(Code::corrupt_file, "has a \"kernel_shape\" that its kernel has not");
}

Node convolved(const Op &op, Node x, const Tensor &kernel, const Window &how, const std::optional<Tensor> &bias) {
  if (!how.same) x = padded(op, x, how.pads);
  Weights weights{{"kernel", kernel_last(kernel)}};
  if (bias) weights.emplace_back("bias", *bias);
  const Json config{{"filters", kernel.shape[0]},     {"kernel_size", how.size},
                    {"strides", how.strides},         {"padding", how.same ? "same" : "valid"},
                    {"dilation_rate", how.dilations}, {"groups", op.integer("group")},
                    {"use_bias", bias.has_value()}};
  return op.weighted(of_rank("Conv", how.axes()).c_str(), config, {x}, weights);
}

namespace {

// Row `at` of each kernel.
Tensor kernel_row(const Tensor &w, int64_t at) {
  Tensor row = make_tensor(DType::f32, w.shape.with(2, 1));
  const int64_t n = w.shape[3];
  for (int64_t i = 0; i < row.elements(); ++i)
    row.as<float>()[i] = w.as<float>()[(i / n * w.shape[2] + at) * n + i % n];
  return row;
}

}  // namespace

Node convolved_by_row(const Op &op, Node x, const Tensor &w, const Window &how, const std::optional<Tensor> &bias) {
  const Ints ones(how.axes(), 1);
  if (how.size != Ints{3, 3} || how.strides != ones || how.dilations != ones) return convolved(op, x, w, how, bias);
  Margins pads = how.pads;
  if (how.same) pads = {{1, 1}, {1, 1}};
  const Node around = padded(op, x, pads);
  Window row;
  row.size = {1, 3}, row.strides = row.dilations = ones, row.pads = {{0, 0}, {0, 0}};
  Node sum = graph::no_node;
  for (int64_t r = 0; r < 3; ++r) {
    const Ints start{0, r, 0, 0}, size{-1, r - 3, -1, -1};
    const Node part = op.layer("Slice", {{"start_indices", start}, {"shape", size}}, {around});
    const Node y = convolved(op, part, kernel_row(w, r), row, r == 0 ? bias : std::nullopt);
    sum = r == 0 ? y : plus(op, sum, y);
  }
  return sum;
}

constexpr Row space_table[] = {
    {"Conv", conv,
     "X W B? > Y; auto_pad=NOTSET|SAME_UPPER|SAME_LOWER|VALID dilations:ints group=1 "
     "kernel_shape:ints pads:ints strides:ints",
     slow},
    {"ConvTranspose", conv_transpose,
     "X W B? > Y; auto_pad=NOTSET|SAME_UPPER|SAME_LOWER|VALID dilations:ints group=1 "
     "kernel_shape:ints output_padding:ints output_shape:ints pads:ints strides:ints",
     slow},
    {"Col2Im", col_to_im, "input~ image_shape block_shape > output; dilations:ints pads:ints strides:ints"}};
const std::span<const Row> space_rows = space_table;

std::optional<int64_t> same_total(const Window &w, size_t i, const Dim &n) {
  if (w.strides[i] == 1) return w.reach(i) - 1;
  if (!n.known()) return {};
  return std::max<int64_t>((ceil_div(n.factor, w.strides[i]) - 1) * w.strides[i] + w.reach(i) - n.factor, 0);
}

namespace {

void read_pads(const Op &op, Window &w, const std::vector<Dim> &dims) {
  const std::string mode = op.string("auto_pad");
  w.pads.assign(w.axes(), {0, 0});
  if (mode == "VALID") return;
  if (mode == "SAME_UPPER") {
    w.same = true;
    return;
  }
  if (mode == "SAME_LOWER") {
    for (size_t i = 0; i < w.axes(); ++i) {
      const auto total = same_total(w, i, dims[i + 2]);
      if (!total) op.refuse("\"auto_pad\" SAME_LOWER over a free axis is not supported");
      w.pads[i] = {*total - *total / 2, *total / 2};
    }
    return;
  }
  const Ints pads = op.integers("pads").value_or(Ints(2 * w.axes(), 0));
  if (pads.size() != 2 * w.axes()) fail(Code::corrupt_file, "has ", pads.size(), " pads for ", w.axes(), " axes");
  w.same = true;
  for (size_t i = 0; i < w.axes(); ++i) {
    w.pads[i] = {pads[i], pads[i + w.axes()]};
    if (w.pads[i][0] < 0 || w.pads[i][1] < 0 || w.pads[i][0] > max_dim || w.pads[i][1] > max_dim)
      op.refuse("has pads of ", w.pads[i][0], " and ", w.pads[i][1]);
    const auto total = same_total(w, i, dims[i + 2]);
    w.same = w.same && total && w.pads[i][0] == *total / 2 && w.pads[i][1] == *total - *total / 2;
  }
}
}  // namespace

Window window(const Op &op, Ints size, const std::vector<Dim> &dims) {
  if (dims.size() != size.size() + 2 || size.empty() || size.size() > 3)
    op.refuse("over ", size.size(), " axes of a value of ", dims.size(), " is not supported, only over one to three");
  Window w;
  const Ints ones(size.size(), 1);
  w.strides = op.integers("strides").value_or(ones), w.dilations = op.integers("dilations").value_or(ones);
  w.size = std::move(size);
  for (const Ints *list : {&w.size, &w.strides, &w.dilations}) {
    if (list->size() != w.axes()) fail(Code::corrupt_file, "has ", list->size(), " numbers for ", w.axes(), " axes");
    for (int64_t n : *list)
      if (n < 1 || n > 1 << 24) fail(Code::corrupt_file, "has a size, stride or dilation of ", n);
  }
  w.ceil = op.integer("ceil_mode", 0) != 0;
  read_pads(op, w, dims);
  return w;
}

Node padded(const Op &op, Node x, const Margins &pads) {
  if (std::all_of(pads.begin(), pads.end(), [](const auto &p) { return p[0] == 0 && p[1] == 0; })) return x;
  return op.layer(of_rank("ZeroPadding", pads.size()).c_str(), {{"padding", margins_json(pads)}}, {x});
}

}  // namespace dl4::io::onnx
