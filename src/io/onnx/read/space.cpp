// ONNX's ops on images: channels stand behind the batch there; ours have them last, so values stay in that order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

std::string of_rank(const char *kind, size_t n, const char *more = "") { return text(kind, n, "D", more); }

// How a window moves over the places of an image.
struct Window {
  Ints size, strides, dilations;
  Margins pads;
  bool same = false;  // the pads are those of "same"
  bool ceil = false;

  size_t axes() const { return size.size(); }
  int64_t reach(size_t i) const { return (size[i] - 1) * dilations[i] + 1; }
  bool padded() const {
    return std::any_of(pads.begin(), pads.end(), [](const auto &p) { return p[0] != 0 || p[1] != 0; });
  }
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The zeros around an axis that TensorFlow's "same" adds; none: they depend on a free size.
std::optional<int64_t> same_total(const Window &w, size_t i, const Dim &n) {
  if (w.strides[i] == 1) return w.reach(i) - 1;
  if (!n.known()) return {};
  return std::max<int64_t>((ceil_div(n.factor, w.strides[i]) - 1) * w.strides[i] + w.reach(i) - n.factor, 0);
}

void read_pads(const Op &op, Window &w, const std::vector<Dim> &dims) {
  const std::string mode = op.string("auto_pad", "NOTSET");
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
  if (mode != "NOTSET") fail(Code::corrupt_file, "has \"auto_pad\" ", mode);
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
  return op.layer(of_rank("ZeroPadding", pads.size()), {{"padding", margins_json(pads)}}, {x});
}

// ---- convolutions --------------------------------------------------------------------------------------------------

// (M, C, ...) of ONNX as (..., C, M), (C, M, ...) as (..., M, C).
Tensor kernel_last(const Tensor &w) {
  Perm perm = plain(w.shape.rank());
  std::rotate(perm.begin(), perm.begin() + 2, perm.end());
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transposed(w, perm);
}

Tensor kernel_of(const Op &op) {
  const Tensor w = op.floats(1, "kernel");
  if (w.shape.rank() != op.in(0).rank()) fail(Code::corrupt_file, "has a kernel of ", w.shape.rank(), " axes");
  if (w.elements() == 0) op.refuse("has an empty kernel");
  const auto said = op.integers("kernel_shape");
  if (said && !std::equal(said->begin(), said->end(), w.shape.begin() + 2, w.shape.end()))
    fail(Code::corrupt_file, "has a \"kernel_shape\" that its kernel has not");
  return w;
}

void conv(const Op &op) {
  Value &v = op.in(0);
  const Tensor w = kernel_of(op);
  const Window how = window(op, {w.shape.begin() + 2, w.shape.end()}, v.dims);
  Node x = op.as(v, channels_last(v.rank()));
  if (!how.same) x = padded(op, x, how.pads);
  Weights weights{{"kernel", kernel_last(w)}};
  if (op.has(2)) weights.emplace_back("bias", op.floats(2, "bias"));
  const Json config{{"filters", w.shape[0]},          {"kernel_size", how.size},
                    {"strides", how.strides},         {"padding", how.same ? "same" : "valid"},
                    {"dilation_rate", how.dilations}, {"groups", op.integer("group", 1)},
                    {"use_bias", op.has(2)}};
  op.give(0, op.weighted(of_rank("Conv", how.axes()), config, {x}, weights), {v.dims[0]}, channels_last(v.rank()));
}

// Channels [at, at + n) of a kernel's first axis.
Tensor rows_of(const Tensor &t, int64_t at, int64_t n) {
  const Shape s = t.shape.with(0, n);
  const auto each = static_cast<size_t>(t.elements() / t.shape[0]);
  Tensor part = make_tensor(t.dtype, s);
  std::copy_n(t.as<float>() + static_cast<size_t>(at) * each, static_cast<size_t>(n) * each, part.as<float>());
  return part;
}

// What is cut off, or added, at the ends of all that the windows reach.
Margins transposed_ends(const Op &op, const Window &w, const std::vector<Dim> &dims) {
  const Ints extra = op.integers("output_padding").value_or(Ints(w.axes(), 0));
  const auto wanted = op.integers("output_shape");
  const bool lower = op.string("auto_pad", "NOTSET") == "SAME_LOWER";
  const bool same = lower || op.string("auto_pad", "NOTSET") == "SAME_UPPER";
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
    // All that is reached is (n - 1) stride + reach + extra; of "same" n stride stay.
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
  const int64_t groups = op.integer("group", 1), channels = w.shape[0];
  if (groups < 1 || groups > 1024 || channels % groups != 0) op.refuse("has ", groups, " groups of ", channels);
  if (how.same && op.string("auto_pad", "NOTSET") == "NOTSET") how.same = false;
  const Margins ends = transposed_ends(op, how, v.dims);
  const Node x = op.as(v, channels_last(v.rank()));
  std::vector<Node> parts;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t n = channels / groups;
    Ints start(static_cast<size_t>(v.rank()), 0), size(static_cast<size_t>(v.rank()), -1);
    start.back() = g * n, size.back() = n;
    const Node in = groups == 1 ? x : op.layer("Slice", {{"start_indices", start}, {"shape", size}}, {x});
    const Json config{{"filters", w.shape[1]},
                      {"kernel_size", how.size},
                      {"strides", how.strides},
                      {"dilation_rate", how.dilations},
                      {"output_padding", Ints(how.axes(), 0)},
                      {"use_bias", false}};
    parts.push_back(op.weighted(of_rank("Conv", how.axes(), "Transpose"), config, {in},
                                {{"kernel", kernel_last(rows_of(w, g * n, n))}}));
  }
  Node y = groups == 1 ? parts[0] : op.layer("Concatenate", {{"axis", -1}}, parts);
  y = moved_ends(op, y, ends);
  if (op.has(2)) y = plus(op, y, op.constant_node(op.floats(2, "bias")));
  op.give(0, y, {v.dims[0]}, channels_last(v.rank()));
}

