// GridSample: samples an image at positions given by another input.
#include "base/error.hpp"
#include "kinds/layers/conv/sampling.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct GridSample final : LayerOf<GridSample> {
  static constexpr const char *name = "GridSample";
  static constexpr const char *doc =
      "Samples an image at the positions that the second input gives: ONNX's GridSample, PyTorch's grid_sample. A "
      "position has a number from -1 to 1 for each axis of the image, the last axis first.";
  Between interpolation = Between::linear;
  Outside padding = Outside::zeros;
  bool align_corners = false;

  void fields(Fields &f) override {
    f("interpolation", interpolation, {"nearest", "linear", "cubic"})
        .doc("how values between pixels are computed; nearest rounds ties to even");
    f("padding", padding, {"zeros", "border", "reflection"})
        .doc("what lies outside of the image: zeros, the value at its border, or its reflection");
    f("align_corners", align_corners)
        .doc("whether -1 and 1 are the centres of the first and last pixel; else they are the image's edges");
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
      const Id x = ops::unary(c.e, ops::Unary::scale_shift, at,
                              {static_cast<float>(reach / 2), static_cast<float>((size - 1) / 2), 0});
      all.push_back(taps(c.e, x, n, interpolation, padding, !align_corners));
    }
    Id item = ops::indices(c.e, c.x(1), 0);
    for (int i = 1; i < g.rank() - 1; ++i) item = ops::expand_dims(c.e, item, -1);
    return {{sampled(c.e, c.x(), item, all)}};
  }
};

}  // namespace
DL4_KIND(GridSample)
}  // namespace dl4::kinds
