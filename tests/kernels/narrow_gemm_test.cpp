// Products with weights in fewer bytes: bit for bit the same on every instruction set, and within what rounding the
// weights and the rows may cost.
#include "backend/cpu/kernels/gemm/narrow_gemm.hpp"

#include "base/error.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

// As on_every_target, with and without the instructions that multiply bytes.
template <class F>
void on_every_way(const F &f) {
  on_every_target(f);
  if ((hwy::SupportedTargets() & HWY_AVX3_DL) == 0) return;
  SCOPED_TRACE("VNNI");
  hwy::SetSupportedTargetsForTest(HWY_AVX3 | HWY_AVX3_DL);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  f();
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

struct Product {
  WeightType type;
  int64_t m, n, k;
  std::vector<float> a, b, d;  // b [k, n]
  bool relu = false;
};

Product random_product(WeightType type, int64_t m, int64_t n, int64_t k, uint32_t seed, float reach = 2) {
  return {type,
          m,
          n,
          k,
          random_floats(m * k, -reach, reach, seed),
          random_floats(k * n, -reach, reach, seed + 1),
          random_floats(n, -1, 1, seed + 2)};
}

size_t at(int64_t i) { return static_cast<size_t>(i); }

// The formula, number by number.
struct Codes {
  std::vector<int> codes;
  float scale;
};
Codes codes_of(const std::vector<float> &x, float most) {
  float largest = 0;
  for (float v : x) largest = std::isnan(v) || std::isnan(largest) ? nan : std::max(largest, std::fabs(v));
  if (!std::isfinite(largest)) return {std::vector<int>(x.size(), 0), nan};
  const float scale = largest / most;
  if (scale < std::numeric_limits<float>::min()) return {std::vector<int>(x.size(), 0), 0};
  Codes all{{}, scale};
  for (float v : x) all.codes.push_back(static_cast<int>(std::nearbyint(v * (most / largest))));
  return all;
}

std::vector<float> by_formula(const Product &p) {
  const int64_t group = p.type == WeightType::int4 ? int4_group : std::max<int64_t>(p.k, 1);
  const float most = p.type == WeightType::int4 ? 7 : 127;
  std::vector<float> c(at(p.m * p.n));
  std::vector<Codes> rows;
  for (int64_t i = 0; i < p.m; ++i) rows.push_back(codes_of({p.a.begin() + i * p.k, p.a.begin() + (i + 1) * p.k}, 127));
  for (int64_t j = 0; j < p.n; ++j) {
    std::vector<float> sums(at(p.m), 0);
    for (int64_t g = 0; g < p.k; g += group) {
      std::vector<float> column;
      for (int64_t l = g; l < std::min(p.k, g + group); ++l) column.push_back(p.b[at(l * p.n + j)]);
      const Codes b = codes_of(column, most);
      for (int64_t i = 0; i < p.m; ++i) {
        int64_t exact = 0;
        for (size_t l = 0; l < column.size(); ++l) exact += rows[at(i)].codes[at(g) + l] * b.codes[l];
        sums[at(i)] += static_cast<float>(exact) * b.scale;
      }
    }
    for (int64_t i = 0; i < p.m; ++i) {
      float v = sums[at(i)] * rows[at(i)].scale + p.d[at(j)];
      c[at(i * p.n + j)] = p.relu && v <= 0 ? 0 : v;
    }
  }
  return c;
}

std::shared_ptr<const NarrowWeights> weights_of(const Product &p, bool transposed = false) {
  if (!transposed) return narrow_weights({p.b.data()}, p.type, p.k, p.n, p.n);
  std::vector<float> t(p.b.size());
  for (int64_t l = 0; l < p.k; ++l)
    for (int64_t j = 0; j < p.n; ++j) t[at(j * p.k + l)] = p.b[at(l * p.n + j)];
  return narrow_weights({t.data()}, p.type, p.k, p.n, p.k, true);
}

std::vector<float> computed(const Product &p, bool transposed = false) {
  const auto w = weights_of(p, transposed);
  EXPECT_EQ(w->bytes, w->codes.bytes() + w->scales.bytes() + w->offsets.bytes());
  Edge<float> a(p.a), d(p.d), c(p.m * p.n);
  Edge<std::byte> scratch(w->is_integer() ? narrow_scratch(p.m, p.k) : 0);
  narrow_rows(*w, p.m, a, p.k, scratch);
  // In two pieces, as threads cut it.
  const int64_t cut = p.n / 2 / packed_panel * packed_panel;
  narrow_gemm(*w, p.m, 0, cut, a, p.k, scratch, d, 0, c, p.n, p.relu);
  narrow_gemm(*w, p.m, cut, p.n - cut, a, p.k, scratch, d + cut, 0, c + cut, p.n, p.relu);
  return c.vector();
}

bool same_bits(const std::vector<float> &a, const std::vector<float> &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::isnan(a[i]) ? !std::isnan(b[i]) : a[i] != b[i]) return false;
  return a.size() == b.size();
}

