// Shared by convolution layers over N axes: geometry, and conversion of axes at the layer's inputs and outputs.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.hpp"
#include "kinds/layers/conv/data_format.hpp"
#include "kinds/layers/core/weights.hpp"

namespace dl4::kinds {

template <size_t N>
struct Geometry {
  std::array<int64_t, N> kernel_size{}, strides{}, dilation_rate{};
  ops::Padding padding = ops::Padding::valid;
  DataFormat data_format;

  Geometry() {
    strides.fill(1);
    dilation_rate.fill(1);
  }
  void fields(Fields &f, bool causal = false) {
    f("kernel_size", kernel_size, "size of the window").required("2").within(1, max_dim);
    f("strides", strides, "steps of the window").within(1, max_dim);
    if (causal)
      f("padding", padding, {"valid", "same", "causal"},
        "\"valid\": none; \"same\": zeros on both sides, so that a stride of 1 keeps the length; \"causal\": "
        "zeros before, so that no output sees a later step");
    else
      f("padding", padding, {"valid", "same"},
        "\"valid\": none; \"same\": zeros around, so that strides of 1 keep the size");
    data_format.fields(f);
    f("dilation_rate", dilation_rate, "distance between the places that the window reads").within(1, max_dim);
  }
  // Keras's rule, except for depthwise convolutions.
  void refuse_strides_with_dilation() const {
    auto largest = [](const std::array<int64_t, N> &v) { return *std::max_element(v.begin(), v.end()); };
    if (largest(strides) > 1 && largest(dilation_rate) > 1)
      throw Error(Code::invalid_argument, "strides > 1 are not supported together with dilation_rate > 1")
          .with("attribute", "dilation_rate");
  }

  // Input 0 in channels-last order; the channels must be known.
  ops::Id input(Call &c) const {
    c.need_rank(0, static_cast<int>(N) + 2);
    c.need_float(0);
    const int axis = data_format.channels(c.shape().rank());
    if (c.shape()[axis] == free_dim)
      fail(Code::shape_mismatch, "the ", data_format.is_first() ? "channels" : "last dimension",
           " of input 0 should be known. Full shape received: ", c.shape());
    return data_format.to_last(c.e, c.x());
  }
  // The layer's output from y, which is channels-last.
  std::vector<Symbol> output(Call &c, ops::Id y, const Activation &activation, const Of<Regularizer> &penalty) const {
    y = activation(c.e, data_format.from_last(c.e, y));
    c.penalize(penalty, y);
    return {{y}};
  }

  Shape kernel_shape(int64_t in, int64_t out) const {
    std::vector<int64_t> dims(kernel_size.begin(), kernel_size.end());
    dims.push_back(in);
    dims.push_back(out);
    return Shape(dims);
  }
  ops::Conv how(int64_t groups = 1) const {
    return {.strides = {strides.begin(), strides.end()},
            .dilation = {dilation_rate.begin(), dilation_rate.end()},
            .padding = padding,
            .groups = groups};
  }
};

template <size_t N>
inline constexpr const char *spatial_input = by_axes<N>("(B, T, C)", "(B, H, W, C)", "(B, D, H, W, C)");
template <size_t N>
inline constexpr const char *spatial_output = by_axes<N>("(B, OT, filters)", "(B, OH, OW, filters)",
                                                         "(B, OD, OH, OW, filters)");

}  // namespace dl4::kinds
