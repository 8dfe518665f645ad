// The only file that calls OpenBLAS.
#include "backend/cpu/kernels/openblas/blas.hpp"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/error.hpp"

namespace dl4::kernels::blas {
namespace {

// Limits the number of concurrent calls: OpenBLAS has a fixed table of buffers, one per calling thread, and crashes
// when it is full.
class Permit {
 public:
  Permit() noexcept {
    // A thread inside at a fork never leaves in the child.
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

// The functions of the object that has OpenBLAS's configuration. The linker may resolve the plain names to functions of
// the program, or of another BLAS that it links.
struct Functions {
  decltype(&cblas_sgemm) gemm = cblas_sgemm;
  decltype(&cblas_sgemv) gemv = cblas_sgemv;

  Functions() noexcept {
    Dl_info object;
    if (!dladdr(reinterpret_cast<void *>(openblas_get_config), &object)) return;
    void *library = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return;  // OpenBLAS is linked into the program
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

std::string core_name() { return openblas_get_corename(); }

bool is_older(std::string_view core, cpu::Vectors vectors) {
  static constexpr std::string_view without_avx2[] = {
      "katmai", "coppermine", "northwood",  "prescott",    "banias",  "atom",         "core2",
      "penryn", "dunnington", "nehalem",    "athlon",      "opteron", "opteron_sse3", "barcelona",
      "bobcat", "bulldozer",  "piledriver", "steamroller", "nano",    "generic",      "sandybridge"};
  static constexpr std::string_view with_avx2[] = {"haswell", "zen", "excavator"};
  std::string name(core);
  for (char &c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const auto is_of = [&](const auto &names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return (vectors >= cpu::Vectors::avx2 && is_of(without_avx2)) ||
         (vectors >= cpu::Vectors::avx512 && is_of(with_avx2));
}

const std::string &unused() {
  static const std::string reason = [] {
    functions();  // resolved before the first run
    switch (threading()) {
      case Threading::pthread:
        return std::string("for it runs threads of its own");
      case Threading::serial:
        return std::string("for its results are wrong when several threads call it");
      default:
        break;
    }
    const cpu::Vectors vectors = cpu::vectors();
    if (!is_older(core_name(), vectors)) return std::string();
    return text("for its kernels are of ", core_name(), ", older than ",
                cpu::vector_names[static_cast<size_t>(vectors)], ", which the processor has");
  }();
  return reason;
}

std::string description() {
  static constexpr const char *variants[] = {", serial", ", pthread", ", openmp"};
  std::string s = openblas_get_config();
  while (!s.empty() && s.back() == ' ') s.pop_back();
  if (s.find(core_name()) == std::string::npos) s += " " + core_name();
  return s + variants[static_cast<size_t>(threading())];
}

void sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
           const float *b, int64_t ldb, float beta, float *c, int64_t ldc) noexcept {
  if (m <= 0 || n <= 0) return;
  if (k <= 0) return scale(m, n, beta, c, ldc);
  Permit permit;
  const Functions &f = functions();
  // A single row or column: a matrix-vector product.
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
