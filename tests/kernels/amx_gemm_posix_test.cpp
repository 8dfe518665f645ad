// Products by tiles, on processors without them too: there each instruction is refused by the processor, and a handler
// of the signal does what Intel's manual says it does.
#include "backend/cpu/kernels/gemm/amx_gemm.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <signal.h>
#include <ucontext.h>
#include <xmmintrin.h>

#include "gemm_cases.hpp"
#include "targets.hpp"

namespace dl4::kernels {
namespace {

using namespace testing;

constexpr int rows = 16, words = 16;

float of_bfloat16(uint32_t upper) {
  float v;
  std::memcpy(&v, &upper, sizeof v);
  return v;
}
float low(uint32_t word) { return of_bfloat16(word << 16); }
float high(uint32_t word) { return of_bfloat16(word & 0xFFFF0000); }

// TDPBF16PS: even and odd k are summed apart, then added, then added to C. Denormal numbers count as zeros.
void multiply_words(float *c, const uint32_t *a, const uint32_t *b) {
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040);
  for (int i = 0; i < rows; ++i) {
    float even[words] = {}, odd[words] = {};
    for (int k = 0; k < words; ++k)
      for (int j = 0; j < words; ++j) {
        even[j] += low(a[i * words + k]) * low(b[k * words + j]);
        odd[j] += high(a[i * words + k]) * high(b[k * words + j]);
      }
    for (int j = 0; j < words; ++j) c[i * words + j] += even[j] + odd[j];
  }
  _mm_setcsr(mode);
}

// The tiles of this thread, whole ones, as the kernel configures them.
thread_local bool configured = false;
thread_local uint32_t tiles[8][rows * words];

struct Instruction {
  const uint8_t *at;
  bool is(int prefix, int opcode) const { return (at[2] & 3) == prefix && at[3] == opcode; }
  int mod() const { return at[4] >> 6; }
  int reg() const { return at[4] >> 3 & 7; }
  int rm() const { return at[4] & 7; }
  int third() const { return ~at[2] >> 3 & 7; }
};

int64_t value_of(const ucontext_t &context, int number) {
  constexpr int names[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[names[number]];
}

// Does the instruction, and steps over it.
void emulate(int, siginfo_t *, void *given) {
  auto &context = *static_cast<ucontext_t *>(given);
  auto &pc = context.uc_mcontext.gregs[REG_RIP];
  const Instruction in{reinterpret_cast<const uint8_t *>(pc)};
  const bool known = in.at[0] == 0xC4 && (in.at[1] & 0x1F) == 2;
  constexpr int none = 0, f3 = 2, f2 = 3;
  if (known && in.is(none, 0x49) && in.mod() == 3) {  // TILERELEASE
    configured = false;
    pc += 5;
  } else if (known && in.is(none, 0x49)) {  // LDTILECFG, of any address
    configured = true;
    std::memset(tiles, 0, sizeof tiles);
    const bool relative = in.mod() == 0 && in.rm() == 5;
    pc += 5 + (in.rm() == 4 ? 1 : 0) + (relative || in.mod() == 2 ? 4 : in.mod() == 1 ? 1 : 0);
  } else if (known && configured && in.is(f2, 0x49)) {  // TILEZERO
    std::memset(tiles[in.reg()], 0, sizeof tiles[0]);
    pc += 5;
  } else if (known && configured && (in.is(f2, 0x4B) || in.is(f3, 0x4B)) && in.rm() == 4) {  // TILELOADD, TILESTORED
    const int sib = in.at[5], base = (sib & 7) | (in.at[1] & 0x20 ? 0 : 8),
              index = (sib >> 3 & 7) | (in.at[1] & 0x40 ? 0 : 8);
    int64_t address = value_of(context, base);
    int length = 6;
    if (in.mod() == 1) address += static_cast<int8_t>(in.at[6]), length = 7;
    if (in.mod() == 2) {
      int32_t offset;
      std::memcpy(&offset, in.at + 6, sizeof offset);
      address += offset, length = 10;
    }
    const int64_t step = value_of(context, index) << (sib >> 6);
    for (int i = 0; i < rows; ++i) {
      auto *row = reinterpret_cast<char *>(address + i * step);
      if (in.is(f2, 0x4B))
        std::memcpy(tiles[in.reg()] + i * words, row, 64);
      else
        std::memcpy(row, tiles[in.reg()] + i * words, 64);
    }
    pc += length;
  } else if (known && configured && in.is(f3, 0x5C) && in.mod() == 3) {  // TDPBF16PS
    float c[rows * words];
    std::memcpy(c, tiles[in.reg()], sizeof c);
    multiply_words(c, tiles[in.rm()], tiles[in.third()]);
    std::memcpy(tiles[in.reg()], c, sizeof c);
    pc += 5;
  } else {
    signal(SIGILL, SIG_DFL);  // and it comes again
  }
}

class AmxGemm : public ::testing::Test {
 protected:
  AmxGemm() {
    if (has_tiles()) return;
    struct sigaction action {};
    action.sa_sigaction = emulate;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, &before_);
  }
  ~AmxGemm() override {
    if (!has_tiles()) sigaction(SIGILL, &before_, nullptr);
  }

 private:
  struct sigaction before_ {};
};

struct Sides {
  int64_t m, n, k;
  std::vector<float> a, b;
  Sides(int64_t m, int64_t n, int64_t k, uint32_t seed, float reach = 1)
      : m(m),
        n(n),
        k(k),
        a(random_floats(m * k, -reach, reach, seed)),
        b(random_floats(k * n, -reach, reach, seed + 1)) {}
  float &a_at(int64_t i, int64_t l) { return a[static_cast<size_t>(i * k + l)]; }
  float &b_at(int64_t l, int64_t j) { return b[static_cast<size_t>(l * n + j)]; }

