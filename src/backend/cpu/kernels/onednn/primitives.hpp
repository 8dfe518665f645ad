// oneDNN's primitives belong to the kernels that hold them: its own cache, one for the whole process, keeps none of
// ours, so that generated code is freed with the last plan that uses it.
#pragma once

namespace dl4::kernels {

// Held around every creation of primitives, by any number of threads, nested or not. The last one to end restores the
// capacity of oneDNN's cache. What is made twice in the meantime is shared.
class MakesPrimitives {
 public:
  MakesPrimitives();
  ~MakesPrimitives();
  MakesPrimitives(const MakesPrimitives &) = delete;
  MakesPrimitives &operator=(const MakesPrimitives &) = delete;
};

}  // namespace dl4::kernels
