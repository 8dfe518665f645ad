// The loaded oneDNN: its version, and whether its kernels are used.
#include "backend/cpu/kernels/onednn/version.hpp"

#include <oneapi/dnnl/dnnl.h>

#include "base/cpu.hpp"
#include "base/error.hpp"

namespace dl4::kernels {

std::string onednn_version() {
  const dnnl_version_t *v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

const std::string &onednn_unused() {
  static const std::string reason = [] {
    const cpu::Vectors vectors = cpu::vectors();
    const unsigned wanted = vectors == cpu::Vectors::avx512 ? unsigned{dnnl_cpu_isa_avx512_core}
                            : vectors == cpu::Vectors::avx2 ? unsigned{dnnl_cpu_isa_avx2}
                                                            : 0;
    if ((static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & wanted) == wanted) return std::string();
    return text("for it is kept to vectors older than ", cpu::vector_names[static_cast<size_t>(vectors)],
                ", which the processor has");
  }();
  return reason;
}

}  // namespace dl4::kernels
