// A row of a cell alone has the bits that it has among others, on every instruction set.
#include "backend/cpu/kernels/recurrent/gru.hpp"
#include "backend/cpu/kernels/recurrent/lstm.hpp"
#include "targets.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

constexpr int64_t rows = 5;

template <class Cell>
void check(int64_t gates, int64_t h, const Cell &cell) {
  Edge<float> in(random_floats(rows * gates * h, -6, 6, 1)), before(random_floats(rows * h, -2, 2, 2));
  Edge<float> all(rows * h), one(h);
  cell(rows, in, before, all);
  for (int64_t r = 0; r < rows; ++r) {
    cell(1, in + r * gates * h, before + r * h, one);
    EXPECT_EQ(0, std::memcmp(one, all + r * h, static_cast<size_t>(h) * sizeof(float))) << h << " units, row " << r;
  }
}

TEST(Cells, AGruAloneIsAsAmongOthers) {
  on_every_target([] {
    for (const int64_t h : {1, 7, 8, 16, 31, 32, 33, 64}) {
      const auto cell = [h](int64_t n, const float *x, const float *before, float *after) {
        gru_cell(n, h, x, x, before, after);
      };
      check(3, h, cell);
    }
  });
}

TEST(Cells, AnLstmAloneIsAsAmongOthers) {
  on_every_target([] {
    for (const int64_t h : {1, 7, 8, 16, 31, 32, 33, 64}) {
      const auto cell = [h](int64_t n, const float *x, const float *before, float *after) {
        std::vector<float> gates(x, x + n * 4 * h), c(static_cast<size_t>(n * h));
        lstm_cell({n, h, h, {gates.data(), 4 * h}, {before, h}, {}, {}, {c.data(), h}, {after, h}, false});
      };
      check(4, h, cell);
    }
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
