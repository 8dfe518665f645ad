// Our own products against double precision: every shape of tile and tail, strides, bias, accumulation, instruction
// set.
#include "backend/cpu/kernels/gemm/small_gemm.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

enum class Add { nothing, bias, matrix, itself };

void check(int64_t m, int64_t n, int64_t k, Add add) {
  SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + " add " +
               std::to_string(static_cast<int>(add)));
  const int64_t lda = k + 1, ldb = n + 2, ldt = k + 3, ldu = m + 2, ldc = n + 1;
  auto matrix = [](int64_t rows, int64_t cols, int64_t ld) { return rows > 0 ? (rows - 1) * ld + cols : 0; };
  Edge<float> a(random_floats(matrix(m, k, lda), -1, 1, 1)), b(random_floats(matrix(k, n, ldb), -1, 1, 2));
  Edge<float> t(matrix(n, k, ldt)), u(matrix(k, m, ldu)), packed(packed_floats(k, n)), packed_t(packed_floats(k, n));
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j) t[j * ldt + i] = b[i * ldb + j];
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < k; ++j) u[j * ldu + i] = a[i * lda + j];
  pack_b(k, n, b, ldb, false, packed);
  pack_b(k, n, t, ldt, true, packed_t);
  if (packed.size() > 0) {
    ASSERT_EQ(0, std::memcmp(packed, packed_t, static_cast<size_t>(packed.size()) * sizeof(float)));
  }
  const auto old = random_floats(matrix(m, n, ldc), -1, 1, 3);
  for (int which = 0; which < 5; ++which) {
    Edge<float> c(old), other(old), bias(random_floats(n, -1, 1, 3));
    const float *d = add == Add::nothing  ? nullptr
                     : add == Add::bias   ? bias.data()
                     : add == Add::matrix ? other.data()
                                          : c.data();
    const int64_t ldd = add == Add::bias ? 0 : ldc;
    if (which == 0) small_gemm(m, n, k, a, lda, b, ldb, d, ldd, c, ldc);
    if (which == 1) small_gemm_bt(m, n, k, a, lda, t, ldt, d, ldd, c, ldc);
    if (which == 2) packed_gemm(m, n, k, a, lda, packed, d, ldd, c, ldc);
    if (which == 4) dot_gemm(m, n, k, a, lda, t, ldt, d, ldd, c, ldc);
    if (which == 3) small_gemm_at(m, n, k, u, ldu, b, ldb, d, ldd, c, ldc);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double want = add == Add::nothing ? 0
                      : add == Add::bias  ? static_cast<double>(bias[j])
                                          : static_cast<double>(old[static_cast<size_t>(i * ldc + j)]);
        for (int64_t q = 0; q < k; ++q)
          want += static_cast<double>(a[i * lda + q]) * static_cast<double>(b[q * ldb + j]);
        ASSERT_TRUE(near(want, static_cast<double>(c[i * ldc + j]), 1e-5, 1e-6 * (1 + static_cast<double>(k) / 64)))
            << which << " at " << i << ", " << j;
      }
    for (int64_t i = 0; i + 1 < m; ++i)
      ASSERT_EQ(old[static_cast<size_t>(i * ldc + n)], c[i * ldc + n]) << "between rows";
  }
}

TEST(SmallGemm, ShortRows) {
  on_every_target([] {
    for (int64_t n = 1; n <= 17; ++n)
      for (int64_t k = 1; k <= 5; ++k)
        for (const Add add : {Add::nothing, Add::bias, Add::matrix, Add::itself})
          for (const int64_t m : {1, 5}) check(m, n, k, add);
  });
}

TEST(SmallGemm, EveryRowCount) {
  on_every_target([] {
    for (int64_t m = 1; m <= 20; ++m)
      for (const int64_t n : {1, 2, 4, 5, 16, 33, 64, 70})
        for (const int64_t k : {0, 1, 2, 6, 7, 40}) check(m, n, k, static_cast<Add>((m + n + k) % 4));
  });
}

TEST(SmallGemm, EveryWidth) {
  on_every_target([] {
    for (int64_t n = 1; n <= 140; ++n)
      for (const int64_t m : {1, 2, 4, 7}) check(m, n, 9, static_cast<Add>((m + n) % 4));
  });
}

TEST(SmallGemm, MoreThanOnePart) {
  on_every_target([] {
    for (const int64_t n : {3, 8, 140})
      for (const int64_t m : {3, 9})
        for (const int64_t k : {100, 128, 600}) check(m, n, k, static_cast<Add>((m + n + k) % 4));
  });
}

TEST(SmallGemm, OneDenseColumn) {
  on_every_target([] {
    for (const int64_t k : {5, 16, 70}) {
      const int64_t m = 7;
      Edge<float> a(random_floats(m * k, -1, 1, 1)), b(random_floats(k, -1, 1, 2)), c(m);
      small_gemm(m, 1, k, a, k, b, 1, nullptr, 0, c, 1);
      for (int64_t i = 0; i < m; ++i) {
        double want = 0;
        for (int64_t q = 0; q < k; ++q) want += static_cast<double>(a[i * k + q]) * static_cast<double>(b[q]);
        ASSERT_TRUE(near(want, static_cast<double>(c[i]), 1e-5, 1e-6)) << k << " at " << i;
      }
    }
  });
}

