// The only file that calls OpenBLAS.
#include "backend/cpu/kernels/openblas/blas.hpp"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstring>

namespace dl4::kernels::blas {
namespace {

// OpenBLAS has a fixed table of buffers, one per thread inside, and crashes when it is full.
class Permit {
 public:
  Permit() noexcept {
    // Whoever is inside at a fork never comes out in the child.
    static const int registered = pthread_atfork(nullptr, nullptr, [] { inside.store(0, std::memory_order_relaxed); });
    (void)registered;
    int32_t n = inside.load(std::memory_order_relaxed);
    while (true) {
      if (n >= most) {
        inside.wait(n, std::memory_order_relaxed);
        n = inside.load(std::memory_order_relaxed);
      } else if (inside.compare_exchange_weak(n, n + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        return;
      }
    }
  }
  ~Permit() {
    if (inside.fetch_sub(1, std::memory_order_release) == most) inside.notify_all();
  }

 private:
  static constexpr int32_t most = 60;
  static std::atomic<int32_t> inside;
};

std::atomic<int32_t> Permit::inside{0};

// The functions of the object that has OpenBLAS's configuration: one of the same name in the program, or in another
// BLAS that it links, comes before OpenBLAS's in the linker's order.
struct Functions {
  decltype(&cblas_sgemm) gemm = cblas_sgemm;
  decltype(&cblas_sgemv) gemv = cblas_sgemv;

  Functions() noexcept {
    Dl_info object;
    if (!dladdr(reinterpret_cast<void *>(openblas_get_config), &object)) return;
    void *library = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return;  // OpenBLAS is in the program itself
    take(gemm, dlsym(library, "cblas_sgemm"));
    take(gemv, dlsym(library, "cblas_sgemv"));
    dlclose(library);
  }

 private:
  template <class F>
  static void take(F *&to, void *found) noexcept {
    if (found) to = reinterpret_cast<F *>(found);
  }
};

const Functions &functions() noexcept {
  static const Functions found;
  return found;
}

CBLAS_TRANSPOSE transposed(bool yes) { return yes ? CblasTrans : CblasNoTrans; }
blasint size(int64_t n) { return static_cast<blasint>(n); }

void scale(int64_t m, int64_t n, float beta, float *c, int64_t ldc) {
  if (beta == 1) return;
  for (int64_t i = 0; i < m; i++, c += ldc) {
    if (beta == 0)
      std::memset(c, 0, static_cast<size_t>(n) * sizeof(float));
    else
      for (int64_t j = 0; j < n; j++) c[j] *= beta;
  }
}

}  // namespace

Threading threading() noexcept {
  static const int kind = openblas_get_parallel();
  return static_cast<Threading>(kind);
}

bool usable() noexcept {
  functions();  // found before the first run
  return threading() == Threading::openmp;
}

std::string core_name() { return openblas_get_corename(); }

std::string description() {
  std::string s = openblas_get_config();
  while (!s.empty() && s.back() == ' ') s.pop_back();
  if (s.find(core_name()) == std::string::npos) s += " " + core_name();
  switch (threading()) {
    case Threading::openmp:
      return s + ", openmp";
    case Threading::pthread:
      return s + ", pthread: not used, for it runs threads of its own";
    default:
      return s + ", serial: not used, for its results are wrong when several threads call it";
  }
}

void sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
           const float *b, int64_t ldb, float beta, float *c, int64_t ldc) noexcept {
  if (m <= 0 || n <= 0) return;
  if (k <= 0) return scale(m, n, beta, c, ldc);
  Permit permit;
  const Functions &f = functions();
  // A single row or column is a matrix times a vector.
  if (m == 1) {
    bool t = !trans_b;
    f.gemv(CblasRowMajor, transposed(t), size(t ? k : n), size(t ? n : k), alpha, b, size(ldb), a,
           size(trans_a ? lda : 1), beta, c, 1);
  } else if (n == 1) {
    f.gemv(CblasRowMajor, transposed(trans_a), size(trans_a ? k : m), size(trans_a ? m : k), alpha, a, size(lda), b,
           size(trans_b ? 1 : ldb), beta, c, size(ldc));
  } else {
    f.gemm(CblasRowMajor, transposed(trans_a), transposed(trans_b), size(m), size(n), size(k), alpha, a, size(lda), b,
           size(ldb), beta, c, size(ldc));
  }
}

}  // namespace dl4::kernels::blas
