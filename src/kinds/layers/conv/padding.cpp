// ZeroPadding1D-3D, Cropping1D-3D.
#include "base/error.hpp"
#include "kinds/layers/conv/data_format.hpp"

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
}  // namespace dl4::kinds
