// ONNX's pooling, and LRN.
// ONNX's ops that interpolate images: GridSample, AffineGrid, RoiAlign, DeformConv.
#include <cmath>

#include "io/onnx/read/windows.hpp"

namespace dl4::io::onnx {
namespace {

// With "ceil_mode" the last window may start before the end and extend past it: zeros after the pads.
Ints past_the_end(const Op &op, const Window &w, const std::vector<Dim> &dims) {
  Ints more(w.axes(), 0);
  if (!w.ceil || w.same) return more;
  for (size_t i = 0; i < w.axes(); ++i) {
    const int64_t n = dims[i + 2].factor, all = n + w.pads[i][0] + w.pads[i][1], s = w.strides[i];
    if (!dims[i + 2].known()) {
      // Padding of stride - 1 gives as many windows, whatever the size; none starts past the end.
      if (w.pads[i][1] + s > w.reach(i)) op.refuse("\"ceil_mode\" over a free axis, with steps past the window");
      more[i] = s - 1;
      continue;
    }
    int64_t out = ceil_div(all - w.reach(i), s) + 1;
    if ((out - 1) * s >= n + w.pads[i][0]) --out;  // a window that starts in the padding does not count
    more[i] = std::max<int64_t>((out - 1) * s + w.reach(i) - all, 0);
  }
  return more;
}

// The pads that "same" stands for; false: they depend on a free size.
bool say_pads(Window &w, const std::vector<Dim> &dims) {
  for (size_t i = 0; w.same && i < w.axes(); ++i) {
    const auto total = same_total(w, i, dims[i + 2]);
    if (!total) return false;
    w.pads[i] = {*total / 2, *total - *total / 2};
  }
  return true;
}

Json pool_config(const Window &w, bool same) {
  return {{"pool_size", w.size}, {"strides", w.strides}, {"padding", same ? "same" : "valid"}};
}

// A dilated window: joins its positions along each axis, one by one.
Node dilated(const Op &op, const char *join, Node x, const Window &w) {
  for (size_t i = 0; i < w.axes(); ++i) {
    const int64_t n = op.shape(x)[static_cast<int>(i) + 1];
    if (n == free_dim) op.refuse("\"dilations\" over a free axis are not supported");
    const int64_t out = (n - w.reach(i)) / w.strides[i] + 1;
    if (n < w.reach(i) || n > 1 << 20 || w.size[i] > 256)
      op.refuse("has a window of ", w.reach(i), " over ", n, " places");
    if (w.strides[i] % w.dilations[i] == 0) {  // each window reads contiguous ones of the positions that are read
      Ints read, size(w.axes(), 1), strides(w.axes(), 1);
      for (int64_t at = 0; at < n; at += w.dilations[i]) read.push_back(at);
      op.take(checked_mul(static_cast<int64_t>(read.size()), place_bytes));
      if (w.dilations[i] != 1) x = op.layer("Take", {{"indices", read}, {"axis", i + 1}}, {x});
      size[i] = w.size[i], strides[i] = w.strides[i] / w.dilations[i];
      const bool sum = join == std::string_view("BroadcastAdd");
      x = op.layer(of_rank(sum ? "AveragePooling" : "MaxPooling", w.axes()).c_str(),
                   {{"pool_size", size}, {"strides", strides}, {"padding", "valid"}}, {x});
      if (sum) x = by_number(op, "BroadcastMultiply", x, static_cast<double>(w.size[i]));
      continue;
    }
    op.take(checked_mul(out, w.size[i], place_bytes));
    Node all = graph::no_node;
    for (int64_t k = 0; k < w.size[i]; ++k) {
      Ints places;
      for (int64_t o = 0; o < out; ++o) places.push_back(o * w.strides[i] + k * w.dilations[i]);
      const Node y = op.layer("Take", {{"indices", places}, {"axis", i + 1}}, {x});
      all = k == 0 ? y : op.layer(join, {}, {all, y});
    }
    x = all;
  }
  return x;
}

// Image index of position k of each window along axis i; for padding, that of the window's first position inside.
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

// Index of each window's maximum in the flattened value, as in ONNX; the first of equals.
void give_places(const Op &op, Window w, const Ints &more) {
  Value &v = op.in(0);
  if (!std::all_of(v.dims.begin() + 1, v.dims.end(), [](const Dim &d) { return d.known() && d.factor > 0; }))
    op.refuse("\"Indices\" of an image with free axes are not supported; export the model with its size");
  const size_t n = w.axes();
  Ints step(n, 1);  // stride of an axis
  int64_t image = 1;
  const bool columns = op.flag("storage_order");
  for (size_t k = 0; k < n; ++k) {
    const size_t i = columns ? k : n - 1 - k;
    step[i] = image, image = checked_mul(image, v.dims[i + 2].factor);
  }
  say_pads(w, v.dims);
  const auto along = [&](const Ints &list, size_t axis) {
    Ints dims(n + 2, 1);
    dims[axis] = static_cast<int64_t>(list.size());
    return op.constant_node(io::reshaped(tensor_of(list), Shape(dims)));
  };
  const auto compared = [&](const char *kind, Node a, Node b) { return op.layer(kind, {}, {a, b}); };
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
      top = k == 0 ? y : op.layer("Where", {}, {more_than, y, top});
      at = k == 0 ? here : op.layer("Where", {}, {more_than, here, at});
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
  const Type type = v.onnx_type();
  const bool small = type == Type::uint8 || type == Type::int8;  // float32 represents them
  if (v.dtype != DType::f32 && (!small || op.wants(1))) op.refuse("is supported for floats, not for ", type);
  Window w = window(op, op.integers("kernel_shape").value_or(Ints{}), v.dims);
  const Ints more = past_the_end(op, w, v.dims);
  for (size_t i = 0; i < w.axes(); ++i) w.same = w.same && more[i] == 0;
  if (op.wants(1)) give_places(op, w, more);
  const bool holes = std::any_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d != 1; });
  Node x = op.cast(op.as(v, channels_last(v.rank())), DType::f32);
  if (holes && !say_pads(w, v.dims)) op.refuse("\"dilations\" over a free axis are not supported");
  if (!w.same || holes) {
    Margins pads = w.pads;
    for (size_t i = 0; i < w.axes(); ++i) pads[i][1] += more[i];
    x = with_ends(op, x, inner(pads), v.not_negative ? 0 : -static_cast<double>(std::numeric_limits<float>::max()));
  }
  const Node y = holes ? dilated(op, "BroadcastMaximum", x, w)
                       : op.layer(of_rank("MaxPooling", w.axes()).c_str(), pool_config(w, w.same), {x});
  op.give(0, op.cast(y, v.dtype), {v.dims[0]}, channels_last(v.rank()), v.not_negative);
  if (small) op.r.value(op.node.out[0]).type = type;
}

