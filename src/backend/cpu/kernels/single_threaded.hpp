// Keeps oneDNN and OpenBLAS from starting OpenMP threads: the crew does the threading.
#pragma once

namespace dl4::kernels {

// Sets the calling thread's OpenMP thread count to 1 within a scope. Held around every run and every creation of
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

// The same for the rest of the thread's life, for the crew's helpers.
void stay_single_threaded() noexcept;

}  // namespace dl4::kernels
