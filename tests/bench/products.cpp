// dl4_products: every kernel of a matrix product side by side, for the table of choices in
// src/backend/cpu/dispatch/products.cpp. Products are given as MxNxK, or BxMxNxK for a batch, then NN, NT or TN, then
// "constant" where B is: dl4_products 64x4x32 NN constant 784x128x32 TN. Without any, those of the table. With --avx2
// first, as a processor without AVX-512 would do them: in a build with -DDL4_WITHOUT_AVX512, and
// ONEDNN_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Haswell for the libraries.
#include "backend/cpu/dispatch/products.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "backend/cpu/kernels/simd/simd.hpp"
#include "backend/cpu/kernels/single_threaded.hpp"
#include "hwy/targets.h"
#include "measure.hpp"

namespace {

using namespace dl4;

struct Product {
  kernels::Gemm g;
  bool constant = false;
};

const char *const of_table =
    "1x256x256 NN constant 32x128x784 NN constant 1024x1024x1024 NN constant 1x1024x1024 NN constant "
    "1x2048x2048 NN constant 2x1024x1024 NN constant 3x1024x1024 NN constant 64x16x16 NN constant "
    "64x4x32 NN constant 4096x8x3 NN constant 1024x16x4 NN constant 4x2x8192 NN constant 64x1024x1024 NN 256x1024x1024 "
    "NN 32x10x84 NN "
    "32x2x1000 NN 4x1024x1024 NT 4x256x256 NT 64x256x256 NT 128x128x10 NT 4x8192x2 NT 128x128x64 NT 64x64x64 TN "
    "3x8x4096 TN 64x10x128 TN 784x128x32 TN 784x256x128 TN 512x2048x800 TN";

std::vector<Product> parse(const std::string &words) {
  std::vector<Product> list;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    long long n[4];
    int count = std::sscanf(word.c_str(), "%lldx%lldx%lldx%lld", n, n + 1, n + 2, n + 3);
    if (count >= 3) {
      Product p;
      const long long *last = n + count - 3;
      p.g.batch = count == 4 ? n[0] : 1;
      p.g.m = last[0], p.g.n = last[1], p.g.k = last[2];
      p.g.stride_a = p.g.m * p.g.k, p.g.stride_b = p.g.k * p.g.n, p.g.stride_c = p.g.m * p.g.n;
      list.push_back(p);
    } else if (word == "constant" && !list.empty()) {
      list.back().constant = true;
      list.back().g.stride_b = 0;
    } else if (word.size() == 2 && !list.empty()) {
      list.back().g.trans_a = word[0] == 'T';
      list.back().g.trans_b = word[1] == 'T';
    }
  }
  return list;
}

std::string name(const Product &p) {
  const kernels::Gemm &g = p.g;
  return text(g.batch > 1 ? text(g.batch, 'x') : "", g.m, 'x', g.n, 'x', g.k, g.trans_a ? " T" : " N",
              g.trans_b ? "T" : "N", p.constant ? " constant" : "");
}

void row(const Product &p) {
  const std::vector<std::string> names{"small_gemm", "packed_gemm", "blocked_gemm", "openblas_gemm", "dnnl_gemm"};
  const kernels::Gemm &g = p.g;
  auto a = bench::numbers(g.batch * g.m * g.k), b = bench::numbers(g.batch * g.k * g.n);
  std::vector<float> c(static_cast<size_t>(g.batch * g.m * g.n));
  kernels::Constant constant{b.data()};
  kernels::Report report;
  void *args[3] = {a.data(), b.data(), c.data()};

  struct Side {
    std::unique_ptr<kernels::Kernel> kernel;
    std::unique_ptr<kernels::Bound> bound;
    Bytes scratch;
  };
  auto make = [&](std::vector<std::string> off) {
    dispatch::Site site;
    site.off = off;
    return dispatch::product(site, g, 1, p.constant ? &constant : nullptr);
  };
  std::vector<Side> sides;
  std::vector<std::function<void()>> calls;
  std::vector<size_t> column;
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<std::string> off = names;
    off.erase(off.begin() + static_cast<std::ptrdiff_t>(i));
    auto kernel = make(off);
    if (kernel->name == "reference_gemm") continue;  // it does not apply
    column.push_back(i);
    auto bound = kernel->bind();
    Bytes scratch = allocate(kernel->scratch);
    sides.push_back({std::move(kernel), std::move(bound), std::move(scratch)});
  }
  for (Side &s : sides)
    calls.push_back([&s, &args, &report] {
      kernels::Run run{args, 2, s.scratch.get(), s.bound.get(), &report};
      for (int64_t i = 0; i < s.kernel->slices; ++i) s.kernel->run(i, run);
    });
  auto times = bench::measure(calls, {.rounds = 9, .seconds = 0.01, .cpu = true});
  std::string line = text("| ", name(p), " |");
  for (size_t i = 0, at = 0; i < names.size(); ++i) {
    char number[32] = "-";
    if (at < column.size() && column[at] == i)
      std::snprintf(number, sizeof number, "%.3g", *std::min_element(times[at].begin(), times[at].end()) * 1e6), ++at;
    line += text(' ', number, " |");
  }
  std::printf("%s %s |\n", line.c_str(), make({})->name.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  kernels::SingleThreaded one;
  if (argc > 1 && std::string(argv[1]) == "--avx2") {
    hwy::SetSupportedTargetsForTest(HWY_AVX2);
    --argc, ++argv;
  }
  std::string words;
  for (int i = 1; i < argc; ++i) words += std::string(argv[i]) + ' ';
  std::printf(
      "Microseconds on one thread, least of nine rounds.\n\n"
      "| product | small | packed | blocked | OpenBLAS | oneDNN | chosen |\n|---|--:|--:|--:|--:|--:|---|\n");
  for (const Product &p : parse(words.empty() ? of_table : words)) row(p);
}
