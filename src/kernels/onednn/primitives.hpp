// oneDNN's primitives belong to the kernels that hold them: its own cache, one for the whole process, keeps none of
// ours, so that generated code goes when the last plan that uses it goes.
#pragma once

namespace dl4::kernels {

// Around every making of primitives; any number of threads, and within each other. The last one to end gives oneDNN's
// cache its capacity back. What is made twice meanwhile is shared.
class MakesPrimitives {
 public:
  MakesPrimitives();
  ~MakesPrimitives();
  MakesPrimitives(const MakesPrimitives &) = delete;
  MakesPrimitives &operator=(const MakesPrimitives &) = delete;
};

}  // namespace dl4::kernels
