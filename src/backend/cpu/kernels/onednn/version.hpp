// The loaded oneDNN: its version, and whether its kernels are used.
#pragma once

#include <string>

namespace dl4::kernels {

std::string onednn_version();  // "2.6.3"
// Why its kernels are not used: "for it is kept to vectors older than AVX-512, which the processor has"; "" if they
// are.
const std::string &onednn_unused();

}  // namespace dl4::kernels
