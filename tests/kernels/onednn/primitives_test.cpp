// oneDNN's primitives and its cache: shared while they are made, gone with the last kernel.
#include "backend/cpu/kernels/onednn/primitives.hpp"

#include <fstream>
#include <thread>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/onednn/dnnl_kernel.hpp"
#include "kernels/run_kernel.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

Conv row(int64_t length) {
  Conv c{.n = 1, .h = 1, .w = length, .c = 64, .kh = 1, .kw = 3, .oc = 64, .oh = 1, .ow = length};
  c.pad_left = c.pad_right = 1;
  return c;
}

int64_t resident_megabytes() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4 / 1024;
}

TEST(Primitives, GeneratedCodeGoesWithItsKernel) {
  if (!dnnl_conv(row(3), 1)) GTEST_SKIP() << "oneDNN has nothing for this machine";
  int64_t before = resident_megabytes();
  for (int64_t length = 4; length < 160; ++length) dnnl_conv(row(length), 1);
  EXPECT_LT(resident_megabytes(), before + 40);
}

TEST(Primitives, TheCapacityOfTheCacheIsTheHosts) {
  const int host = 77, before = dnnl::get_primitive_cache_capacity();
  dnnl::set_primitive_cache_capacity(host);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int64_t i = 0; i < 5; ++i) dnnl_conv(row(10 + 5 * t + i), 2);
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(dnnl::get_primitive_cache_capacity(), host);
  {
    MakesPrimitives outer;
    dnnl_conv(row(40), 1);
    EXPECT_EQ(dnnl::get_primitive_cache_capacity(), 0);
  }
  EXPECT_EQ(dnnl::get_primitive_cache_capacity(), host);
  dnnl::set_primitive_cache_capacity(before);
}

TEST(Primitives, EqualOnesAreShared) {
  using P = dnnl::matmul;
  int made = 0;
  auto describe = [&] {
    ++made;
    auto d = onednn::plain({8, 8});
    return onednn::make<P>(onednn::engine(), onednn::attributes(), d, d, d);
  };
  auto once = [&] { return onednn::share<P>("test", describe, true); };
  auto first = once();
  EXPECT_EQ(once(), first);
  EXPECT_EQ(made, 1);
  first.reset();
  once();
  EXPECT_EQ(made, 2);  // nobody held it
  MakesPrimitives scope;
  once();
  once();
  EXPECT_EQ(made, 3);
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
