// Conv1D, Conv2D, Conv3D.
#include "kinds/layers/conv/conv.hpp"
#include "kinds/layers/core/lora.hpp"

namespace dl4::kinds {
namespace {

// N: number of spatial axes.
template <size_t N>
struct Convolution : Layer {
  int64_t filters = 0, groups = 1;
  Geometry<N> geometry;
  Activation activation;
  KernelAndBias weights;
  Lora lora;

  void fields(Fields &f) override {
    f("filters", filters).required("4").at_least(1).at_most(max_dim).doc("channels of the output");
    geometry.fields(f, N == 1);
    f("groups", groups).at_least(1).at_most(max_dim).doc("parts of the channels that are convolved apart");
    f("activation", activation).doc("applied to the result");
    weights.fields(f);
    lora.fields(f);
  }
  void check() override {
    if (filters % groups != 0)
      throw Error(Code::invalid_argument,
                  text("the number of filters must be evenly divisible by the number of groups, got groups=", groups,
                       ", filters=", filters))
          .with("attribute", "groups");
    geometry.refuse_strides_with_dilation();
    lora.check(weights.kernel_constraint, {});
  }
  Facts facts() const override {
    constexpr const char *kernel[] = {"(K, C / groups, filters)", "(KH, KW, C / groups, filters)",
                                      "(KD, KH, KW, C / groups, filters)"};
    constexpr const char *first[] = {"(K, C / groups, lora_rank)", "(KH, KW, C / groups, lora_rank)",
                                     "(KD, KH, KW, C / groups, lora_rank)"};
    static constexpr PlainFacts plain{.inputs = {{"x", spatial_input[N - 1]}},
                                      .outputs = {{"y", spatial_output[N - 1]}},
                                      .weights = {{"kernel", kernel[N - 1]},
                                                  {"bias", "(filters)", "use_bias"},
                                                  {"lora_kernel_a", first[N - 1], "lora_rank"},
                                                  {"lora_kernel_b", "(lora_rank, filters)", "lora_rank"}}};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    ops::Id x = geometry.input(c);
    const int64_t channels = c.e.shape(x).last();
    if (channels % groups != 0)
      fail(Code::shape_mismatch, "the number of input channels must be evenly divisible by the number of groups, got ",
           "groups=", groups, ", but the input has ", channels, " channels (full input shape is ", c.shape(), ")");
    const LoraKernel more{lora, "lora_kernel", geometry.kernel_shape(channels / groups, filters),
                          weights.kernel_regularizer};
    ops::Id w = weights.kernel(c, more.shape, bool(lora)), b = weights.bias(c, filters);
    w = more.added(c, w);
    return geometry.output(c, ops::conv(c.e, x, w, b, geometry.how(groups)), activation, weights.activity_regularizer);
  }
};

struct Conv1D final : Convolution<1> {
  static constexpr const char *doc = "Convolution along time (cross-correlation: the kernel is not flipped).";
  static constexpr const char *aliases[] = {"Convolution1D"};
};
struct Conv2D final : Convolution<2> {
  static constexpr const char *doc = "Convolution over images (cross-correlation: the kernel is not flipped).";
  static constexpr const char *aliases[] = {"Convolution2D"};
};
struct Conv3D final : Convolution<3> {
  static constexpr const char *doc = "Convolution over volumes (cross-correlation: the kernel is not flipped).";
  static constexpr const char *aliases[] = {"Convolution3D"};
};

}  // namespace
DL4_KINDS(conv, Conv1D, Conv2D, Conv3D)
}  // namespace dl4::kinds