// ---- pools ---------------------------------------------------------------------------------------------------------

// With "ceil_mode" the last window may begin before the end and reach past it: zeros behind the pads.
Ints past_the_end(const Op &op, const Window &w, const std::vector<Dim> &dims) {
  Ints more(w.axes(), 0);
  if (!w.ceil || w.same) return more;
  for (size_t i = 0; i < w.axes(); ++i) {
    if (!dims[i + 2].known()) op.refuse("\"ceil_mode\" over a free axis is not supported");
    const int64_t n = dims[i + 2].factor, all = n + w.pads[i][0] + w.pads[i][1], s = w.strides[i];
    int64_t out = ceil_div(all - w.reach(i), s) + 1;
    if ((out - 1) * s >= n + w.pads[i][0]) --out;  // one that begins in the pads does not count
    more[i] = std::max<int64_t>((out - 1) * s + w.reach(i) - all, 0);
  }
  return more;
}

Json pool_config(const Window &w, bool same) {
  return {{"pool_size", w.size}, {"strides", w.strides}, {"padding", same ? "same" : "valid"}};
}

// A window with holes: along each axis its places joined, one by one.
Node dilated(const Op &op, const char *join, Node x, const Window &w) {
  for (size_t i = 0; i < w.axes(); ++i) {
    const int64_t n = op.shape(x)[static_cast<int>(i) + 1];
    if (n == free_dim) op.refuse("\"dilations\" over a free axis are not supported");
    const int64_t out = (n - w.reach(i)) / w.strides[i] + 1;
    if (n < w.reach(i) || n > 1 << 16 || w.size[i] > 64)
      op.refuse("has a window of ", w.reach(i), " over ", n, " places");
    op.take(checked_mul(out, w.size[i], place_bytes));
    Node all = graph::no_node;
    for (int64_t k = 0; k < w.size[i]; ++k) {
      Ints places;
      for (int64_t o = 0; o < out; ++o) places.push_back(o * w.strides[i] + k * w.dilations[i]);
      const Node y = op.layer("Take", {{"indices", places}, {"axis", i + 1}}, {x});
      all = k == 0 ? y : op.layer(join, Json::object(), {all, y});
    }
    x = all;
  }
  return x;
}

// Where, in a window at each of its places along axis i, place k of it lies in the image; its first one that is no pad
// for those that are.
Ints places_in(const Window &w, size_t i, int64_t n, int64_t more, int64_t k) {
  Ints from;
  for (int64_t at = -w.pads[i][0]; at + w.reach(i) <= n + w.pads[i][1] + more; at += w.strides[i]) {
    const auto inside = [&](int64_t place) { return place >= 0 && place < n; };
    int64_t place = at + k * w.dilations[i];
    for (int64_t j = 0; !inside(place) && j < w.size[i]; ++j) place = at + j * w.dilations[i];
    if (!inside(place)) fail(Code::corrupt_file, "has a window of pads alone");
    from.push_back(place);
  }
  return from;
}

