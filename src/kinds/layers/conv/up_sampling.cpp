// UpSampling1D-3D, RepeatVector.
#include "base/error.hpp"
#include "kinds/layers/conv/resize.hpp"

namespace dl4::kinds {
namespace {

struct UpSampling1D final : LayerOf<UpSampling1D> {
  static constexpr const char *doc = "Each step of a sequence several times.";
  int64_t size = 2;

  void fields(Fields &f) override { f("size", size).at_least(1).at_most(max_dim).doc("how often each step stands"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, T, C)"}}, .outputs = {{"y", "(B, T * size, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 3);
    return {{ops::repeat(c.e, c.x(), 1, size)}};
  }
};

struct UpSampling2D final : LayerOf<UpSampling2D> {
  static constexpr const char *doc = "Larger images: rows and columns repeated, or blended between neighbours.";
  std::array<int64_t, 2> size{2, 2};
  DataFormat data_format;
  Interpolation interpolation = Interpolation::nearest;

  void fields(Fields &f) override {
    f("size", size).at_least(1).at_most(max_dim).doc("how often each row and each column stands");
    data_format.fields(f);
    f("interpolation", interpolation, {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"})
        .doc(
            "\"nearest\": copies; \"bilinear\": blended by the distance to the centres of the two nearest pixels; the "
            "others: of 4, 6 and 10 pixels along each axis, whose number must be known");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, H, W, C)"}},
                                    .outputs = {{"y", "(B, H * size, W * size, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 4);
    const bool linear = interpolation == Interpolation::bilinear;
    const DType from = c.e.dtype(c.x());
    if (interpolation > Interpolation::bilinear) return kernelled(c);
    if (linear && (from == DType::boolean || from == DType::f64)) c.need_float(0);
    ops::Id y = linear ? ops::cast(c.e, c.x(), DType::f32) : c.x();
    for (int i = 0; i < 2; ++i) y = ops::repeat(c.e, y, data_format.space(i), size[static_cast<size_t>(i)], linear);
    // Integers stay integers, rounding halves to even.
    if (c.e.dtype(y) != from) y = ops::cast(c.e, unary(c.e, ops::Unary::round, y), from);
    return {{y}};
  }

 private:
  std::vector<Symbol> kernelled(Call &c) const {
    c.need_float(0);
    const ops::Id x = data_format.to_last(c.e, c.x());
    const Shape s = c.e.shape(x);
    need_pixels(c, s);
    const ops::Id y = resized(c, x, checked_mul(s[1], size[0]), checked_mul(s[2], size[1]), interpolation, false);
    return {{data_format.from_last(c.e, y)}};
  }
};

struct UpSampling3D final : LayerOf<UpSampling3D> {
  static constexpr const char *doc = "Larger volumes: planes, rows and columns repeated.";
  std::array<int64_t, 3> size{2, 2, 2};
  DataFormat data_format;

  void fields(Fields &f) override {
    f("size", size).at_least(1).at_most(max_dim).doc("how often each plane, each row and each column stands");
    data_format.fields(f);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, D, H, W, C)"}},
                                    .outputs = {{"y", "(B, D * size, H * size, W * size, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 5);
    ops::Id y = c.x();
    for (int i = 0; i < 3; ++i) y = ops::repeat(c.e, y, data_format.space(i), size[static_cast<size_t>(i)]);
    return {{y}};
  }
};

struct RepeatVector final : LayerOf<RepeatVector> {
  static constexpr const char *doc = "A vector as every step of a sequence.";
  int64_t n = 0;

  void fields(Fields &f) override { f("n", n).required("2").at_least(1).at_most(max_dim).doc("steps of the sequence"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, C)"}}, .outputs = {{"y", "(B, n, C)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, 2);
    return {{ops::repeat(c.e, ops::expand_dims(c.e, c.x(), 1), 1, n)}};
  }
};

}  // namespace
DL4_KINDS(up_sampling, UpSampling1D, UpSampling2D, UpSampling3D, RepeatVector)
}  // namespace dl4::kinds
