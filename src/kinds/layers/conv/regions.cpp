// Samples and regions of images, and boxes that overlap.
#include "base/error.hpp"
#include "kinds/layer.hpp"
#include "kinds/layers/conv/sampling.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Id;

struct GridSample final : LayerOf<GridSample> {
  static constexpr const char *doc =
      "Samples an image at the positions that the second input gives: ONNX's GridSample, PyTorch's grid_sample. A "
      "position has a number from -1 to 1 for each axis of the image, the last axis first.";
  Between interpolation = Between::linear;
  Outside padding = Outside::zeros;
  bool align_corners = false;

  void fields(Fields &f) override {
    f("interpolation", interpolation, {"nearest", "linear", "cubic"},
      "how values between pixels are computed; nearest rounds ties to even");
    f("padding", padding, {"zeros", "border", "reflection"},
      "what lies outside of the image: zeros, the value at its border, or its reflection");
    f("align_corners", align_corners,
      "whether -1 and 1 are the centres of the first and last pixel; else they are the image's edges");
  }
  Arity arity() const override { return {2, 2}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, H, W, C), or with one axis or three for H W"},
                                               {"grid", "(B, ..., 2), a number for each of the axes H W of x"}},
                                    .outputs = {{"y", "(B, ..., C)"}}};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 3);
    c.need_rank_from(1, 2);
    c.need_float(0);
    c.need_float(1);
    const Shape s = c.shape(0), g = c.shape(1);
    const int axes = s.rank() - 2;
    if (axes > 3) fail(Code::shape_mismatch, "input 0: expected an image of one to three axes, got ", s);
    if (g.last() != axes) fail(Code::shape_mismatch, "input 1: expected ", axes, " numbers for each place, got ", g);
    if (s[0] != g[0] && s[0] != free_dim && g[0] != free_dim)
      fail(Code::shape_mismatch, "input 1: expected a batch of ", s[0], " as the image's, got ", g);
    std::vector<std::vector<Tap>> all;
    for (int i = 0; i < axes; ++i) {
      const int64_t n = s[i + 1];
      if (n == free_dim || n < 1) fail(Code::shape_mismatch, "input 0: axis ", i + 1, " should be known, got ", s);
      const Id at = ops::squeeze(c.e, ops::slice(c.e, c.x(1), -1, axes - 1 - i, 1), -1);
      const double size = static_cast<double>(n), reach = align_corners ? size - 1 : size;
      const Id x = ops::scale_shift(c.e, at, reach / 2, (size - 1) / 2);
      all.push_back(taps(c.e, x, n, interpolation, padding, !align_corners));
    }
    Id item = ops::indices(c.e, c.x(1), 0);
    for (int i = 1; i < g.rank() - 1; ++i) item = ops::expand_dims(c.e, item, -1);
    return {{sampled(c.e, c.x(), item, all)}};
  }
};

struct RoiAlign final : LayerOf<RoiAlign> {
  static constexpr const char *doc =
      "Crops boxes of images to one size: each cell of a box is the mean or the maximum of samples in it. ONNX's "
      "RoiAlign, torchvision's roi_align.";
  int64_t height = 0, width = 0, sampling_ratio = 0;
  double spatial_scale = 1;
  bool aligned = true;
  enum class Mode { average, maximum } mode = Mode::average;

