// Which oneDNN is loaded.
#pragma once

#include <string>

namespace dl4::kernels {

std::string onednn_version();  // "2.6.3"

}  // namespace dl4::kernels
