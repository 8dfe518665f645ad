// NaN, infinities and denormals at every place of odd lengths, on every instruction set: against plain double.
#include "special_values.hpp"

#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "backend/cpu/kernels/gemm/small_gemm.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "backend/cpu/kernels/reduce/pool.hpp"
#include "backend/cpu/kernels/reduce/reduce.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

// Every product of A [m, k] and B [k, n] plus D, with a special value in each of them.
void check_products(int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
  Edge<float> a(random_floats(m * k, 0.5f, 2, 1)), b(random_floats(k * n, 0.5f, 2, 2)), c(m * n),
      d(random_floats(m * n, 0.5f, 2, 3)), at(m * k), bt(k * n), packed(packed_floats(k, n));
  auto check = [&](int64_t) {
    Values want;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        want.push_back(value(d[i * n + j]));
        for (int64_t q = 0; q < k; ++q) want.back() += value(a[i * k + q]) * value(b[q * n + j]);
      }
    const int64_t a_dims[] = {m, k}, b_dims[] = {k, n};
    const int turned[] = {1, 0};
    permute(4, 2, a_dims, turned, a, at, 0, k);
    permute(4, 2, b_dims, turned, b, bt, 0, n);
    pack_b(k, n, b, n, false, packed);
    for (int which = 0; which < 5; ++which) {
      if (which == 0) small_gemm(m, n, k, a, k, b, n, d, n, c, n);
      if (which == 1) small_gemm_at(m, n, k, at, m, b, n, d, n, c, n);
      if (which == 2) small_gemm_bt(m, n, k, a, k, bt, k, d, n, c, n);
      if (which == 3) dot_gemm(m, n, k, a, k, bt, k, d, n, c, n);
      if (which == 4) packed_gemm(m, n, k, a, k, packed, d, n, c, n);
      for (int64_t i = 0; i < m * n; ++i)
        EXPECT_TRUE(near(want[static_cast<size_t>(i)], value(c[i]))) << "product " << which << " at " << i;
    }
  };
  for (auto *x : {&a, &b, &d}) at_each_place(*x, check, 1 + x->size() / 15);
}

TEST(SpecialValues, Products) {
  on_every_target([] {
    check_products(7, 35, 3);
    check_products(3, 3, 17);
    check_products(5, 1, 17);
    check_products(1, 129, 129);
  });
}

TEST(SpecialValues, Sums) {
  everywhere([](Edge<float> &x, int64_t n) {
    double total = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      total += value(x[i]);
      squares += value(x[i]) * value(x[i]);
    }
    EXPECT_TRUE(near(squares, sum_squares(x, n)));
    EXPECT_EQ(std::isfinite(total), all_finite(x, n));
  });
}

double fold(Reduce f, const Values &v) {
  double r = f == Reduce::prod ? 1 : f == Reduce::max || f == Reduce::min ? v[0] : 0;
  for (const double x : v) {
    if (f == Reduce::max || f == Reduce::min)
      r = std::isnan(x) || (f == Reduce::max ? x > r : x < r) ? x : r;
    else if (f == Reduce::prod)
      r *= x;
    else
      r += f == Reduce::sum_squares ? x * x : f == Reduce::sum_abs ? std::fabs(x) : x;
  }
  return f == Reduce::mean ? r / static_cast<double>(v.size()) : r;
}

// Of equal ones the first; a NaN before all.
int64_t largest(const Values &v) {
  size_t b = 0;
  for (size_t i = 0; i < v.size() && !std::isnan(v[b]); ++i)
    if (std::isnan(v[i]) || v[i] > v[b]) b = i;
  return static_cast<int64_t>(b);
}

TEST(SpecialValues, Reductions) {
  everywhere([](Edge<float> &x, int64_t n) {
    for (const int64_t inner : {1, 3}) {
      Axis t(x, x.vector(), inner);
      Edge<float> y(inner);
      Edge<int32_t> most(inner);
      for (const Reduce f :
           {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min, Reduce::prod, Reduce::sum_squares, Reduce::sum_abs}) {
        reduce(f, t.a, y, 1, n, inner);
        for (int64_t i = 0; i < inner; ++i)
          EXPECT_TRUE(near(fold(f, t.column(t.a, inner, i)), value(y[i]))) << static_cast<int>(f) << ' ' << i;
      }
      argmax(t.a, DType::i32, most, 1, n, inner);
      for (int64_t i = 0; i < inner; ++i) EXPECT_EQ(largest(t.column(t.a, inner, i)), most[i]);
    }
  });
}

TEST(SpecialValues, ElementByElement) {
  everywhere([](Edge<float> &x, int64_t n) {
    Edge<float> y(random_floats(n, 0.5f, 2, 9)), out(n);
    auto expect = [&](const char *what, auto f) {
      for (int64_t i = 0; i < n; ++i) EXPECT_TRUE(near(f(value(x[i]), value(y[i])), value(out[i]))) << what << ' ' << i;
    };
    std::copy_n(y.data(), n, out.data());
    axpy(-2, x, out, n);
    expect("axpy", [](double a, double b) { return b - 2 * a; });
  });
}