// Number of image positions in each window over the window size, by which the mean over all positions is divided.
// Padding counts on request.
Node shares(const Op &op, const Window &w, const std::vector<Dim> &dims, const Ints &more, bool with_pads) {
  if (!std::all_of(dims.begin() + 2, dims.end(), [](const Dim &d) { return d.known(); })) {
    std::vector<Dim> image{dims.begin() + 1, dims.end()};
    std::rotate(image.begin(), image.begin() + 1, image.end());
    image.insert(image.begin(), Dim{});
    image.back() = Dim{};
    Node ones = by_number(op, "BroadcastAdd", op.cast(op.zeros(image), DType::f32), 1);
    ones = with_pads ? with_ends(op, ones, inner(w.pads), 1) : padded(op, ones, w.pads);
    Margins behind;
    for (int64_t n : more) behind.push_back({0, n});
    return op.layer(of_rank("AveragePooling", w.axes()).c_str(), pool_config(w, false), {padded(op, ones, behind)});
  }
  Ints out{1};
  std::vector<std::vector<double>> share;
  for (size_t i = 0; i < w.axes(); ++i) {
    const int64_t n = dims[i + 2].factor, all = n + w.pads[i][0] + w.pads[i][1];
    const int64_t low = with_pads ? 0 : w.pads[i][0], high = with_pads ? all : w.pads[i][0] + n;
    if (all > 1 << 15) op.refuse("of ", all, " places is not supported");
    std::vector<double> &list = share.emplace_back();
    for (int64_t at = 0; at + w.reach(i) <= all + more[i]; at += w.strides[i]) {
      const auto before = [&](int64_t end) {  // positions of the window before this end
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
  Window w = window(op, op.integers("kernel_shape").value_or(Ints{}), v.dims);
  const bool with_pads = op.flag("count_include_pad");
  const Ints more = past_the_end(op, w, v.dims);
  const bool over = std::any_of(more.begin(), more.end(), [](int64_t n) { return n != 0; });
  const bool holes = std::any_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d != 1; });
  if (with_pads || holes) {
    if (!say_pads(w, v.dims)) op.refuse("the pads of a free axis are not known");
    w.same = false;
  }
  Node x = op.as(v, channels_last(v.rank())), y = x;
  if (w.same && !over) {
    y = op.layer(of_rank("AveragePooling", w.axes()).c_str(), pool_config(w, true), {x});
  } else {
    Margins pads = w.pads;
    for (size_t i = 0; i < w.axes(); ++i) pads[i][1] += more[i];
    x = padded(op, x, pads);
    if (holes) {
      double places = 1;
      for (int64_t n : w.size) places *= static_cast<double>(n);
      y = by_number(op, "BroadcastMultiply", dilated(op, "BroadcastAdd", x, w), 1 / places);
    } else {
      y = op.layer(of_rank("AveragePooling", w.axes()).c_str(), pool_config(w, false), {x});
    }
    if (over || (w.padded() && !with_pads)) y = op.layer("Divide", {}, {y, shares(op, w, v.dims, more, with_pads)});
  }
  op.give(0, y, {v.dims[0]}, channels_last(v.rank()), v.not_negative);
}

// The root of the sum of powers.
void lp_pool(const Op &op) {
  Value &v = op.in(0);
  Window w = window(op, op.integers("kernel_shape").value_or(Ints{}), v.dims);
  const double said = op.opset() < 2 ? op.real("p") : static_cast<double>(op.integer("p"));
  if (!(said >= 1 && said <= 64) || said != std::floor(said)) op.refuse("has \"p\" of ", said);
  const auto p = static_cast<int64_t>(said);
  const Ints more = past_the_end(op, w, v.dims);
  if (!say_pads(w, v.dims)) op.refuse("the pads of a free axis are not known");
  for (size_t i = 0; i < w.axes(); ++i) w.pads[i][1] += more[i];
  const Perm perm = channels_last(v.rank());
  Node x = op.layer("Absolute", {}, {op.as(v, perm)});
  if (p > 1) x = p == 2 ? op.layer("Square", {}, {x}) : by_number(op, "Power", x, static_cast<double>(p));
  x = padded(op, x, w.pads);
  if (std::any_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d != 1; })) {
    x = dilated(op, "BroadcastAdd", x, w);
  } else {
    double places = 1;
    for (int64_t n : w.size) places *= static_cast<double>(n);
    x = by_number(op, "BroadcastMultiply",
                  op.layer(of_rank("AveragePooling", w.axes()).c_str(), pool_config(w, false), {x}), places);
  }
  if (p > 1) x = p == 2 ? op.layer("Sqrt", {}, {x}) : by_number(op, "Power", x, 1 / static_cast<double>(p));
  op.give(0, x, {v.dims[0]}, perm, true);
}

