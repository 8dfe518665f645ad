// Lists of candidates: which one is taken, and by which names they are switched off.
#include "backend/cpu/dispatch/choose.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/backend.hpp"
#include "backend/cpu/dispatch/libraries.hpp"

namespace dl4::dispatch::DL4_FILE {
namespace {

using kernels::Kernel;

struct At {
  bool fits;
  DType type = DType::f32;
  DType dtype() const { return type; }
};

std::unique_ptr<Kernel> named(const char *name) {
  return kernels::make_kernel(name, 1, [](int64_t, const kernels::Run &) {});
}

template <int n>
double costs(const At &) {
  return n;
}

constexpr Candidate<At> candidates[] = {
    {"last", always, Candidate<At>::last_resort, [](const At &) { return named("last"); }},
    {"plain", always, costs<3>, [](const At &) { return named("plain"); }},
    {"failing", always, costs<2>, [](const At &) { return std::unique_ptr<Kernel>(); }},
    {"picky", [](const At &at) { return at.fits; }, costs<1>, [](const At &) { return named("picky, in parts"); }},
};

std::string chosen(bool fits, const std::vector<std::string> &off = {}, std::vector<Choice> *choices = nullptr) {
  Site site;
  site.off = off;
  site.choices = choices;
  return choose<At>(site, candidates, {fits})->name;
}

TEST(Choose, TakesTheCheapestThatAppliesAndCanBeMade) {
  EXPECT_EQ(chosen(true), "picky, in parts");
  EXPECT_EQ(chosen(false), "plain");
}

TEST(Choose, LeavesOutWhatIsOffButTheLastResort) {
  EXPECT_EQ(chosen(true, {"picky"}), "plain");
  EXPECT_EQ(chosen(true, {"picky", "plain", "last"}), "last");
  EXPECT_EQ(switches<At>(candidates), (std::vector<std::string>{"plain", "failing", "picky"}));
}

TEST(Choose, SaysWhy) {
  std::vector<Choice> choices;
  chosen(true, {}, &choices);
  EXPECT_EQ(told(choices), "picky 1 us, then failing 2, plain 3");
  chosen(false, {}, &choices);
  EXPECT_EQ(told(choices), "picky 1 us, then failing 2, plain 3; plain 3 us");
  choices.clear();
  chosen(false, {"plain"}, &choices);
  EXPECT_EQ(told(choices), "last, the last resort");
}

TEST(Choose, RefusesAKernelOfAnotherName) {
  static constexpr Candidate<At> wrong[] = {{"small", always, costs<1>, [](const At &) { return named("own gemm"); }}};
  try {
    choose<At>(Site(), wrong, {true});
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::internal);
    EXPECT_EQ(error.message, "the kernel \"own gemm\" is listed as small");
  }
}

TEST(Choose, RefusesWhatNoneComputesIn) {
  static constexpr Candidate<At> list[] = {
      {"ours", always, costs<1>, [](const At &) { return named("ours"); }, DType::i32},
      {"last", always, Candidate<At>::last_resort, [](const At &) { return named("last"); }},
  };
  EXPECT_EQ(choose<At>(Site(), list, {true, DType::i32})->name, "ours");
  EXPECT_EQ(choose<At>(Site(), list, {true})->name, "last");
  for (auto type : {DType::f64, DType::u8}) {
    try {
      choose<At>(Site(), list, {true, type});
      FAIL();
    } catch (const Error &error) {
      EXPECT_EQ(error.code, Code::unsupported);
      EXPECT_EQ(error.message, text("no kernel computes last in ", type, " for these shapes"));
    }
  }
}

TEST(KernelNames, AreSortedAndListedOnce) {
  const auto &names = kernel_names();
  std::vector<std::string> expected{
      "amx_gemm",       "bfloat16_gemm",    "int4_gemm",           "int8_conv",
      "int8_gemm",      "blocked_conv",     "blocked_conv_data",   "blocked_conv_weights",
      "blocked_gemm",   "channels_conv",    "channels_conv_data",  "channels_conv_weights",
      "depthwise_conv", "direct_conv",      "direct_conv_weights", "own_lstm",
      "packed_conv",    "packed_gemm",      "blocked_by_item",     "small_by_item",
      "small_gemm",     "turned_conv_data", "winograd_conv",       "winograd_conv_data",
      "bf16_conv",      "bf16_conv_data",   "bf16_conv_weights",   "bf16_gemm",
      "planar_conv",    "planar_conv_data", "shifted_conv",        "shifted_conv_data",
      "turned_gemm"};
  for (const char *name :
       {"amx_attention", "amx_attention_grad", "amx_by_item", "amx_conv", "amx_conv_data", "amx_conv_weights"})
    expected.emplace_back(name);
  if (!libraries().empty())
    for (const char *name :
         {"dnnl_conv", "dnnl_conv_data", "dnnl_conv_weights", "dnnl_gemm", "dnnl_lstm", "openblas_gemm"})
      expected.emplace_back(name);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names, expected);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

struct UnknownOp final : ops::NotDifferentiable<UnknownOp, "unknown"> {
  std::vector<ops::Operand> infer(ops::Operands src) const override { return {src[0]}; }
};

TEST(Cpu, RefusesAnOpWithoutARow) {
  try {
    backend::make_kernel(UnknownOp(), Site());
    FAIL() << "made a kernel";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::unsupported);
    EXPECT_EQ(error.message, "the CPU has no kernel for the op unknown");
  }
}

}  // namespace
}  // namespace dl4::dispatch::DL4_FILE
