// Controls the OpenMP runtime of oneDNN and OpenBLAS, if loaded, without linking it. A build without these libraries
// leaves the host's runtime alone.
#include "backend/cpu/kernels/single_threaded.hpp"

#if !defined(DL4_BACKENDS_own)
#include <dlfcn.h>
#endif

namespace dl4::kernels {
namespace {

struct OpenMP {
  int (*get)();
  void (*set)(int);
#if defined(DL4_BACKENDS_own)
  OpenMP() : get(nullptr), set(nullptr) {}
#else
  OpenMP()
      : get(reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"))),
        set(reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) {}
#endif
};

const OpenMP &openmp() noexcept {
  static const OpenMP found;
  return found;
}

}  // namespace

SingleThreaded::SingleThreaded() noexcept : saved_(1) {
  const OpenMP &omp = openmp();
  if (!omp.get || !omp.set) return;
  saved_ = omp.get();
  if (saved_ != 1) omp.set(1);
}

SingleThreaded::~SingleThreaded() {
  if (saved_ != 1) openmp().set(saved_);
}

void stay_single_threaded() noexcept {
  if (openmp().set) openmp().set(1);
}

}  // namespace dl4::kernels
