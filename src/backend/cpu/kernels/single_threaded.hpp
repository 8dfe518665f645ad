// Keeps oneDNN and OpenBLAS from opening OpenMP regions: the parallelism is the crew's.
#pragma once

namespace dl4::kernels {

// Sets the calling thread's OpenMP thread count to 1 and puts it back. Around every run and every creation of
// primitives.
class SingleThreaded {
 public:
  SingleThreaded() noexcept;
  ~SingleThreaded();
  SingleThreaded(const SingleThreaded &) = delete;
  SingleThreaded &operator=(const SingleThreaded &) = delete;

 private:
  int saved_;
};

// The same for the rest of the calling thread's life: what the crew's helpers start with.
void stay_single_threaded() noexcept;

}  // namespace dl4::kernels