  void fields(Fields &f) override {
    f("height", height, "rows of the output").required("2").within(1, 1 << 12);
    f("width", width, "columns of the output").required("2").within(1, 1 << 12);
    f("sampling_ratio", sampling_ratio, "samples along each axis of a cell, by linear interpolation")
        .required("2")
        .within(1, 64);
    f("spatial_scale", spatial_scale, "factor of the coordinates of boxes");
    f("aligned", aligned,
      "whether the centre of pixel 0 is at 0.5; else it is at 0, and a box is at least one pixel large");
    f("mode", mode, {"avg", "max"}, "whether a cell is the mean or the maximum of its samples");
  }
  Arity arity() const override { return {3, 3}; }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, H, W, C)"},
                                               {"boxes", "(N, 4): left, top, right, bottom"},
                                               {"images", "(N), integers: which of B"}},
                                    .outputs = {{"y", "(N, height, width, C)"}}};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 4);
    c.need_rank(1, 2);
    c.need_rank(2, 1);
    c.need_float(0);
    c.need_float(1);
    const Shape s = c.shape();
    if (c.shape(1)[1] != 4) fail(Code::shape_mismatch, "input 1: expected boxes (N, 4), got ", c.shape(1));
    const DType type = c.e.dtype(c.x(2));
    if (type != DType::i32 && type != DType::i64 && type != DType::u8)
      fail(Code::invalid_argument, "input 2: expected integers, found dtype=", type);
    if (s[1] == free_dim || s[2] == free_dim)
      fail(Code::shape_mismatch, "input 0: all axes but the first should be known, got ", s);
    // Positions along one axis, (N, rows, 1, samples, 1), and the other, (N, 1, columns, 1, samples).
    std::vector<std::vector<Tap>> axes;
    std::vector<Id> seen;
    for (int axis = 0; axis < 2; ++axis) {
      const Id x = places(c, axis);
      const auto n = static_cast<double>(s[axis + 1]);
      const Id above = ops::binary(c.e, Binary::greater_equal, x, c.e.scalar(-1)),
               below = ops::binary(c.e, Binary::less_equal, x, c.e.scalar(n));
      seen.push_back(ops::binary(c.e, Binary::logical_and, above, below));
      axes.push_back(taps(c.e, x, s[axis + 1], Between::linear, Outside::border, false));
    }
    Id item = ops::cast(c.e, c.x(2), DType::i64);
    for (int i = 0; i < 4; ++i) item = ops::expand_dims(c.e, item, -1);
    Id y = sampled(c.e, c.x(), item, axes);
    const Id inside = ops::binary(c.e, Binary::logical_and, seen[0], seen[1]);
    y = ops::select(c.e, ops::expand_dims(c.e, inside, -1), y, c.e.scalar(0));
    return {{ops::reduce(c.e, mode == Mode::average ? ops::Reduce::mean : ops::Reduce::max, y, {3, 4})}};
  }

 private:
  Id places(Call &c, int axis) const {
    ops::Emit &e = c.e;
    const int64_t cells = axis == 0 ? height : width;
    const auto edge = [&](int at) {
      Id v = ops::slice(e, c.x(1), 1, at, 1);
      for (int i = 0; i < 3; ++i) v = ops::expand_dims(e, v, -1);
      return ops::scale_shift(e, v, spatial_scale, aligned ? -0.5 : 0);
    };
    const Id begin = edge(axis == 0 ? 1 : 0), end = edge(axis == 0 ? 3 : 2);
    Id reach = ops::sub(e, end, begin);
    if (!aligned) reach = ops::binary(e, Binary::max, reach, e.scalar(1));
    // Fractions of the box: centres of equal parts.
    Shape shape{1, 1, 1, 1, 1};
    shape = shape.with(axis + 1, cells).with(axis + 3, sampling_ratio);
    Tensor t = make_tensor(DType::f32, shape);
    for (int64_t i = 0; i < t.elements(); ++i)
      t.as<float>()[i] = static_cast<float>((static_cast<double>(i) + 0.5) / static_cast<double>(t.elements()));
    return ops::add(e, begin, ops::mul(e, reach, e.constant(std::move(t))));
  }
};

struct NonMaxSuppression final : LayerOf<NonMaxSuppression> {
  static constexpr const char *doc =
      "Of each class the boxes of the largest scores that overlap no better one: ONNX's NonMaxSuppression. How many "
      "there "
      "are is known once a run has computed it (see Range).";
  int64_t max_output_boxes_per_class = 0;
  double iou_threshold = 0;
  std::optional<double> score_threshold;
  bool center_point_box = false;

  void fields(Fields &f) override {
    f("max_output_boxes_per_class", max_output_boxes_per_class, "at most so many of each class")
        .required("2")
        .within(0, max_dim);
    f("iou_threshold", iou_threshold,
      "of two boxes with a larger intersection over union the one of the smaller score goes")
        .within(0, 1);
    f("score_threshold", score_threshold, "boxes of this score or less are left out; null: none");
    f("center_point_box", center_point_box,
      "whether boxes are (x_center, y_center, width, height), not two corners (y1, x1, y2, x2)");
  }
  Arity arity() const override { return {2, 2}; }
  static constexpr PlainFacts plain{.inputs = {{"boxes", "(B, N, 4)"}, {"scores", "(B, C, N)"}},
                                    .outputs = {{"y", "(n, 3) int64: which of B, of C and of N"}}};

  std::vector<Symbol> call(Call &c) const override {
    ops::Suppression how{max_output_boxes_per_class, static_cast<float>(iou_threshold), {}, center_point_box};
    if (score_threshold) how.least = static_cast<float>(*score_threshold);
    const ops::Chosen all = ops::non_max_suppression(c.e, c.x(0), c.x(1), how);
    return {{ops::gather(c.e, all.places, ops::range(c.e, all.count))}};
  }
};

}  // namespace
DL4_KINDS(regions, GridSample, RoiAlign, NonMaxSuppression)
}  // namespace dl4::kinds
