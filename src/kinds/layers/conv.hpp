// What Conv1D and Conv2D share. One dimension is two of which the first has size 1.
#pragma once

#include <algorithm>

#include "kinds/layers/data_format.hpp"
#include "kinds/layers/facts.hpp"
#include "kinds/layers/weights.hpp"

namespace dl4::kinds {

// N: how many axes the kernel moves along.
template <size_t N>
struct Convolution : Layer, KernelAndBias {
  int64_t filters = 0, groups = 1;
  std::array<int64_t, N> kernel_size{}, strides{}, dilation_rate{};
  std::string padding, data_format;
  Activation activation;

  void check() const {
    need_channels_last(data_format);
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
    ops::Id w = kernel(c, Shape(shape)), b = bias(c, filters), x = c.x();
    if constexpr (N == 1) {
      x = ops::expand_dims(c.e, x, 1);
      w = ops::expand_dims(c.e, w, 0);
    }
    ops::Id y = activation(c.e, ops::conv(c.e, x, w, b, how()));
    if constexpr (N == 1) y = ops::squeeze(c.e, y, 1);
    c.penalize(activity_regularizer, y);
    return {{y}};
  }

 private:
  ops::Conv how() const {
    ops::Conv conv;
    for (size_t i = 0; i < N; ++i) {
      conv.strides[i + 2 - N] = strides[i];
      conv.dilation[i + 2 - N] = dilation_rate[i];
    }
    conv.padding = padding == "same"     ? ops::Padding::same
                   : padding == "causal" ? ops::Padding::causal
                                         : ops::Padding::valid;
    conv.groups = groups;
    return conv;
  }
};

template <class T>
auto convolution_fields(std::vector<std::string> paddings, const char *padding_doc) {
  using Sizes = decltype(T::kernel_size);
  return std::tuple_cat(
      std::tuple{
          field<T, int64_t>("filters", &T::filters)
              .required()
              .at_least(1)
              .at_most(max_dim)
              .doc("channels of the output"),
          field<T, Sizes>("kernel_size", &T::kernel_size)
              .required()
              .at_least(1)
              .at_most(max_dim)
              .doc("size of the window"),
          field<T, Sizes>("strides", &T::strides).otherwise(1).at_least(1).at_most(max_dim).doc("steps of the window"),
          field<T, std::string>("padding", &T::padding).otherwise("valid").one_of(std::move(paddings)).doc(padding_doc),
          data_format_field<T>(),
          field<T, Sizes>("dilation_rate", &T::dilation_rate)
              .otherwise(1)
              .at_least(1)
              .at_most(max_dim)
              .doc("distance between the places that the window reads"),
          field<T, int64_t>("groups", &T::groups)
              .otherwise(1)
              .at_least(1)
              .at_most(max_dim)
              .doc("parts of the channels that are convolved apart"),
          field<T, Activation>("activation", &T::activation).otherwise("linear").doc("applied to the result")},
      kernel_and_bias_fields<T>());
}

}  // namespace dl4::kinds
