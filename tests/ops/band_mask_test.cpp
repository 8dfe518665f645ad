// band_mask: which keys lie near a query.
#include "harness/evaluate.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

TEST(BandMask, KeysFromBeforeToAfter) {
  for (int64_t before : {0, 1, 3, 100})
    for (int64_t after : {0, 2, 100})
      for (const Shape &s : {Shape{2, 5, 3}, Shape{4, 9}, Shape{1, 1, 1}, Shape{3, 0}, Shape{0, 3}})
        check([=](Emit &e, const auto &in) { return band_mask(e, in[0], before, after); }, {random(s, 1)},
              naive(DType::boolean, s.last(2),
                    [=](const auto &i) { return i[1] >= i[0] - before && i[1] <= i[0] + after; }));
}

TEST(BandMask, CausalIsUpToTheQuery) {
  check([](Emit &e, const auto &in) { return causal_mask(e, in[0]); }, {random({2, 3}, 1)},
        tensor<bool>({2, 3}, {true, false, false, true, true, false}));
}

TEST(BandMask, Refuses) {
  check_refused([](Emit &e, const auto &in) { return causal_mask(e, in[0]); }, {Shape{3}}, Code::shape_mismatch,
                "band_mask expects scores (..., T, S)");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
