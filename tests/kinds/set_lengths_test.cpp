// SetLengths: the mask that lengths are, under layers that obey it.
#include "kinds/layer_call.hpp"

namespace dl4::test::DL4_FILE {
namespace {

Tensor lengths(std::vector<int64_t> values, DType dtype) {
  return naive(dtype, {static_cast<int64_t>(values.size())},
               [&](const auto &at) { return values[static_cast<size_t>(at[0])]; });
}

TEST(SetLengths, IsTheMaskOfTheFirstSteps) {
  for (DType dtype : {DType::i32, DType::i64}) {
    LayerCall l("SetLengths");
    const Symbol out = l.call({l.input({free_dim, free_dim, 3}), l.input({free_dim}, dtype)})[0];
    EXPECT_EQ(l.shape({out.mask}), (Shape{free_dim, free_dim}));
    const Tensor x = naive(DType::f32, {5, 4, 3}, [](const auto &at) { return at[0] + at[2]; });
    const auto found = l.run({out, {out.mask}}, {x, lengths({2, 0, 4, 9, -1}, dtype)});
    const int64_t valid[] = {2, 0, 4, 4, 0};
    for (int64_t b = 0; b < 5; ++b)
      for (int64_t t = 0; t < 4; ++t) EXPECT_EQ(found[1].as<uint8_t>()[4 * b + t] != 0, t < valid[b]) << b << ' ' << t;
    for (int64_t i = 0; i < x.elements(); ++i) EXPECT_EQ(found[0].as<float>()[i], x.as<float>()[i]);
  }
}

TEST(SetLengths, Refusals) {
  const auto refused = [](const Shape &x, const Shape &n, DType dtype, const char *words, Code code) {
    expect_refusal(code, words, [&] {
      LayerCall l("SetLengths");
      l.call({l.input(x), l.input(n, dtype)});
    });
  };
  refused({2, 3, 4}, {2}, DType::f32, "input 1: expected int32 or int64, got float32", Code::invalid_argument);
  refused({2, 3, 4}, {3}, DType::i32, "input 1: expected shape (2,), got (3,)", Code::shape_mismatch);
  refused({2, 3, 4}, {2, 3}, DType::i32, "expected ndim=1, found ndim=2", Code::shape_mismatch);
  refused({2}, {2}, DType::i32, "found ndim=1", Code::shape_mismatch);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
