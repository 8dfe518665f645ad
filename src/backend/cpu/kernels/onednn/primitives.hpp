// Primitives are owned by the kernels that use them. oneDNN's process-wide cache is kept from holding ours, so that
// generated code is freed with the last plan that uses it.
#pragma once

namespace dl4::kernels {

// Held around every creation of primitives, by any number of threads, possibly nested. The last to be destroyed
// restores the capacity of oneDNN's cache. Equal primitives made meanwhile are shared.
class MakesPrimitives {
 public:
  MakesPrimitives();
  ~MakesPrimitives();
  MakesPrimitives(const MakesPrimitives &) = delete;
  MakesPrimitives &operator=(const MakesPrimitives &) = delete;
};

}  // namespace dl4::kernels