TEST(SmallGemm, OneRowAgainstALargeMatrix) {
  on_every_target([] {
    for (const int64_t n : {64, 129, 2100})
      for (const Add add : {Add::nothing, Add::bias, Add::itself}) check(1, n, 261, add);
  });
}

// Groups of rows whose numbers lie in pieces, of which some groups leave some out.
TEST(SmallGemm, GroupsAndParts) {
  on_every_target([] {
    for (const int64_t k : {1, 37, 300, 1100})
      for (const int64_t n : {16, 70})
        for (const bool some : {false, true}) {
          constexpr int64_t m = 5, groups = 4, parts = 3;
          const int64_t lda = k + 3, part_a = m * lda + 7, group_a = 2 * part_a, ldc = n + 1, group_c = m * ldc + 5;
          const auto a = random_floats((groups - 1) * group_a + parts * part_a, -1, 1, 1);
          const auto b = random_floats(parts * k * n, -1, 1, 2), bias = random_floats(n, -1, 1, 3);
          std::vector<float> packed(static_cast<size_t>(packed_floats(parts * k, n)));
          pack_b(parts * k, n, b.data(), n, false, packed.data());
          Edge<float> c(groups * group_c);
          std::fill_n(c.data(), c.size(), 123.0f);
          const PackedGemm::Range used[groups] = {{0, 3}, {1, 3}, {0, 1}, {2, 2}};
          PackedGemm g{m, n, k, a.data(), lda, packed.data(), bias.data(), 0, c.data(), ldc};
          g.groups = groups, g.group_a = group_a, g.group_c = group_c, g.parts = parts, g.part_a = part_a;
          if (some) g.used = used;
          packed_gemm(g);
          for (int64_t at = 0; at < c.size(); ++at) {
            const int64_t group = at / group_c, i = at % group_c / ldc, j = at % group_c % ldc;
            if (i >= m || j >= n) {
              ASSERT_EQ(c[at], 123.0f) << "between rows";
              continue;
            }
            double want = static_cast<double>(bias[static_cast<size_t>(j)]);
            for (int64_t s = some ? used[group].first : 0; s < (some ? used[group].last : parts); ++s)
              for (int64_t q = 0; q < k; ++q)
                want += static_cast<double>(a[static_cast<size_t>(group * group_a + i * lda + s * part_a + q)]) *
                        static_cast<double>(b[static_cast<size_t>((s * k + q) * n + j)]);
            ASSERT_TRUE(near(want, static_cast<double>(c[at]), 1e-5, 1e-6 * (1 + parts * static_cast<double>(k) / 64)))
                << k << ", " << n << ": " << at;
          }
        }
  });
}

TEST(SmallGemm, KeepsNan) {
  on_every_target([] {
    const std::vector<float> a = {0, nan}, b(2 * 40, 0.0f);
    std::vector<float> c(40), p(static_cast<size_t>(packed_floats(2, 40)));
    small_gemm(1, 40, 2, a.data(), 2, b.data(), 40, nullptr, 0, c.data(), 40);
    for (float v : c) EXPECT_TRUE(std::isnan(v));
    pack_b(2, 40, b.data(), 40, false, p.data());
    packed_gemm(1, 40, 2, a.data(), 2, p.data(), nullptr, 0, c.data(), 40);
    for (float v : c) EXPECT_TRUE(std::isnan(v));
  });
}

TEST(PackedGemm, ByRowEachHasTheBitsThatItHasAlone) {
  on_every_target([] {
    for (const int64_t n : {1, 8, 16, 20, 33, 96, 128, 140, 300})
      for (const int64_t k : {1, 3, 8, 37})
        for (const bool adds : {false, true}) {
          SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(k));
          constexpr int64_t m = 13;
          const int64_t lda = k + 2, ldc = n + 1;
          const auto a = random_floats(m * lda, -1, 1, 1), b = random_floats(k * n, -1, 1, 2);
          const auto bias = random_floats(n, -1, 1, 3);
          const float *d = adds ? bias.data() : nullptr;
          std::vector<float> packed(static_cast<size_t>(packed_floats(k, n))), alone(static_cast<size_t>(n));
          pack_b(k, n, b.data(), n, false, packed.data());
          Edge<float> c((m - 1) * ldc + n);
          PackedGemm g{m, n, k, a.data(), lda, packed.data(), d, 0, c.data(), ldc};
          g.relu = adds;
          g.by_row = n;
          packed_gemm(g);
          const auto expect = [&] {
            for (int64_t i = 0; i < m; ++i) {
              packed_gemm(1, n, k, a.data() + i * lda, lda, packed.data(), d, 0, alone.data(), n, adds);
              for (int64_t j = 0; j < n; ++j)
                ASSERT_EQ(c[i * ldc + j], alone[static_cast<size_t>(j)]) << i << ", " << j;
            }
          };
          expect();
          for (g.column = packed_panel; g.column < n; g.column += packed_panel) {  // the columns from there on again
            g.n = n - g.column, g.packed = packed.data() + g.column * k, g.c = c.data() + g.column;
            g.d = d ? d + g.column : nullptr;
            packed_gemm(g);
            expect();
          }
        }
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
