// Permutes, strided copies, rows by index and sums over equal indices.
#include "backend/cpu/kernels/movement/movement.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

template <class T>
void check_permute(const std::vector<int64_t> &dims, const std::vector<int> &perm) {
  const int rank = static_cast<int>(dims.size());
  const int64_t size = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  Edge<T> x(size), y(size);
  // Half of them signalling NaN, which arithmetic would change; the others denormal.
  for (int64_t i = 0; i < size; ++i) x[i] = static_cast<T>((i % 2 ? 0x7ff400017fa00001 : 0) + i * 7 + 1);
  const int64_t rows = rank > 0 ? dims[static_cast<size_t>(perm[0])] : 1;
  permute(sizeof(T), rank, dims.data(), perm.data(), x, y, 0, rows / 2);
  permute(sizeof(T), rank, dims.data(), perm.data(), x, y, rows / 2, rows);
  std::vector<int64_t> at(dims.size());
  for (int64_t i = 0; i < size; ++i) {
    int64_t rest = i;
    for (size_t k = dims.size(); k-- > 0;) {
      at[k] = rest % dims[k];
      rest /= dims[k];
    }
    int64_t to = 0;
    for (const int p : perm) to = to * dims[static_cast<size_t>(p)] + at[static_cast<size_t>(p)];
    ASSERT_EQ(x[i], y[to]);
  }
}

TEST(Permute, EveryOrderOfFourAxes) {
  on_every_target([] {
    std::vector<int> perm = {0, 1, 2, 3};
    do {
      for (const auto &dims : {std::vector<int64_t>{2, 3, 4, 5}, {1, 7, 1, 9}, {3, 1, 33, 2}, {2, 0, 3, 1}}) {
        check_permute<uint8_t>(dims, perm);
        check_permute<uint32_t>(dims, perm);
        check_permute<uint64_t>(dims, perm);
      }
    } while (std::next_permutation(perm.begin(), perm.end()));
  });
}

TEST(Permute, MatricesOfManySizes) {
  on_every_target([] {
    for (int64_t m : {1, 2, 3, 4, 5, 8, 31, 32, 33, 70})
      for (int64_t n : {1, 2, 3, 4, 7, 16, 31, 32, 35, 67}) check_permute<uint32_t>({m, n}, {1, 0});
  });
  check_permute<uint32_t>({}, {});
  check_permute<uint32_t>({2, 1, 2, 3, 1, 2, 2, 2}, {7, 0, 5, 2, 3, 4, 1, 6});
}

TEST(CopyStrided, StepsReversesAndRepeats) {
  on_every_target([] {
    const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};  // [3, 4]
    std::vector<float> y(6, -1);
    const int64_t dims[] = {3, 2}, every_other[] = {4, 2}, dense[] = {2, 1}, back[] = {-4, -1}, none[] = {0, 0},
                  row[] = {0, 1};
    copy_strided(4, 2, dims, x.data(), every_other, y.data(), dense);
    EXPECT_EQ((std::vector<float>{0, 2, 4, 6, 8, 10}), y);
    copy_strided(4, 2, dims, x.data() + 11, back, y.data(), dense);
    EXPECT_EQ((std::vector<float>{11, 10, 7, 6, 3, 2}), y);
    copy_strided(4, 2, dims, x.data() + 5, none, y.data(), dense);
    EXPECT_EQ(std::vector<float>(6, 5.0f), y);
    copy_strided(4, 2, dims, x.data() + 1, row, y.data(), dense);
    EXPECT_EQ((std::vector<float>{1, 2, 1, 2, 1, 2}), y);
  });
}