TEST(NarrowGemm, IntegersAreTheFormulaBitForBit) {
  std::vector<Product> products;
  uint32_t seed = 1;
  for (WeightType type : {WeightType::int8, WeightType::int4})
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                           {1, 32, 4},
                           {1, 33, 5},
                           {1, 128, 64},
                           {1, 257, 130},
                           {2, 40, 127},
                           {3, 96, 128},
                           {4, 65, 129},
                           {5, 31, 300},
                           {7, 64, 8},
                           {12, 70, 33},
                           {13, 100, 260},
                           {30, 34, 65},
                           {1, 5, 2000},
                           {1, 7, 65536}}) {
      products.push_back(random_product(type, m, n, k, seed += 3));
      products.back().relu = seed % 2 == 0;
    }
  std::vector<std::vector<float>> want;
  for (const Product &p : products) want.push_back(by_formula(p));
  on_every_way([&] {
    for (size_t i = 0; i < products.size(); ++i) {
      const Product &p = products[i];
      ASSERT_TRUE(same_bits(want[i], computed(p))) << p.m << " x " << p.n << " x " << p.k;
      ASSERT_TRUE(same_bits(want[i], computed(p, true))) << p.m << " x " << p.n << " x " << p.k << " transposed";
    }
  });
}

// The largest sum that must fit: all codes at their ends.
TEST(NarrowGemm, LargestSums) {
  for (float sign : {1.0f, -1.0f}) {
    Product p{WeightType::int8, 2, 33, most_int8_rows, {}, {}, std::vector<float>(33, 0)};
    p.a.assign(at(2 * p.k), 3), p.b.assign(at(p.k * p.n), sign * 5);
    const auto want = by_formula(p);
    on_every_way([&] { ASSERT_TRUE(same_bits(want, computed(p))); });
  }
}

TEST(NarrowGemm, ZerosAndWhatIsNoNumber) {
  for (WeightType type : {WeightType::int8, WeightType::int4}) {
    Product p = random_product(type, 6, 40, 140, 5);
    const auto row = [&](int64_t i) { return p.a.begin() + i * p.k; };
    std::fill(row(0), row(1), 0.0f);
    std::fill(row(1), row(2), 1e-40f);
    *row(2) = nan, *(row(3) + 7) = inf, *(row(4) + 139) = -inf;
    for (int64_t l = 0; l < p.k; ++l) p.b[at(l * p.n + 3)] = 0, p.b[at(l * p.n + 4)] = 1e-42f;
    const auto want = by_formula(p);
    on_every_way([&] {
      const auto got = computed(p);
      ASSERT_TRUE(same_bits(want, got));
      for (int64_t j = 0; j < p.n; ++j) {
        EXPECT_EQ(p.d[at(j)], got[at(j)]);
        EXPECT_EQ(p.d[at(j)], got[at(p.n + j)]);
        for (int64_t i = 2; i < 5; ++i) EXPECT_TRUE(std::isnan(got[at(i * p.n + j)]));
      }
      EXPECT_EQ(p.d[3], got[at(5 * p.n + 3)]);
      EXPECT_EQ(p.d[4], got[at(5 * p.n + 4)]);
    });
  }
}

