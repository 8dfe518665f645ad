// gru_cell against the formula, and its gradient.
#include "ops/ops.hpp"

#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

Case cell_case(int64_t batch, int64_t units) {
  Case c{one([](Emit &e, const std::vector<Id> &in) { return ops::gru_cell(e, in[0], in[1], in[2]); }),
         randoms({{batch, 3 * units}, {batch, 3 * units}, {batch, units}})};
  c.reference = [=](const std::vector<Array> &in) {
    auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    Array h = in[2];
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t u = 0; u < units; ++u) {
        auto at = [&](int i, int64_t gate) { return in[static_cast<size_t>(i)][(b * 3 + gate) * units + u]; };
        const double z = sigmoid(at(0, 0) + at(1, 0)), r = sigmoid(at(0, 1) + at(1, 1));
        double &v = h[b * units + u];
        v = z * v + (1 - z) * std::tanh(at(0, 2) + r * at(1, 2));
      }
    return std::vector<Array>{h};
  };
  return c;
}

TEST(GruCell, Sizes) {
  for (int64_t batch : {0, 1, 3, 8})
    for (int64_t units : {1, 2, 5, 17}) check(cell_case(batch, units));
}

TEST(GruCell, Extremes) {
  Case c = cell_case(2, 3);
  c.gradient = false;
  for (float v : {100.0f, -100.0f}) {
    c.inputs[0].as<float>()[0] = v;
    c.inputs[0].as<float>()[4] = -v;
    c.inputs[0].as<float>()[8] = v;
    check(c);
  }
}

TEST(GruCell, Refusals) {
  auto build = [](Emit &e, const auto &v) { return ops::gru_cell(e, v[0], v[1], v[2]); };
  check_refused(build, std::vector<Shape>{{2, 6}, {2, 9}, {2, 2}}, Code::shape_mismatch,
                "gru_cell: expected gates of shape (2, 6), got (2, 9)");
  check_refused(build, std::vector<Shape>{{2, 6}, {2, 6}, {2}}, Code::shape_mismatch,
                "gru_cell: expected a state (B, U), got (2,)");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