void global_pool(const Op &op, const char *kind) {
  Value &v = op.in(0);
  if (v.rank() < 3 || v.rank() > 5) op.refuse("over a value of ", v.rank(), " axes is not supported");
  const std::string name = of_rank(kind, static_cast<size_t>(v.rank() - 2));
  const Node x = op.as(v, channels_last(v.rank()));
  op.give(0, op.layer(name.c_str(), {{"keepdims", true}}, {x}), v.dims, channels_last(v.rank()), v.not_negative);
}

void lrn(const Op &op) {
  Value &v = op.in(0);
  const int64_t size = op.integer("size");
  if (size % 2 == 0 || size < 1) op.refuse("\"size\" of ", size, " is not supported, only odd ones");
  const double alpha = op.real("alpha");
  const Json config{{"depth_radius", size / 2},
                    {"bias", op.real("bias")},
                    {"alpha", alpha / static_cast<double>(size)},
                    {"beta", op.real("beta")}};
  const Perm perm = channels_last(v.rank());
  op.give(0, op.layer("LocalResponseNormalization", config, {op.as(v, perm)}), v.dims, perm);
}

void grid_sample(const Op &op) {
  Value &v = op.in(0), &grid = op.in(1);
  if (v.rank() < 3 || v.rank() > 5 || grid.rank() != v.rank())
    op.refuse("of an image of ", v.rank(), " axes and a grid of ", grid.rank(), " is not supported");
  std::string mode = op.string("mode");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  if (mode == "cubic" && v.rank() != 4) op.refuse("\"mode\" cubic of ", v.rank() - 2, " axes is not supported");
  const Json config{
      {"interpolation", mode}, {"padding", op.string("padding_mode")}, {"align_corners", op.flag("align_corners")}};
  std::vector<Dim> dims{v.dims[0], v.dims[1]};
  dims.insert(dims.end(), grid.dims.begin() + 1, grid.dims.end() - 1);
  const Perm perm = channels_last(v.rank());
  op.give(0, op.layer("GridSample", config, {op.as(v, perm), op.x(1)}), dims, perm);
}

