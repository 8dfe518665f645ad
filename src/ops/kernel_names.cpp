// The kernels that a context can leave out.
#include "ops/op.hpp"

namespace dl4::ops {

const std::vector<std::string> &kernel_names() {
  static const std::vector<std::string> names{
      "direct_conv", "dnnl_conv",        "dnnl_conv_data",    "dnnl_conv_weights", "dnnl_gemm",
      "dnnl_lstm",   "openblas_by_item", "openblas_gemm",     "own_lstm",          "packed_gemm",
      "small_gemm",  "winograd_conv",    "winograd_conv_data"};
  return names;
}

}  // namespace dl4::ops
