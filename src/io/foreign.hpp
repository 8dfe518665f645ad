// Model files of other makers, told by their first bytes.
#pragma once

#include "io/file.hpp"

namespace dl4::io {

// Refuses with UNSUPPORTED, by its name, a file of ONNX. Nothing else is looked at: a file of ours passes.
void refuse_foreign(const Source &source);

}  // namespace dl4::io