// Coordinates from -1 to 1 of n positions: their centres, or with corners aligned.
double place(int64_t i, int64_t n, bool corners) {
  if (corners) return n == 1 ? 0 : 2 * static_cast<double>(i) / static_cast<double>(n - 1) - 1;
  return (2 * static_cast<double>(i) + 1) / static_cast<double>(n) - 1;
}

void affine_grid(const Op &op) {
  const auto size = op.sizes(1);
  const Value &theta = op.in(0);
  if (!size) op.refuse("its input \"size\" is computed by the model; it must be a constant or sizes");
  if ((size->size() != 4 && size->size() != 5) || theta.rank() != 3)
    fail(Code::corrupt_file, "expects matrices and a size of 4 or 5 axes");
  const auto axes = static_cast<int64_t>(size->size()) - 2;
  const bool corners = op.flag("align_corners");
  Ints image;
  for (size_t i = 2; i < size->size(); ++i) image.push_back(known(op, (*size)[i], "a size"));
  int64_t places = 1;
  for (int64_t n : image) {
    if (n < 1 || n > max_dim) fail(Code::corrupt_file, "has a size of ", n);
    places = checked_mul(places, n);
  }
  op.take(checked_mul(places, axes + 1, 4));
  Tensor t = make_tensor(DType::f32, {axes + 1, places});  // the last axis first, and ones
  for (int64_t p = 0; p < places; ++p) {
    int64_t rest = p;
    for (int64_t k = 0; k < axes; ++k) {
      const int64_t n = image[static_cast<size_t>(axes - 1 - k)];
      t.as<float>()[k * places + p] = static_cast<float>(place(rest % n, n, corners));
      rest /= n;
    }
    t.as<float>()[axes * places + p] = 1;
  }
  const Node grid = op.layer("MatMul", {}, {op.x(0), op.constant_node(std::move(t))});
  Ints target = image;
  target.push_back(axes);
  const Node turned = op.layer("Transpose", {{"perm", {0, 2, 1}}}, {grid});
  op.give(0, op.layer("Reshape", {{"target_shape", target}}, {turned}), {theta.dims[0]});
}

