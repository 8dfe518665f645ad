// Conv1D, Conv2D: one dimension is two of which the first has size 1.
#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "kinds/layers/data_format.hpp"
#include "kinds/layers/weights.hpp"

namespace dl4::kinds {
namespace {

// N: how many axes the kernel moves along.
template <size_t N>
struct Convolution : Layer {
  int64_t filters = 0, groups = 1;
  std::array<int64_t, N> kernel_size{}, strides{}, dilation_rate{};
  ops::Padding padding = ops::Padding::valid;
  DataFormat data_format;
  Activation activation;
  KernelAndBias weights;

  Convolution() {
    strides.fill(1);
    dilation_rate.fill(1);
  }
  virtual void padding_field(Fields &f) = 0;
  void fields(Fields &f) override {
    f("filters", filters).required().at_least(1).at_most(max_dim).doc("channels of the output");
    f("kernel_size", kernel_size).required().at_least(1).at_most(max_dim).doc("size of the window");
    f("strides", strides).at_least(1).at_most(max_dim).doc("steps of the window");
    padding_field(f);
    data_format.fields(f);
    f("dilation_rate", dilation_rate)
        .at_least(1)
        .at_most(max_dim)
        .doc("distance between the places that the window reads");
    f("groups", groups).at_least(1).at_most(max_dim).doc("parts of the channels that are convolved apart");
    f("activation", activation).doc("applied to the result");
    weights.fields(f);
  }
  void check() override {
    auto largest = [](const std::array<int64_t, N> &v) { return *std::max_element(v.begin(), v.end()); };
    if (filters % groups != 0)
      throw Error(Code::invalid_argument,
                  text("the number of filters must be evenly divisible by the number of groups, got groups=", groups,
                       ", filters=", filters))
          .with("attribute", "groups");
    if (largest(strides) > 1 && largest(dilation_rate) > 1)
      throw Error(Code::invalid_argument, "strides > 1 are not supported together with dilation_rate > 1")
          .with("attribute", "dilation_rate");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(N) + 2);
    c.need_float(0);
    int64_t channels = c.last_dim();
    if (channels % groups != 0)
      fail(Code::shape_mismatch, "the number of input channels must be evenly divisible by the number of groups, got ",
           "groups=", groups, ", but the input has ", channels, " channels (full input shape is ", c.shape(), ")");
    std::vector<int64_t> shape(kernel_size.begin(), kernel_size.end());
    shape.push_back(channels / groups);
    shape.push_back(filters);
    ops::Id w = weights.kernel(c, Shape(shape)), b = weights.bias(c, filters), x = c.x();
    if constexpr (N == 1) {
      x = ops::expand_dims(c.e, x, 1);
      w = ops::expand_dims(c.e, w, 0);
    }
    ops::Id y = activation(c.e, ops::conv(c.e, x, w, b, how()));
    if constexpr (N == 1) y = ops::squeeze(c.e, y, 1);
    c.penalize(weights.activity_regularizer, y);
    return {{y}};
  }

 private:
  ops::Conv how() const {
    ops::Conv conv;
    for (size_t i = 0; i < N; ++i) {
      conv.strides[i + 2 - N] = strides[i];
      conv.dilation[i + 2 - N] = dilation_rate[i];
    }
    conv.padding = padding;
    conv.groups = groups;
    return conv;
  }
};

struct Conv1D final : Convolution<1> {
  static constexpr const char *name = "Conv1D";
  static constexpr const char *doc = "Convolution along time (cross-correlation: the kernel is not flipped).";
  static constexpr const char *aliases[] = {"Convolution1D"};

  void padding_field(Fields &f) override {
    f("padding", padding, {"valid", "same", "causal"})
        .doc(
            "\"valid\": none; \"same\": zeros on both sides, so that a stride of 1 keeps the length; \"causal\": zeros "
            "before, so that no output sees a later step");
  }
  Facts facts() const override {
    return {.inputs = {{"x", "(B, T, C)"}},
            .outputs = {{"y", "(B, OT, filters)"}},
            .weights = {{"kernel", "(K, C / groups, filters)"}, {"bias", "(filters)", "use_bias"}}};
  }
};

struct Conv2D final : Convolution<2> {
  static constexpr const char *name = "Conv2D";
  static constexpr const char *doc = "Convolution over images (cross-correlation: the kernel is not flipped).";
  static constexpr const char *aliases[] = {"Convolution2D"};

  void padding_field(Fields &f) override {
    f("padding", padding, {"valid", "same"})
        .doc("\"valid\": none; \"same\": zeros around, so that strides of 1 keep the size");
  }
  Facts facts() const override {
    return {.inputs = {{"x", "(B, H, W, C)"}},
            .outputs = {{"y", "(B, OH, OW, filters)"}},
            .weights = {{"kernel", "(KH, KW, C / groups, filters)"}, {"bias", "(filters)", "use_bias"}}};
  }
};

}  // namespace
DL4_KIND(Conv1D)
DL4_KIND(Conv2D)
}  // namespace dl4::kinds