template <class T>
void expect_cast(DType to, Edge<float> &x, int64_t n) {
  Edge<T> y(n);
  cast_run(DType::f32, to, x, y, n);
  for (int64_t i = 0; i < n; ++i) {
    const T whole = std::isnan(x[i]) ? T{0}
                    : x[i] == inf    ? std::numeric_limits<T>::max()
                    : x[i] == -inf   ? std::numeric_limits<T>::min()
                                     : static_cast<T>(x[i]);
    EXPECT_EQ(to == DType::boolean ? x[i] != 0 : whole, y[i]) << static_cast<int>(to) << ' ' << i;
  }
}

TEST(SpecialValues, Casts) {
  everywhere([](Edge<float> &x, int64_t n) {
    expect_cast<int32_t>(DType::i32, x, n);
    expect_cast<int64_t>(DType::i64, x, n);
    expect_cast<uint8_t>(DType::u8, x, n);
    expect_cast<uint8_t>(DType::boolean, x, n);
  });
}

// What is chosen, gathered or picked keeps its bits; what isn't leaves no trace.
TEST(SpecialValues, Choices) {
  everywhere([](Edge<float> &x, int64_t n) {
    Edge<float> y(random_floats(n, 0.5f, 2, 9)), out(n);
    Edge<uint8_t> mask(n);
    Edge<int32_t> ids(n);
    for (int64_t i = 0; i < n; ++i) mask[i] = i % 3 == 0, ids[i] = static_cast<int32_t>(n - 1 - i);
    auto expect = [&](const char *what, auto from) {
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(0, std::memcmp(from(i), out + i, 4)) << what << ' ' << i;
    };
    select_run(4, mask, 1, x, 1, y, 1, out, n);
    expect("select", [&](int64_t i) { return i % 3 == 0 ? x + i : y + i; });
    EXPECT_TRUE(gather_rows(4, x, n, DType::i32, ids, n, out, nullptr));
    expect("gather", [&](int64_t i) { return x + (n - 1 - i); });
    EXPECT_TRUE(pick_grad(x, n, 1, DType::u8, std::vector<uint8_t>(static_cast<size_t>(n)).data(), out, nullptr));
    expect("pick_grad", [&](int64_t i) { return x + i; });
  });
}

// Rows of one id are added up, the others not touched.
TEST(SpecialValues, SumsOfEqualIds) {
  on_every_target([] {
    const int64_t n = 5, width = 19;
    const int32_t ids[n] = {2, 0, 2, 1, 2};
    Edge<float> dy(random_floats(n * width, 0.5f, 2, 1)), sums(3 * width);
    Edge<uint64_t> keys(n);
    Edge<int64_t> segments(n + 1);
    ASSERT_EQ(3, sort_rows(DType::i32, ids, n, 3, keys, segments, nullptr));
    at_each_place(dy, [&](int64_t) {
      Values want(static_cast<size_t>(3 * width));
      for (int64_t i = 0; i < n * width; ++i)
        want[static_cast<size_t>(ids[i / width] * width + i % width)] += value(dy[i]);
      sum_equal_ids(keys, segments, 0, 3, dy, width, sums, nullptr);
      for (int64_t i = 0; i < 3 * width; ++i) EXPECT_TRUE(near(want[static_cast<size_t>(i)], value(sums[i]))) << i;
    });
  });
}

TEST(SpecialValues, Windows) {
  everywhere([](Edge<float> &x, int64_t c) {
    // Two cells of c channels each: the special ones, and ones.
    const Pool p{.n = 1, .c = c, .d = {}, .h = {}, .w = {.n = 2, .size = 2}};
    std::vector<float> both = x.vector();
    both.resize(both.size() * 2, 1.0f);
    Edge<float> cells(both), most(c), mean(c), dy(random_floats(c, 0.5f, 2, 9)), dx(2 * c);
    max_pool(p, cells, most, 0, 1);
    average_pool(p, cells, mean, 0, 1);
    max_pool_grad(p, cells, most, dy, dx, 0, 1);
    for (int64_t i = 0; i < c; ++i) {
      const double a = value(x[i]);
      const bool first = std::isnan(a) || a >= 1;
      EXPECT_TRUE(near(first ? a : 1, value(most[i]))) << i;
      EXPECT_TRUE(near((a + 1) / 2, value(mean[i]))) << i;
      EXPECT_EQ(first ? dy[i] : 0, dx[i]) << i;
      EXPECT_EQ(first ? 0 : dy[i], dx[c + i]) << i;
    }
    std::fill_n(cells.data(), c, 0.5f);
    std::fill_n(most.data(), c, 1.0f);
    max_pool_grad(p, cells, most, x, dx, 0, 1);
    for (int64_t i = 0; i < c; ++i) {
      EXPECT_EQ(0, dx[i]) << i;
      EXPECT_TRUE(near(value(x[i]), value(dx[c + i]))) << i;
    }
    average_pool_grad(p, x, dx, 0, 1);
    for (int64_t i = 0; i < 2 * c; ++i) EXPECT_TRUE(near(value(x[i % c]) / 2, value(dx[i]))) << i;
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
