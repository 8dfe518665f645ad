// If and Loop that decide while the model runs.
#include "io/onnx/read/loops.hpp"

#include "base/error.hpp"

namespace dl4::io::onnx {

void branch(const Op &op, const File &, const File &) {
  op.refuse("on a condition that the model computes is not supported");
}
void run_loop(const Op &op, const LoopParts &) {
  op.refuse("of a length or condition that the model computes is not supported");
}

}  // namespace dl4::io::onnx