// Where the largest of each window lies, counted through the whole value as ONNX has it: of equal ones the first.
void give_places(const Op &op, Window w, const Ints &more) {
  Value &v = op.in(0);
  if (!std::all_of(v.dims.begin() + 1, v.dims.end(), [](const Dim &d) { return d.known() && d.factor > 0; }))
    op.refuse("\"Indices\" of an image with free axes are not supported; export the model with its size");
  const size_t n = w.axes();
  Ints step(n, 1);  // from a place of an axis to the next
  int64_t image = 1;
  const bool columns = op.integer("storage_order", 0) != 0;
  for (size_t k = 0; k < n; ++k) {
    const size_t i = columns ? k : n - 1 - k;
    step[i] = image, image = checked_mul(image, v.dims[i + 2].factor);
    const auto total = same_total(w, i, v.dims[i + 2]);
    if (w.same) w.pads[i] = {*total / 2, *total - *total / 2};
  }
  const auto along = [&](const Ints &list, size_t axis) {
    Ints dims(n + 2, 1);
    dims[axis] = static_cast<int64_t>(list.size());
    return op.constant_node(io::reshaped(tensor_of(list), Shape(dims)));
  };
  const auto compared = [&](const char *kind, Node a, Node b) { return op.layer(kind, Json::object(), {a, b}); };
  const Node x = op.as(v, channels_last(v.rank()));
  Node best = x, place = op.cast(op.layer("Where", {{"x1", 0}, {"x2", 0}}, {compared("Equal", x, x)}), DType::i64);
  for (size_t i = n; i-- > 0;) {
    const int64_t windows = (v.dims[i + 2].factor + w.pads[i][0] + w.pads[i][1] + more[i]) / w.strides[i] + 1;
    op.take(checked_mul(windows, w.size[i], place_bytes));
    Node top = best, at = place;
    for (int64_t k = 0; k < w.size[i]; ++k) {
      Ints from = places_in(w, i, v.dims[i + 2].factor, more[i], k);
      const Json taken{{"indices", from}, {"axis", i + 1}};
      for (int64_t &p : from) p *= step[i];
      const Node y = op.layer("Take", taken, {best});
      const Node here = plus(op, op.layer("Take", taken, {place}), along(from, i + 1));
      const Node more_than = k == 0 ? y : compared("Greater", y, top);
      top = k == 0 ? y : op.layer("Where", Json::object(), {more_than, y, top});
      at = k == 0 ? here : op.layer("Where", Json::object(), {more_than, here, at});
    }
    best = top, place = at;
  }
  Ints channels, behind;
  op.take(checked_mul(v.dims[1].factor, place_bytes));
  for (int64_t c = 0; c < v.dims[1].factor; ++c) channels.push_back(c * image);
  for (size_t i = 1; i < n + 2; ++i) behind.push_back(static_cast<int64_t>(i));
  const Node item = op.cast(op.layer("Arange", {{"axis", 0}}, {x}), DType::i64);
  const Node items = by_number(op, "BroadcastMultiply", op.layer("ExpandDims", {{"axis", behind}}, {item}),
                               static_cast<double>(checked_mul(image, v.dims[1].factor)));
  op.give(1, plus(op, plus(op, place, along(channels, n + 1)), items), {v.dims[0]}, channels_last(v.rank()));
}

void max_pool(const Op &op) {
  Value &v = op.in(0);
  if (v.dtype != DType::f32) op.refuse("is supported for floats, not for ", v.dtype);
  Window w = window(op, op.integers("kernel_shape").value_or(Ints{}), v.dims);
  const Ints more = past_the_end(op, w, v.dims);
  for (size_t i = 0; i < w.axes(); ++i) w.same = w.same && more[i] == 0;
  if (op.wants(1)) give_places(op, w, more);
  const bool holes = std::any_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d != 1; });
  Node x = op.as(v, channels_last(v.rank()));
  if (holes && w.same)
    for (size_t i = 0; i < w.axes(); ++i) {
      const auto total = same_total(w, i, v.dims[i + 2]);
      if (!total) op.refuse("\"dilations\" over a free axis are not supported");
      w.pads[i] = {*total / 2, *total - *total / 2};
    }
  if (!w.same || holes) {
    Margins pads = w.pads;
    for (size_t i = 0; i < w.axes(); ++i) pads[i][1] += more[i];
    x = filled_ends(op, x, pads, v.not_negative ? 0 : -static_cast<double>(std::numeric_limits<float>::max()));
  }
  const Node y = holes ? dilated(op, "BroadcastMaximum", x, w)
                       : op.layer(of_rank("MaxPooling", w.axes()), pool_config(w, w.same), {x});
  op.give(0, y, {v.dims[0]}, channels_last(v.rank()), v.not_negative);
}

