// Conv2D: convolution over images.
#include "kinds/layers/conv.hpp"

namespace dl4::kinds {
namespace {

struct Conv2D : Convolution<2> {
  static constexpr const char *name = "Conv2D";
  static constexpr const char *doc = "Convolution over images (cross-correlation: the kernel is not flipped).";
  static constexpr const char *aliases[] = {"Convolution2D"};

  static auto fields() {
    return convolution_fields<Conv2D>({"valid", "same"},
                                      "\"valid\": none; \"same\": zeros around, so that strides of 1 keep the size");
  }
  static Json more() {
    return Facts{.inputs = {{"x", "(B, H, W, C)"}},
                 .outputs = {{"y", "(B, OH, OW, filters)"}},
                 .weights = {{"kernel", "(KH, KW, C / groups, filters)"}, {"bias", "(filters)", "use_bias"}}}
        .json();
  }
};

}  // namespace
DL4_KIND(Conv2D)
}  // namespace dl4::kinds
