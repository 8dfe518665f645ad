// The OpenMP setting of a thread, and of OpenBLAS, before and after the guard.
#include "backend/cpu/kernels/single_threaded.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "backend/cpu/kernels/openblas/blas.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

template <class F>
F *symbol(const char *name) {
  return reinterpret_cast<F *>(dlsym(RTLD_DEFAULT, name));
}

TEST(SingleThreaded, SetsAndRestores) {
  auto *get = symbol<int()>("omp_get_max_threads");
  auto *set = symbol<void(int)>("omp_set_num_threads");
  if (!get || !set) GTEST_SKIP() << "no OpenMP here";
  int before = get();
  set(3);
  {
    SingleThreaded outer;
    EXPECT_EQ(get(), 1);
    SingleThreaded inner;
    EXPECT_EQ(get(), 1);
  }
  EXPECT_EQ(get(), 3);
  set(before);
  std::thread([&] {
    stay_single_threaded();
    EXPECT_EQ(get(), 1);
  }).join();
  EXPECT_EQ(get(), before);
}

TEST(SingleThreaded, OpenblasKeepsItsThreads) {
  auto *get = symbol<int()>("openblas_get_num_threads");
  if (!get || !blas::usable()) GTEST_SKIP() << "OpenBLAS is not used";
  int before = get();
  std::vector<float> a(300 * 300, 1), b(300 * 300, 1), c(300 * 300);
  {
    SingleThreaded one;
    blas::sgemm(false, false, 300, 300, 300, 1, a.data(), 300, b.data(), 300, 0, c.data(), 300);
  }
  EXPECT_EQ(c[77], 300);
  EXPECT_EQ(get(), before);
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