void roi_align(const Op &op) {
  Value &v = op.in(0);
  const Value &boxes = op.in(1);
  if (v.rank() != 4 || boxes.rank() != 2) fail(Code::corrupt_file, "expects an image of four axes, and boxes of two");
  const int64_t samples = op.integer("sampling_ratio");
  if (samples < 1)
    op.refuse("\"sampling_ratio\" of ", samples, " is not supported: how many places are taken would depend on the ",
              "boxes; export it with a number");
  const bool aligned = op.opset() >= 16 && op.string("coordinate_transformation_mode") == "half_pixel";
  const int64_t height = op.integer("output_height"), width = op.integer("output_width");
  const Json config{{"height", height},          {"width", width},
                    {"sampling_ratio", samples}, {"spatial_scale", op.real("spatial_scale")},
                    {"aligned", aligned},        {"mode", op.string("mode")}};
  const Perm perm = channels_last(4);
  op.give(0, op.layer("RoiAlign", config, {op.as(v, perm), op.x(1), op.x(2)}),
          {boxes.dims[0], v.dims[1], {height, {}}, {width, {}}}, perm);
}

// ---- DeformConv ----------------------------------------------------------------------------------------------------

Ints integers_of(const Op &op, const char *name, size_t n, int64_t otherwise) {
  Ints list = op.integers(name).value_or(Ints(n, otherwise));
  if (list.size() != n) fail(Code::corrupt_file, "has ", list.size(), " numbers as \"", name, '"');
  for (int64_t v : list)
    if (v < otherwise || v > 1 << 16) op.refuse("has \"", name, "\" of ", v);
  return list;
}

// Channels [at, at + n) of x, which is channels-last.
Node channels(const Op &op, Node x, int64_t at, int64_t n) { return op.cut(x, op.shape(x).rank() - 1, at, n); }

// Samples each window's positions side by side with a GridSample, then convolves with a stride of the window's size.
void deform_conv(const Op &op) {
  Value &v = op.in(0), &offset = op.in(2);
  const Tensor w = op.floats(1, "kernel");
  need_kernel(op, w);
  if (v.rank() != 4 || w.shape.rank() != 4 || offset.rank() != 4)
    op.refuse("of ", v.rank() - 2, " axes is not supported, only of two");
  const int64_t kh = w.shape[2], kw = w.shape[3], k = checked_mul(kh, kw), groups = op.integer("offset_group");
  const Ints strides = integers_of(op, "strides", 2, 1), dilations = integers_of(op, "dilations", 2, 1),
             pads = integers_of(op, "pads", 4, 0);
  for (size_t i = 1; i < 4; ++i)
    if (!v.dims[i].known() || !offset.dims[i].known()) op.refuse("of an image with free axes is not supported");
  const int64_t c = v.dims[1].factor, h = offset.dims[2].factor, width = offset.dims[3].factor;
  const int64_t image[] = {v.dims[2].factor, v.dims[3].factor};
  if (groups < 1 || c % groups != 0 || offset.dims[1].factor != checked_mul(2, groups, k) || k < 1 || image[0] < 1 ||
      image[1] < 1)
    fail(Code::corrupt_file, "has offsets of ", offset.dims[1].factor, " channels for ", groups, " groups of ", k);
  if (op.has(4) && op.in(4).rank() != 4) fail(Code::corrupt_file, "has a mask of ", op.in(4).rank(), " axes");
  const Node x = op.as(v, channels_last(4)), moved = op.as(offset, channels_last(4));  // (B, OH, OW, groups k 2)
  // Positions of the windows without offsets, relative to the image's centre, in half sizes: (OH, OW k, 2), x first.
  op.take(checked_mul(h, width, k, 16));
  Tensor at = make_tensor(DType::f32, {h, checked_mul(width, k), 2}), by = make_tensor(DType::f32, {2});
  for (int64_t i = 0; i < h; ++i)
    for (int64_t j = 0; j < width * k; ++j) {
      const int64_t cell = j % k;
      const int64_t place[] = {i * strides[0] - pads[0] + cell / kw * dilations[0],
                               j / k * strides[1] - pads[1] + cell % kw * dilations[1]};
      for (int64_t a = 0; a < 2; ++a)
        at.as<float>()[(i * width * k + j) * 2 + a] =
            static_cast<float>((2 * static_cast<double>(place[1 - a]) + 1) / static_cast<double>(image[1 - a]) - 1);
    }
  for (int64_t a = 0; a < 2; ++a) by.as<float>()[a] = static_cast<float>(2 / static_cast<double>(image[1 - a]));
  const Node grid = op.constant_node(std::move(at)), scale = op.constant_node(std::move(by));
  std::vector<Node> parts;
  for (int64_t g = 0; g < groups; ++g) {
    const Ints pairs{h, checked_mul(width, k), 2};
    Node shift = groups == 1 ? moved : channels(op, moved, g * k * 2, k * 2);
    shift = op.layer("Flip", {{"axis", 3}}, {op.layer("Reshape", {{"target_shape", pairs}}, {shift})});
    const Node places = plus(op, times(op, shift, scale), grid);
    const Node from = groups == 1 ? x : channels(op, x, g * (c / groups), c / groups);
    Node y = op.layer("GridSample", {}, {from, places});
    if (op.has(4)) {
      const Node mask = op.as(4, channels_last(4)), part = groups == 1 ? mask : channels(op, mask, g * k, k);
      y = times(op, y, op.layer("Reshape", {{"target_shape", Ints{h, width * k, 1}}}, {part}));
    }
    parts.push_back(y);
  }
  const Node all = groups == 1 ? parts[0] : op.layer("Concatenate", {{"axis", 3}}, parts);
  Weights weights{{"kernel", transposed(reshaped(w, {w.shape[0], w.shape[1], 1, k}), {2, 3, 1, 0})}};
  if (op.has(3)) weights.emplace_back("bias", op.floats(3, "bias"));
  const Json config{{"filters", w.shape[0]},
                    {"kernel_size", Ints{1, k}},
                    {"strides", Ints{1, k}},
                    {"groups", op.integer("group")},
                    {"use_bias", op.has(3)}};
  op.give(0, op.weighted("Conv2D", config, {all}, weights), {v.dims[0]}, channels_last(4));
}

}  // namespace

