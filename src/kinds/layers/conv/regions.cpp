// ZeroPadding1D-3D, Cropping1D-3D.
// Samples and regions of images, and boxes that overlap.
#include "kinds/layers/conv/sampling.hpp"

namespace dl4::kinds {
namespace {

template <size_t N>
using Margins = std::array<std::array<int64_t, 2>, N>;  // before and after

template <size_t N>
constexpr PlainFacts spatial{.inputs = {{"x", by_axes<N>("(B, T, C)", "(B, H, W, C)", "(B, D, H, W, C)")}},
                             .outputs = {{"y", by_axes<N>("(B, OT, C)", "(B, OH, OW, C)", "(B, OD, OH, OW, C)")}}};

template <size_t N>
struct ZeroPadding final : LayerOf<ZeroPadding<N>> {
  static constexpr const char *name = by_axes<N>("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D");
  static constexpr const char *doc =
      by_axes<N>("Zeros before and after a sequence.", "Zeros around an image.", "Zeros around a volume.");
  Margins<N> padding;
  DataFormat data_format;

  ZeroPadding() { padding.fill({1, 1}); }
  void fields(Fields &f) override {
    f("padding", padding,
      N == 1 ? "zeros before and after: one number for both, or two"
             : "zeros before and after along each axis: one number for all, one each, or a pair each")
        .within(0, max_dim);
    data_format.fields(f);
  }
  static constexpr PlainFacts plain = spatial<N>;

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(N) + 2);
    ops::Id y = c.x();
    for (size_t i = 0; i < N; ++i)
      y = ops::pad(c.e, y, data_format.space(static_cast<int>(i)), padding[i][0], padding[i][1]);
    return {{y}};
  }
};

template <size_t N>
struct Cropping final : LayerOf<Cropping<N>> {
  static constexpr const char *name = by_axes<N>("Cropping1D", "Cropping2D", "Cropping3D");
  static constexpr const char *doc = by_axes<N>("A sequence without its first and last places.",
                                                "An image without its margins.", "A volume without its margins.");
  Margins<N> cropping;
  DataFormat data_format;

  Cropping() { cropping.fill(N == 2 ? std::array<int64_t, 2>{0, 0} : std::array<int64_t, 2>{1, 1}); }
  void fields(Fields &f) override {
    f("cropping", cropping,
      N == 1 ? "places cut off before and after: one number for both, or two"
             : "places cut off before and after along each axis: one number for all, one each, or a pair each")
        .within(0, max_dim);
    if (N > 1) data_format.fields(f);
  }
  static constexpr PlainFacts plain = spatial<N>;

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(N) + 2);
    ops::Id y = c.x();
    for (size_t i = 0; i < N; ++i) {
      auto [before, after] = cropping[i];
      const int axis = data_format.space(static_cast<int>(i));
      const int64_t n = c.shape()[axis];
      if (n != free_dim && before + after >= n)
        fail(Code::shape_mismatch, "\"cropping\" should be smaller than the axis it is cut off, got ", before, " and ",
             after, " for axis ", axis, " of ", c.shape());
      y = ops::pad(c.e, y, axis, -before, -after);
    }
    return {{y}};
  }
};

}  // namespace
DL4_KINDS(padding, ZeroPadding<1>, ZeroPadding<2>, ZeroPadding<3>, Cropping<1>, Cropping<2>, Cropping<3>)

namespace {

using ops::Binary;
using ops::Emit;
using ops::Id;
using ops::Unary;

// Reflects x at `low` and `high` into that interval.
Id reflected(Emit &e, Id x, double low, double high) {
  if (high <= low) return ops::scale_shift(e, x, 0, low);
  const double reach = high - low;
  const Id along = ops::binary(e, Binary::mod, ops::scale_shift(e, x, 1, -low), e.scalar(2 * reach));
  return ops::scale_shift(e, ops::binary(e, Binary::min, along, ops::scale_shift(e, along, -1, 2 * reach)), 1, low);
}

// Keys's cubic convolution with a = -0.75: weights of four positions for fraction t after the second.
std::vector<Id> cubic(Emit &e, Id t) {
  constexpr double a = -0.75;
  const auto polynomial = [&](Id x, double c3, double c2, double c1, double c0) {
    Id y = ops::scale_shift(e, x, c3, c2);
    y = ops::scale_shift(e, ops::mul(e, y, x), 1, c1);
    return ops::scale_shift(e, ops::mul(e, y, x), 1, c0);
  };
  const auto near = [&](Id d) { return polynomial(d, a + 2, -(a + 3), 0, 1); };
  const auto far = [&](Id d) { return polynomial(d, a, -5 * a, 8 * a, -4 * a); };
  const Id rest = ops::scale_shift(e, t, -1, 1);
  return {far(ops::scale_shift(e, t, 1, 1)), near(t), near(rest), far(ops::scale_shift(e, rest, 1, 1))};
}

}  // namespace