  std::vector<float> by(const Kernel &kernel) const {
    std::vector<float> c(static_cast<size_t>(m * n)), x = a, y = b;
    EXPECT_EQ(run_kernel(kernel, {x.data(), y.data(), c.data()}), Fault::none);
    return c;
  }
  std::vector<float> by_tiles(int products = 6, bool constant = false) const {
    const Constant weights{b.data()};
    return by(*amx_gemm({.m = m, .n = n, .k = k}, 1, constant ? &weights : nullptr, products));
  }
  std::vector<float> plainly() const { return by(*blocked_gemm({.m = m, .n = n, .k = k}, 1)); }
  std::vector<double> exactly() const {
    std::vector<double> c(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l)
        for (int64_t j = 0; j < n; ++j)
          c[static_cast<size_t>(i * n + j)] +=
              double{a[static_cast<size_t>(i * k + l)]} * b[static_cast<size_t>(l * n + j)];
    return c;
  }
};

// The header's formula, number by number.
std::vector<std::array<float, 3>> parts_of(const std::vector<float> &x) {
  std::vector<std::array<float, 3>> all;
  for (float v : x) {
    auto &parts = all.emplace_back();
    for (float &p : parts) {
      uint32_t bits;
      std::memcpy(&bits, &v, sizeof bits);
      p = of_bfloat16((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000);
      v -= p;
    }
  }
  return all;
}
std::vector<float> by_formula(const Sides &s, int products) {
  constexpr std::array<std::pair<size_t, size_t>, 6> order{{{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}}};
  const auto a = parts_of(s.a), b = parts_of(s.b);
  std::vector<float> c;
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < s.k; l += 32)
        for (size_t q = order.size() - static_cast<size_t>(products); q < order.size(); ++q) {
          float halves[2] = {0, 0};
          for (int64_t x = l; x < std::min(l + 32, s.k); ++x)
            halves[x % 2] += a[static_cast<size_t>(i * s.k + x)][order[q].first] *
                             b[static_cast<size_t>(x * s.n + j)][order[q].second];
          sum += halves[0] + halves[1];
        }
      c.push_back(sum);
    }
  return c;
}

std::vector<uint32_t> bits_of(const std::vector<float> &v) {
  std::vector<uint32_t> bits(v.size());
  std::memcpy(bits.data(), v.data(), v.size() * sizeof(float));
  return bits;
}

void check(const Gemm &g, std::mt19937 &random) {
  Case c(g, random);
  c.check(amx_gemm(g, 2).get(), text(g, 2));
  if (g.stride_b) return;
  const Constant weights{c.b.begin()};
  c.check(amx_gemm(g, 1, &weights).get(), "constant " + text(g, 1));
}

// Tiles that are not whole in each direction, with whatever a product may have beside.
TEST_F(AmxGemm, OddSizes) {
  std::mt19937 random(1);
  check({.m = 1, .n = 1, .k = 1}, random);
  check({.m = 17, .n = 33, .k = 33, .bias = true}, random);
  check({.m = 33, .n = 17, .k = 7, .trans_a = true}, random);
  check({.m = 2, .n = 40, .k = 65, .trans_b = true, .bias = true}, random);
  Gemm apart{.m = 20, .n = 35, .k = 20, .trans_b = true, .lda = 45, .ldb = 40, .ldc = 55, .bias = true};
  apart.epilogue.run = doubled_plus_one;
  check(apart, random);
}
TEST_F(AmxGemm, Batches) {
  std::mt19937 random(3);
  check({.batch = 3, .m = 9, .n = 20, .k = 11, .stride_a = 99, .stride_b = 220, .stride_c = 180}, random);
}
TEST_F(AmxGemm, MoreThanOneBlock) {
  std::mt19937 random(11);
  check({.m = 530, .n = 3, .k = 9}, random);
  check({.m = 3, .n = 1060, .k = 9, .trans_b = true}, random);
  check({.m = 5, .n = 6, .k = 300, .trans_a = true, .bias = true}, random);
}
TEST_F(AmxGemm, RefusesWhatOthersDo) {
  EXPECT_EQ(amx_gemm({.m = 3, .n = 3, .k = 4, .trans_a = true, .trans_b = true}, 1), nullptr);
  EXPECT_EQ(amx_gemm({.m = 3, .n = 3, .k = 0}, 1), nullptr);
  EXPECT_EQ(amx_gemm({.m = 3, .n = 3, .k = 4, .by_row = true}, 1), nullptr);
  EXPECT_EQ(amx_gemm({.m = 0, .n = 3, .k = 4}, 1)->slices, 0);
}

