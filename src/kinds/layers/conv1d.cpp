// Conv1D: convolution along time.
#include "kinds/layers/conv.hpp"

namespace dl4::kinds {
namespace {

struct Conv1D : Convolution<1> {
  static constexpr const char *name = "Conv1D";
  static constexpr const char *doc = "Convolution along time (cross-correlation: the kernel is not flipped).";
  static constexpr const char *aliases[] = {"Convolution1D"};

  static auto fields() {
    return convolution_fields<Conv1D>({"valid", "same", "causal"},
                                      "\"valid\": none; \"same\": zeros on both sides, so that a stride of 1 keeps the "
                                      "length; \"causal\": zeros before, so that no output sees a later step");
  }
  static Json more() {
    return Facts{.inputs = {{"x", "(B, T, C)"}},
                 .outputs = {{"y", "(B, OT, filters)"}},
                 .weights = {{"kernel", "(K, C / groups, filters)"}, {"bias", "(filters)", "use_bias"}}}
        .json();
  }
};

}  // namespace
DL4_KIND(Conv1D)
}  // namespace dl4::kinds
