// ONNX's ops that interpolate images: GridSample, AffineGrid, RoiAlign, DeformConv.
#include <algorithm>

#include "base/error.hpp"
#include "io/onnx/read/math.hpp"
#include "io/onnx/read/windows.hpp"

namespace dl4::io::onnx {
namespace {

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

constexpr Row sampled_table[] = {
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
const std::span<const Row> sampled_rows = sampled_table;

}  // namespace dl4::io::onnx