// The layout is that of the hardware, and the sums are those of the header.
TEST_F(AmxGemm, SumsAreThoseOfTheFormula) {
  const Sides s(18, 17, 70, 3);
  for (int products : {6, 3, 1}) {
    const auto want = bits_of(by_formula(s, products));
    on_every_target([&] {
      EXPECT_EQ(bits_of(s.by_tiles(products)), want);
      EXPECT_EQ(bits_of(s.by_tiles(products, true)), want);
    });
  }
}

double mean_square(const std::vector<float> &c, const std::vector<double> &exact) {
  double sum = 0;
  for (size_t i = 0; i < c.size(); ++i) sum += (c[i] - exact[i]) * (c[i] - exact[i]);
  return std::sqrt(sum / static_cast<double>(c.size()));
}

// On no shape is it further from the exact product than multiply-adds are. By the formula: that takes less time.
TEST(AmxGemmFormula, ErrorIsNotAboveThatOfMultiplyAdds) {
  std::mt19937 random(5);
  const auto any = [&](int64_t first, int64_t last) {
    return std::uniform_int_distribution<int64_t>(first, last)(random);
  };
  double six = 0, three = 0, adds = 0, size = 0;
  for (uint32_t shape = 0; shape < 1000; ++shape) {
    const Sides s(any(16, 40), any(16, 40), any(64, 320), 1000 + shape);
    const auto exact = s.exactly();
    const double of_tiles = mean_square(by_formula(s, 6), exact), of_adds = mean_square(s.plainly(), exact);
    EXPECT_LE(of_tiles, of_adds) << s.m << 'x' << s.n << 'x' << s.k;
    six += of_tiles, adds += of_adds, three += mean_square(by_formula(s, 3), exact);
    size += mean_square(std::vector<float>(exact.size()), exact);
  }
  std::printf("of the numbers' size: %.2g by six products, %.2g by three, %.2g by multiply-adds\n", six / size,
              three / size, adds / size);
  EXPECT_LT(three, 5e-6 * size);
}

// What has no three normal parts is multiplied as elsewhere.
TEST_F(AmxGemm, EndsOfTheRange) {
  const float tiny = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
  for (float special : {nan, inf, -inf, tiny, 1e-38f, 1e-20f, 1e30f, most}) {
    Sides row(33, 20, 40, 7), column(33, 20, 40, 8), element(33, 20, 40, 9);
    for (int64_t l = 0; l < row.k; ++l) row.a_at(5, l) = column.b_at(l, 3) = special * (l % 2 ? 1.0f : 0.5f);
    element.a_at(31, 11) = special;
    for (Sides *s : {&row, &column, &element}) {
      const auto got = s->by_tiles(), want = s->plainly();
      for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(near(want[i], got[i], 1e-4, 1e-45)) << special << " at " << i;
    }
    if (special != inf && special != -inf) continue;
    const Constant weights{column.b.data()};
    EXPECT_EQ(amx_gemm({.m = 33, .n = 20, .k = 40}, 1, &weights), nullptr);
  }
  Sides zeros(20, 20, 40, 10);
  std::fill(zeros.a.begin(), zeros.a.end(), 0.0f);
  EXPECT_EQ(zeros.by_tiles(), std::vector<float>(400, 0.0f));
}

// Numbers far apart in one row and column keep their digits.
TEST_F(AmxGemm, AllDigitsOfANumberCount) {
  Sides s(16, 16, 64, 21);
  std::fill(s.a.begin(), s.a.end(), 0.0f);
  std::fill(s.b.begin(), s.b.end(), 0.0f);
  std::mt19937 random(22);
  std::uniform_real_distribution<float> any(0.5f, 1);
  for (int64_t i = 0; i < 16; ++i) {
    s.a_at(i, i) = std::ldexp(any(random), static_cast<int>(i) - 8);
    s.b_at(i, i) = 1;
  }
  const auto c = s.by_tiles();
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(c[static_cast<size_t>(i * 17)], s.a_at(i, i));
}

}  // namespace
}  // namespace dl4::kernels
#endif
