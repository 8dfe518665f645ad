// Conv1DTranspose, Conv2DTranspose, Conv3DTranspose: the input gradient of a convolution as a layer.
#include <optional>

#include "kinds/layers/conv/conv.hpp"

namespace dl4::kinds {
namespace {

template <size_t N>
struct ConvTranspose : Layer {
  int64_t filters = 0;
  Geometry<N> geometry;
  std::optional<std::array<int64_t, N>> output_padding;
  Activation activation;
  KernelAndBias weights;

  void fields(Fields &f) override {
    f("filters", filters).required("4").at_least(1).at_most(max_dim).doc("channels of the output");
    geometry.fields(f);
    f("output_padding", output_padding)
        .at_least(0)
        .at_most(max_dim)
        .doc(
            "places that the output has more at its end, less than strides; null: as many as make it n * strides with "
            "\"same\", with \"valid\" (n - 1) * strides and what the window or the stride reaches");
    f("activation", activation).doc("applied to the result");
    weights.fields(f);
  }
  void check() override {
    geometry.refuse_strides_with_dilation();
    for (size_t i = 0; output_padding && i < N; ++i)
      if ((*output_padding)[i] >= geometry.strides[i])
        refuse_attribute("output_padding", "expected less than strides, ", geometry.strides[i], ", got ",
                         (*output_padding)[i]);
  }
  Facts facts() const override {
    constexpr const char *kernel[] = {"(K, filters, C)", "(KH, KW, filters, C)", "(KD, KH, KW, filters, C)"};
    static constexpr PlainFacts plain{.inputs = {{"x", spatial_input[N - 1]}},
                                      .outputs = {{"y", spatial_output[N - 1]}},
                                      .weights = {{"kernel", kernel[N - 1]}, {"bias", "(filters)", "use_bias"}}};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    ops::Id x = geometry.input(c);
    ops::Id w = weights.kernel(c, geometry.kernel_shape(filters, c.e.shape(x).last())), b = weights.bias(c, filters);
    std::vector<int64_t> more(N, -1);
    if (output_padding) more.assign(output_padding->begin(), output_padding->end());
    ops::Id y = ops::conv_transpose(c.e, x, w, geometry.how(), more);
    if (b != ops::none) y = ops::add(c.e, y, b);
    return geometry.output(c, y, activation, weights.activity_regularizer);
  }
};

struct Conv1DTranspose final : ConvTranspose<1> {
  static constexpr const char *doc = "The gradient of a Conv1D by its input, as a layer: it makes sequences longer.";
  static constexpr const char *aliases[] = {"Convolution1DTranspose"};
};
struct Conv2DTranspose final : ConvTranspose<2> {
  static constexpr const char *doc = "The gradient of a Conv2D by its input, as a layer: it makes images larger.";
  static constexpr const char *aliases[] = {"Convolution2DTranspose"};
};
struct Conv3DTranspose final : ConvTranspose<3> {
  static constexpr const char *doc = "The gradient of a Conv3D by its input, as a layer: it makes volumes larger.";
  static constexpr const char *aliases[] = {"Convolution3DTranspose"};
};

}  // namespace
DL4_KINDS(conv_transpose, Conv1DTranspose, Conv2DTranspose, Conv3DTranspose)
}  // namespace dl4::kinds