TEST(NarrowGemm, RefusesWeightsWithoutAScale) {
  for (WeightType type : {WeightType::int8, WeightType::int4})
    for (float bad : {nan, inf, -inf, 2e30f}) {
      Product p = random_product(type, 1, 40, 200, 9);
      p.b[at(130 * p.n + 37)] = bad;
      try {
        weights_of(p);
        ADD_FAILURE() << bad;
      } catch (const Error &e) {
        EXPECT_NE(std::string(e.what()).find("column 37"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find(weight_type_names[at(static_cast<int64_t>(type))]), std::string::npos);
      }
    }
}

// What rounding may cost: half a step of each weight times the row, half a step of each number of the row times the
// weights, and both; for bfloat16 a part in 256 of each product.
double allowed(const Product &p, int64_t i, int64_t j) {
  const bool four = p.type == WeightType::int4, words = p.type == WeightType::bfloat16;
  auto a = [&](int64_t l) { return std::fabs(static_cast<double>(p.a[at(i * p.k + l)])); };
  auto b = [&](int64_t l) { return std::fabs(static_cast<double>(p.b[at(l * p.n + j)])); };
  double largest = 0, all = 0, sum = 0;
  for (int64_t l = 0; l < p.k; ++l) largest = std::max(largest, a(l)), all += a(l) * b(l);
  const double step_a = largest / 127;
  const int64_t group = four ? int4_group : std::max<int64_t>(p.k, 1);
  for (int64_t g = 0; g < p.k && !words; g += group) {
    double most = 0;
    const int64_t end = std::min(p.k, g + group);
    for (int64_t l = g; l < end; ++l) most = std::max(most, b(l));
    const double step_b = most / (four ? 7 : 127);
    for (int64_t l = g; l < end; ++l) sum += a(l) * step_b / 2 + b(l) * step_a / 2 + step_a * step_b / 4;
  }
  return (words ? all / 256 : sum * 1.0001) + 1e-5 * (all + 1);
}

TEST(NarrowGemm, ErrorsOfAThousandShapes) {
  std::mt19937 g(7);
  for (int i = 0; i < 1000; ++i) {
    const auto type = static_cast<WeightType>(1 + i % 3);
    auto size = [&](int most) { return 1 + static_cast<int64_t>(g() % static_cast<unsigned>(most)); };
    const Product p = random_product(type, size(6), size(80), size(400), static_cast<uint32_t>(3 * i + 1),
                                     std::ldexp(1.0f, static_cast<int>(g() % 20) - 10));
    const auto got = computed(p);
    for (int64_t r = 0; r < p.m; ++r)
      for (int64_t j = 0; j < p.n; ++j) {
        double exact = static_cast<double>(p.d[at(j)]);
        for (int64_t l = 0; l < p.k; ++l)
          exact += static_cast<double>(p.a[at(r * p.k + l)]) * static_cast<double>(p.b[at(l * p.n + j)]);
        ASSERT_LE(std::fabs(exact - static_cast<double>(got[at(r * p.n + j)])), allowed(p, r, j))
            << weight_type_names[at(1 + i % 3)] << ' ' << p.m << " x " << p.n << " x " << p.k;
      }
  }
}

// Weights that bfloat16 holds exactly: what is left is the sum in float32.
TEST(NarrowGemm, Bfloat16) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                         {1, 32, 4},
                         {1, 33, 5},
                         {1, 130, 64},
                         {2, 257, 130},
                         {3, 96, 128},
                         {5, 31, 300},
                         {12, 70, 33},
                         {30, 34, 65}}) {
    Product p = random_product(WeightType::bfloat16, m, n, k, static_cast<uint32_t>(m + n));
    for (float &v : p.b) {
      uint32_t bits;
      std::memcpy(&bits, &v, sizeof bits);
      bits &= 0xFFFF0000;
      std::memcpy(&v, &bits, sizeof bits);
    }
    on_every_target([&] {
      const auto got = computed(p);
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          double exact = static_cast<double>(p.d[at(j)]);
          for (int64_t l = 0; l < p.k; ++l)
            exact += static_cast<double>(p.a[at(i * p.k + l)]) * static_cast<double>(p.b[at(l * p.n + j)]);
          ASSERT_TRUE(near(exact, static_cast<double>(got[at(i * p.n + j)]), 1e-5, 1e-5));
        }
    });
  }
}

TEST(NarrowGemm, Bfloat16RoundsToTheNearestTiesToEven) {
  Product p{WeightType::bfloat16,    1, 5, 1, {1}, {1 + 1.0f / 256, 1 + 3.0f / 256, 1 + 1.0f / 256 + 1e-6f, inf, nan},
            std::vector<float>(5, 0)};
  EXPECT_TRUE(same_bits({1, 1 + 4.0f / 256, 1 + 2.0f / 256, inf, nan}, computed(p)));
}

TEST(NarrowGemm, NoRows) {
  for (WeightType type : {WeightType::bfloat16, WeightType::int8, WeightType::int4}) {
    Product p = random_product(type, 2, 33, 0, 1);
    std::vector<float> want(p.d);
    want.insert(want.end(), p.d.begin(), p.d.end());
    EXPECT_TRUE(same_bits(want, computed(p)));
  }
}

// What a session keeps: a quarter, an eighth with its scales, a half.
TEST(NarrowGemm, Bytes) {
  EXPECT_EQ(1024 * 1024 + 1024 * 8, narrow_bytes(WeightType::int8, 1024, 1024));
  EXPECT_EQ(1024 * 1024 / 2 + 8 * 1024 * 8, narrow_bytes(WeightType::int4, 1024, 1024));
  EXPECT_EQ(1024 * 1024 * 2, narrow_bytes(WeightType::bfloat16, 1024, 1024));
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