TEST(GatherRows, EveryIdType) {
  const std::vector<float> table = {0, 1, 10, 11, 20, 21};
  const int32_t i[] = {2, 0, 2};
  const int64_t l[] = {2, 0, 2};
  const uint8_t u[] = {2, 0, 2};
  const float f[] = {2.9f, 0, 2};
  const std::pair<DType, const void *> all[] = {{DType::i32, i}, {DType::i64, l}, {DType::u8, u}, {DType::f32, f}};
  for (const auto &[type, ids] : all) {
    Edge<float> y(6);
    Report report;
    EXPECT_TRUE(gather_rows(8, table.data(), 3, type, ids, 3, y, &report));
    EXPECT_EQ((std::vector<float>{20, 21, 0, 1, 20, 21}), y.vector());
    EXPECT_EQ(Fault::none, report.fault);
  }
}

TEST(GatherRows, ReportsTheFirstIdThatIsOut) {
  const std::vector<float> table(6), bad = {1, nan, 7};
  std::vector<float> y(6);
  const int64_t ids[] = {1, -4, 7};
  Report report, other;
  EXPECT_FALSE(gather_rows(8, table.data(), 3, DType::i64, ids, 3, y.data(), &report));
  EXPECT_EQ(Fault::index_out_of_range, report.fault);
  EXPECT_EQ(-4, report.value);
  EXPECT_FALSE(gather_rows(8, table.data(), 3, DType::f32, bad.data(), 3, y.data(), &other));
  EXPECT_EQ(-1, other.value);
}

TEST(SegmentSum, AddsInOrderOfPlace) {
  const int64_t n = 300, width = 7, rows = 20;
  std::vector<int32_t> ids(static_cast<size_t>(n));
  std::mt19937 g(3);
  for (auto &v : ids) v = static_cast<int32_t>(g() % rows);
  const auto dy = random_floats(n * width);
  std::vector<uint64_t> keys(static_cast<size_t>(n));
  std::vector<int64_t> segments(static_cast<size_t>(n) + 1), unique(keys.size());
  Report report;
  const int64_t count = sort_rows(DType::i32, ids.data(), n, rows, keys.data(), segments.data(), &report);
  std::map<int64_t, std::vector<float>> want;
  for (size_t i = 0; i < ids.size(); ++i) {
    auto &row = want.try_emplace(ids[i], static_cast<size_t>(width), 0.0f).first->second;
    for (size_t j = 0; j < row.size(); ++j) row[j] += dy[i * static_cast<size_t>(width) + j];
  }
  ASSERT_EQ(static_cast<int64_t>(want.size()), count);
  Edge<float> out(count * width);
  sum_equal_ids(keys.data(), segments.data(), 0, count / 2, dy.data(), width, out, unique.data());
  sum_equal_ids(keys.data(), segments.data(), count / 2, count, dy.data(), width, out, unique.data());
  int64_t s = 0;
  for (const auto &[id, row] : want) {
    EXPECT_EQ(id, unique[static_cast<size_t>(s)]);
    for (int64_t j = 0; j < width; ++j) EXPECT_EQ(row[static_cast<size_t>(j)], out[s * width + j]);
    ++s;
  }
  EXPECT_EQ(-1, sort_rows(DType::i32, ids.data(), n, 5, keys.data(), segments.data(), &report));
  EXPECT_EQ(0, sort_rows(DType::i32, ids.data(), 0, 5, keys.data(), segments.data(), &report));
}

TEST(Pick, TakesAndPuts) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6}, dy = {10, 20, 30};
  const int64_t labels[] = {1, 0, 0}, bad[] = {1, -1, 0};
  std::vector<float> y(3), dx(6);
  Report report;
  EXPECT_TRUE(pick(x.data(), 3, 2, DType::i64, labels, y.data(), &report));
  EXPECT_EQ((std::vector<float>{2, 3, 5}), y);
  EXPECT_TRUE(pick_grad(dy.data(), 3, 2, DType::i64, labels, dx.data(), &report));
  EXPECT_EQ((std::vector<float>{0, 10, 20, 0, 30, 0}), dx);
  EXPECT_FALSE(pick(x.data(), 3, 2, DType::i64, bad, y.data(), &report));
  EXPECT_EQ(-1, report.value);
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
