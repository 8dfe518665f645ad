// DepthwiseConv1D/2D: convolves each channel separately. SeparableConv1D/2D: mixes the channels afterwards.
#include "kinds/layers/conv/conv.hpp"

namespace dl4::kinds {
namespace {

// A kernel of `multiplier` filters per channel, with bias and activation.
template <size_t N>
struct Depthwise : Layer {
  int64_t depth_multiplier = 1;
  Geometry<N> geometry;
  Activation activation;
  Of<Initializer> depthwise_initializer = parse<Initializer>("GlorotUniform");
  Of<Regularizer> depthwise_regularizer;
  Of<Constraint> depthwise_constraint;
  KernelAndBias weights;  // only the bias and the output penalty are used

  void fields(Fields &f) override {
    geometry.fields(f);
    f("depth_multiplier", depth_multiplier).at_least(1).at_most(max_dim).doc("outputs of each channel");
    f("activation", activation).doc("applied to the result");
    weights.fields(f);
    for (const char *key : {"kernel_initializer", "kernel_regularizer", "kernel_constraint"}) f.drop(key);
    f("depthwise_initializer", depthwise_initializer).doc("fills the kernel of the channels at the start");
    f("depthwise_regularizer", depthwise_regularizer).doc("penalty on the kernel of the channels, added to the loss");
    f("depthwise_constraint", depthwise_constraint).doc("applied to the kernel of the channels after every update");
  }

 protected:
  // Depthwise convolution of x: outputs of channel c start at c * multiplier. The kernels take one filter per channel,
  // so channels are repeated.
  ops::Id by_channel(Call &c, ops::Id x, ops::Id kernel, ops::Id bias) const {
    const int64_t outputs = c.e.shape(kernel).last();
    if (depth_multiplier > 1) x = ops::repeat(c.e, x, -1, depth_multiplier);
    return ops::conv(c.e, x, kernel, bias, geometry.how(outputs));
  }
  ops::Id kernel_of(Call &c, const char *key, int64_t channels) const {
    ops::Id w = c.weight(key, geometry.kernel_shape(channels, depth_multiplier), depthwise_initializer,
                         depthwise_regularizer, depthwise_constraint);
    return ops::reshape(c.e, w, static_cast<int>(N), {1, checked_mul(channels, depth_multiplier)});
  }
};

template <size_t N>
struct DepthwiseConv : Depthwise<N> {
  Facts facts() const override {
    constexpr const char *kernel[] = {"(K, C, depth_multiplier)", "(KH, KW, C, depth_multiplier)"};
    constexpr const char *out[] = {"(B, OT, C * depth_multiplier)", "(B, OH, OW, C * depth_multiplier)"};
    static constexpr PlainFacts plain{
        .inputs = {{"x", spatial_input[N - 1]}},
        .outputs = {{"y", out[N - 1]}},
        .weights = {{"kernel", kernel[N - 1]}, {"bias", "(C * depth_multiplier)", "use_bias"}}};
    return plain;
  }
  std::vector<Symbol> call(Call &c) const override {
    ops::Id x = this->geometry.input(c);
    ops::Id w = this->kernel_of(c, "kernel", c.e.shape(x).last()), b = this->weights.bias(c, c.e.shape(w).last());
    return this->geometry.output(c, this->by_channel(c, x, w, b), this->activation, this->weights.activity_regularizer);
  }
};

template <size_t N>
struct SeparableConv : Depthwise<N> {
  int64_t filters = 0;
  Of<Initializer> pointwise_initializer = parse<Initializer>("GlorotUniform");
  Of<Regularizer> pointwise_regularizer;
  Of<Constraint> pointwise_constraint;

  void fields(Fields &f) override {
    f("filters", filters).required("4").at_least(1).at_most(max_dim).doc("channels of the output");
    Depthwise<N>::fields(f);
    f("pointwise_initializer", pointwise_initializer).doc("fills the kernel that mixes the channels at the start");
    f("pointwise_regularizer", pointwise_regularizer).doc("penalty on the kernel that mixes, added to the loss");
    f("pointwise_constraint", pointwise_constraint).doc("applied to the kernel that mixes after every update");
  }
  Facts facts() const override {
    constexpr const char *depthwise[] = {"(K, C, depth_multiplier)", "(KH, KW, C, depth_multiplier)"};
    constexpr const char *pointwise[] = {"(1, C * depth_multiplier, filters)", "(1, 1, C * depth_multiplier, filters)"};
    static constexpr PlainFacts plain{.inputs = {{"x", spatial_input[N - 1]}},
                                      .outputs = {{"y", spatial_output[N - 1]}},
                                      .weights = {{"depthwise_kernel", depthwise[N - 1]},
                                                  {"pointwise_kernel", pointwise[N - 1]},
                                                  {"bias", "(filters)", "use_bias"}}};
    return plain;
  }
  std::vector<Symbol> call(Call &c) const override {
    ops::Id x = this->geometry.input(c);
    ops::Id deep = this->kernel_of(c, "depthwise_kernel", c.e.shape(x).last());
    std::vector<int64_t> dims(N, 1);
    dims.push_back(c.e.shape(deep).last());
    dims.push_back(filters);
    ops::Id w =
        c.weight("pointwise_kernel", Shape(dims), pointwise_initializer, pointwise_regularizer, pointwise_constraint);
    ops::Conv mix;
    mix.strides = mix.dilation = std::vector<int64_t>(N, 1);
    ops::Id y = ops::conv(c.e, this->by_channel(c, x, deep, ops::none), w, this->weights.bias(c, filters), mix);
    return this->geometry.output(c, y, this->activation, this->weights.activity_regularizer);
  }
};

struct DepthwiseConv1D final : DepthwiseConv<1> {
  static constexpr const char *doc = "Convolution along time of each channel by itself.";
};
struct DepthwiseConv2D final : DepthwiseConv<2> {
  static constexpr const char *doc = "Convolution over images of each channel by itself.";
};
struct SeparableConv1D final : SeparableConv<1> {
  static constexpr const char *doc =
      "Convolution along time of each channel by itself, then a product that mixes them.";
  static constexpr const char *aliases[] = {"SeparableConvolution1D"};
};
struct SeparableConv2D final : SeparableConv<2> {
  static constexpr const char *doc =
      "Convolution over images of each channel by itself, then a product that mixes them.";
  static constexpr const char *aliases[] = {"SeparableConvolution2D"};
};

}  // namespace
DL4_KINDS(depthwise_conv, DepthwiseConv1D, DepthwiseConv2D, SeparableConv1D, SeparableConv2D)
}  // namespace dl4::kinds
