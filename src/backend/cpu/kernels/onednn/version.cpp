// Which oneDNN is loaded.
#include "backend/cpu/kernels/onednn/version.hpp"

#include <oneapi/dnnl/dnnl.h>

namespace dl4::kernels {

std::string onednn_version() {
  const dnnl_version_t *v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

}  // namespace dl4::kernels