std::vector<Tap> taps(Emit &e, Id x, int64_t n, Between between, Outside outside, bool edges) {
  const auto last = static_cast<double>(n - 1);
  const double low = edges ? -0.5 : 0, high = edges ? last + 0.5 : last;
  if (between == Between::nearest) x = ops::unary(e, Unary::round, x);
  if (between == Between::nearest_up) x = ops::unary(e, Unary::floor, ops::scale_shift(e, x, 1, 0.5));
  if (outside == Outside::reflection)
    x = reflected(e, x, low, high);
  else if (outside == Outside::wrap)
    x = ops::binary(e, Binary::mod, x, e.scalar(static_cast<double>(n)));
  else if (outside == Outside::border && between != Between::cubic)
    x = ops::clip(e, x, 0, last);
  else  // infinities have no fraction
    x = ops::clip(e, x, -3, last + 3);
  const auto tap = [&](Id place, Id weight) -> Tap {
    if (outside == Outside::reflection && between == Between::cubic) place = reflected(e, place, low, high);
    if (outside == Outside::wrap) place = ops::binary(e, Binary::mod, place, e.scalar(static_cast<double>(n)));
    const Id near = ops::clip(e, place, 0, last);
    if (outside != Outside::zeros) return {near, weight};
    const Id inside = ops::binary(e, Binary::equal, place, near);
    return {near, ops::select(e, inside, weight == ops::none ? e.scalar(1) : weight, e.scalar(0))};
  };
  if (between == Between::nearest || between == Between::nearest_up) return {tap(x, ops::none)};
  const Id floor = ops::stop_gradient(e, ops::unary(e, Unary::floor, x)), t = ops::sub(e, x, floor);
  if (between == Between::linear)
    return {tap(floor, ops::scale_shift(e, t, -1, 1)), tap(ops::scale_shift(e, floor, 1, 1), t)};
  const std::vector<Id> weights = cubic(e, t);
  std::vector<Tap> all;
  for (size_t i = 0; i < weights.size(); ++i)
    all.push_back(tap(ops::scale_shift(e, floor, 1, static_cast<double>(i) - 1), weights[i]));
  return all;
}

Id sampled(Emit &e, Id x, Id item, const std::vector<std::vector<Tap>> &axes) {
  const Shape s = e.shape(x);
  const auto rank = static_cast<int>(axes.size());
  for (int i = 1; i <= rank + 1; ++i)
    if (s[i] == free_dim) fail(Code::shape_mismatch, "all axes but the first should be known, got ", s);
  const Id table = ops::reshape(e, x, 0, {free_dim, s.last()});
  struct Corner {
    Id place, weight;
  };
  std::vector<Corner> corners{{item, ops::none}};
  for (int axis = 0; axis < rank; ++axis) {
    std::vector<Corner> next;
    for (const Corner &c : corners) {
      const Id before = ops::mul(e, c.place, e.scalar(static_cast<double>(s[axis + 1]), DType::i64));
      for (const Tap &tap : axes[static_cast<size_t>(axis)]) {
        const Id weight = c.weight == ops::none     ? tap.weight
                          : tap.weight == ops::none ? c.weight
                                                    : ops::mul(e, c.weight, tap.weight);
        next.push_back({ops::add(e, before, ops::cast(e, tap.place, DType::i64)), weight});
      }
    }
    corners = std::move(next);
  }
  Id y = ops::none;
  for (const Corner &c : corners) {
    Id value = ops::gather(e, table, c.place);
    if (c.weight != ops::none) value = ops::mul(e, value, ops::expand_dims(e, c.weight, -1));
    y = y == ops::none ? value : ops::add(e, y, value);
  }
  return y;
}

namespace {

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
