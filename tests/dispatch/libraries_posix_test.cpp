// Libraries that take the processor for an older one are no candidates: in processes of their own, as they look at it
// once.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "backend/cpu/dispatch/conv.hpp"
#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/dispatch/lstm.hpp"
#include "backend/cpu/dispatch/products.hpp"

namespace dl4::dispatch::DL4_FILE {
namespace {

constexpr const char *asked = "DL4_TEST_UNUSED";  // of the child: which library

// What this process's tests of that name, which are disabled, say in an environment with one more variable.
int in_child(const char *variable, const char *value, const char *library) {
  const pid_t child = fork();
  if (child == 0) {
    setenv(variable, value, 1), setenv(asked, library, 1);
    execl("/proc/self/exe", "dispatch_tests", "--gtest_also_run_disabled_tests", "--gtest_brief=1",
          "--gtest_filter=Libraries.DISABLED_*", nullptr);
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Libraries, ThatTakeTheProcessorForAnOlderOneAreNotUsed) {
  if (libraries().empty()) GTEST_SKIP() << "there are none";
  if (cpu::vectors() >= cpu::Vectors::avx2) {
    for (const char *core : {"Prescott", "Nehalem"}) EXPECT_EQ(in_child("OPENBLAS_CORETYPE", core, "openblas"), 0);
    EXPECT_EQ(in_child("ONEDNN_MAX_CPU_ISA", "SSE41", "onednn"), 0);
  }
  if (cpu::vectors() >= cpu::Vectors::avx512) {
    EXPECT_EQ(in_child("OPENBLAS_CORETYPE", "Haswell", "openblas"), 0);
    EXPECT_EQ(in_child("ONEDNN_MAX_CPU_ISA", "AVX2", "onednn"), 0);
  }
}

TEST(Libraries, DISABLED_AreNoCandidates) {
  const std::string name = std::getenv(asked);
  const Library *library = nullptr;
  for (const Library *l : libraries())
    if (l->name == name) library = l;
  ASSERT_NE(library, nullptr);
  EXPECT_TRUE(library->unused().starts_with("for ")) << library->unused();
  const auto none_of = [&](const std::vector<Price> &prices) {
    for (const Price &p : prices) EXPECT_FALSE(p.name.starts_with(library->prefix)) << p.name;
  };
  for (const int64_t m : {1, 3, 16, 64, 512})
    for (const int64_t n : {1, 2, 10, 64, 1024})
      for (const int64_t k : {4, 64, 1024})
        for (int bits = 0; bits < 8; ++bits) {
          kernels::Gemm g;
          g.m = m, g.n = n, g.k = k, g.trans_a = bits & 1, g.trans_b = bits & 2;
          none_of(product_prices(g, bits & 4, this_machine()));
          const BatchAxis axes[] = {{3, m * k, 0}};
          EXPECT_FALSE(product_by_item(Site(), kernels::dense(g), axes, 1)->name.starts_with(library->prefix));
        }
  for (const int64_t channels : {1, 3, 16, 64})
    for (const int64_t size : {1, 3}) {
      kernels::Conv c;
      c.n = 2, c.h = c.w = 14, c.c = channels, c.oc = 32, c.kh = c.kw = size, c.oh = c.ow = 15 - size;
      none_of(conv_prices(c, false, this_machine()));
      EXPECT_FALSE(conv_data(Site(), c, nullptr)->name.starts_with(library->prefix));
      EXPECT_FALSE(conv_weights(Site(), c)->name.starts_with(library->prefix));
    }
  Site s;
  s.src.assign(src_count, ops::absent), s.dst.assign(lstm_dst::count, ops::absent);
  s.constant.assign(src_count, nullptr), s.constant_key.assign(src_count, "");
  s.src[src_x] = {DType::f32, {2, 5, 8}}, s.src[src_kernel] = {DType::f32, {8, 64}};
  s.src[src_recurrent_kernel] = {DType::f32, {16, 64}}, s.dst[lstm_dst::y] = {DType::f32, {2, 5, 16}};
  const std::vector<std::string> off{"own_lstm"};
  s.off = off;
  EXPECT_FALSE(lstm(s, false)->name.starts_with(library->prefix));
}

}  // namespace
}  // namespace dl4::dispatch::DL4_FILE