constexpr Row pool_table[] = {
    {"MaxPool", max_pool,
     "X > Y=X Indices?@8; auto_pad=NOTSET|SAME_UPPER|SAME_LOWER|VALID ceil_mode@10=0|1 "
     "dilations@10:ints kernel_shape:ints! pads:ints storage_order@8=0|1 strides:ints"},
    {"AveragePool", average_pool,
     "X~ > Y; auto_pad=NOTSET|SAME_UPPER|SAME_LOWER|VALID ceil_mode@10=0|1 count_include_pad@7=0|1 "
     "dilations@19:ints kernel_shape:ints! pads:ints strides:ints"},
    {"LpPool", lp_pool,
     "X~ > Y; auto_pad=NOTSET|SAME_UPPER|SAME_LOWER|VALID ceil_mode@18=0|1 dilations@18:ints "
     "kernel_shape@-1:ints kernel_shape@2:ints! p@-1=2.0 p@2=2 pads:ints strides:ints"},
    {"GlobalAveragePool", [](const Op &op) { global_pool(op, "GlobalAveragePooling"); }, "X > Y"},
    {"GlobalMaxPool", [](const Op &op) { global_pool(op, "GlobalMaxPooling"); }, "X > Y"},
    {"LRN", lrn, "X > Y; alpha=0.0001 beta=0.75 bias=1.0 size:int!"},
    {"GridSample", grid_sample,
     "X~ grid~ > Y; align_corners=0|1 mode@-19=bilinear|nearest|bicubic mode@20=linear|nearest|cubic "
     "padding_mode=zeros|border|reflection"},
    {"AffineGrid", affine_grid, "theta~ size > grid; align_corners=0|1"},
    {"RoiAlign", roi_align,
     "X~ rois~ batch_indices > Y; coordinate_transformation_mode@16=half_pixel|output_half_pixel "
     "mode=avg| output_height=1 output_width=1 sampling_ratio=0 spatial_scale=1.0"},
    {"DeformConv", deform_conv,
     "X~ W~ offset~ B~? mask~? > Y; dilations:ints group=1 kernel_shape:ints offset_group=1 pads:ints "
     "strides:ints",
     slow},
};
const std::span<const Row> pool_rows = pool_table;

}  // namespace dl4::io::onnx