// How many places of an image each window covers, over how many it has: what the mean over all of them is to be divided
// by. Pads count if asked for.
Node shares(const Op &op, const Window &w, const std::vector<Dim> &dims, const Ints &more, bool with_pads) {
  Ints out{1};
  std::vector<std::vector<double>> share;
  for (size_t i = 0; i < w.axes(); ++i) {
    if (!dims[i + 2].known()) op.refuse("a mean without the pads over a free axis is not supported");
    const int64_t n = dims[i + 2].factor, all = n + w.pads[i][0] + w.pads[i][1];
    const int64_t low = with_pads ? 0 : w.pads[i][0], high = with_pads ? all : w.pads[i][0] + n;
    if (all > 1 << 15) op.refuse("of ", all, " places is not supported");
    std::vector<double> &list = share.emplace_back();
    for (int64_t at = 0; at + w.reach(i) <= all + more[i]; at += w.strides[i]) {
      const auto before = [&](int64_t end) {  // places of the window there
        return std::clamp<int64_t>(ceil_div(std::max<int64_t>(end - at, 0), w.dilations[i]), 0, w.size[i]);
      };
      const int64_t inside = before(high) - before(low);
      list.push_back(static_cast<double>(inside) / static_cast<double>(w.size[i]));
    }
    out.push_back(static_cast<int64_t>(list.size()));
  }
  out.push_back(1);
  const Shape shape(out);
  op.take(checked_mul(shape.elements(), 4));
  Tensor t = make_tensor(DType::f32, shape);
  for (int64_t i = 0; i < t.elements(); ++i) {
    double all = 1;
    for (size_t axis = w.axes(), at = static_cast<size_t>(i); axis-- > 0; at /= share[axis].size())
      all *= share[axis][at % share[axis].size()];
    t.as<float>()[i] = static_cast<float>(all);
  }
  return op.constant_node(std::move(t));
}

void average_pool(const Op &op) {
  Value &v = op.in(0);
  if (v.dtype != DType::f32) op.refuse("is supported for floats, not for ", v.dtype);
  Window w = window(op, op.integers("kernel_shape").value_or(Ints{}), v.dims);
  const bool with_pads = op.integer("count_include_pad", 0) != 0;
  const Ints more = past_the_end(op, w, v.dims);
  const bool over = std::any_of(more.begin(), more.end(), [](int64_t n) { return n != 0; });
  const bool holes = std::any_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d != 1; });
  if (w.same && (with_pads || holes))
    for (size_t i = 0; i < w.axes(); ++i) {
      const auto total = same_total(w, i, v.dims[i + 2]);
      if (!total) op.refuse("the pads of a free axis are not known");
      w.pads[i] = {*total / 2, *total - *total / 2};
      w.same = false;
    }
  Node x = op.as(v, channels_last(v.rank())), y = x;
  if (w.same && !over) {
    y = op.layer(of_rank("AveragePooling", w.axes()), pool_config(w, true), {x});
  } else {
    Margins pads = w.pads;
    for (size_t i = 0; i < w.axes(); ++i) pads[i][1] += more[i];
    x = padded(op, x, pads);
    if (holes) {
      double places = 1;
      for (int64_t n : w.size) places *= static_cast<double>(n);
      y = by_number(op, "BroadcastMultiply", dilated(op, "BroadcastAdd", x, w), 1 / places);
    } else {
      y = op.layer(of_rank("AveragePooling", w.axes()), pool_config(w, false), {x});
    }
    if (over || (w.padded() && !with_pads))
      y = op.layer("Divide", Json::object(), {y, shares(op, w, v.dims, more, with_pads)});
  }
  op.give(0, y, {v.dims[0]}, channels_last(v.rank()), v.not_negative);
}

void global_pool(const Op &op, const char *kind) {
  Value &v = op.in(0);
  if (v.rank() < 3 || v.rank() > 5) op.refuse("over a value of ", v.rank(), " axes is not supported");
  const std::string name = of_rank(kind, static_cast<size_t>(v.rank() - 2));
  const Node x = op.as(v, channels_last(v.rank()));
  op.give(0, op.layer(name, {{"keepdims", true}}, {x}), v.dims, channels_last(v.rank()), v.not_negative);
}

void lrn(const Op &op) {
  Value &v = op.in(0);
  const int64_t size = op.integer("size", 1);
  if (size % 2 == 0 || size < 1) op.refuse("\"size\" of ", size, " is not supported, only odd ones");
  const double alpha = op.real("alpha", 1e-4);
  const Json config{{"depth_radius", size / 2},
                    {"bias", op.real("bias", 1)},
                    {"alpha", alpha / static_cast<double>(size)},
                    {"beta", op.real("beta", 0.75)}};
  const Perm perm = channels_last(v.rank());
  op.give(0, op.layer("LocalResponseNormalization", config, {op.as(v, perm)}), v.dims, perm);
}

}  // namespace

std::span<const Row> space_rows() {
  static constexpr Row rows[] = {
      {"Conv", conv},
      {"ConvTranspose", conv_transpose},
      {"MaxPool", max_pool},
      {"AveragePool", average_pool},
      {"GlobalAveragePool", [](const Op &op) { global_pool(op, "GlobalAveragePooling"); }},
      {"GlobalMaxPool", [](const Op &op) { global_pool(op, "GlobalMaxPooling"); }},
      {"LRN", lrn},
  };
  return rows;
}

}  // namespace dl4::io::onnx
