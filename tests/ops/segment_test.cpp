// segment_sum, segment_max, segment_softmax, segment_gather and indices: any order of ids, none, batches, ids past the
// last.
#include "ops/ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

enum class What { sum, max, softmax, gather };

struct Sizes {
  int64_t batch, rows, segments, width;
};

// Inputs: x, ids.
std::vector<Array> naive(const std::vector<Array> &in, const Sizes &s, What what) {
  const bool by_row = what == What::softmax || what == What::gather;
  Array y = zeros({s.batch, by_row ? s.rows : s.segments, s.width});
  if (what == What::max) std::fill(y.v.begin(), y.v.end(), double{std::numeric_limits<float>::lowest()});
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t i = 0; i < s.rows; ++i) {
      const auto id = static_cast<int64_t>(in[1][b * s.rows + i]);
      if (id < 0) continue;
      for (int64_t j = 0; j < s.width; ++j) {
        const int64_t row = (b * s.rows + i) * s.width + j, at = (b * s.segments + id) * s.width + j;
        if (what == What::sum) y[at] += in[0][row];
        if (what == What::max) y[at] = std::max(y[at], in[0][row]);
        if (what == What::gather) y[row] = in[0][at];
        if (what != What::softmax) continue;
        double sum = 0;
        for (int64_t k = 0; k < s.rows; ++k)
          if (static_cast<int64_t>(in[1][b * s.rows + k]) == id)
            sum += std::exp(in[0][(b * s.rows + k) * s.width + j] - in[0][row]);
        y[row] = 1 / sum;
      }
    }
  return {y};
}

Case segment_case(const Sizes &s, What what, DType type = DType::i32) {
  Case c;
  c.build = one([=](Emit &e, const auto &in) {
    Id like = fill(e, DType::f32, 0, in[1], 1, {s.segments});
    return what == What::gather ? segment_gather(e, in[0], in[1])
           : what == What::sum  ? segment_sum(e, in[0], in[1], like)
           : what == What::max  ? segment_max(e, in[0], in[1], like)
                                : segment_softmax(e, in[0], in[1], like);
  });
  c.inputs = {random({s.batch, what == What::gather ? s.segments : s.rows, s.width}, 1, -1, 1),
              random({s.batch, s.rows}, 2, type == DType::u8 ? 0 : -1.4, static_cast<double>(s.segments) - 0.01, type)};
  c.reference = [=](const auto &in) { return naive(in, s, what); };
  c.gradient = what != What::max && type != DType::f32 && s.batch * s.rows * s.width < 300;
  c.free_axes = {};
  return c;
}

TEST(Segments, EverySize) {
  for (What what : {What::sum, What::max, What::softmax, What::gather})
    for (const Sizes &s : {Sizes{1, 7, 3, 2}, Sizes{2, 9, 4, 3}, Sizes{3, 5, 8, 1}, Sizes{1, 200, 17, 5},
                           Sizes{2, 64, 100, 33}, Sizes{1, 1, 1, 1}}) {
      SCOPED_TRACE(text(static_cast<int>(what), ' ', s.batch, ' ', s.rows, ' ', s.segments, ' ', s.width));
      check(segment_case(s, what));
    }
}

TEST(Segments, ZeroSizes) {
  for (What what : {What::sum, What::max, What::softmax, What::gather})
    for (const Sizes &s : {Sizes{0, 7, 3, 2}, Sizes{2, 0, 4, 3}, Sizes{2, 5, 3, 0}, Sizes{2, 0, 0, 3}})
      check(segment_case(s, what));
}

TEST(Segments, EveryTypeOfIds) {
  for (DType type : {DType::i32, DType::i64, DType::u8, DType::f32}) check(segment_case({2, 9, 4, 3}, What::sum, type));
}

TEST(Segments, EqualMaximaShareTheGradient) {
  auto build = [](Emit &e, const auto &in) {
    return segment_max(e, in[0], in[1], fill(e, DType::f32, 0, in[1], 0, {3}));
  };
  const Tensor ids = tensor<int32_t>({5}, {1, 1, 0, 1, -1});
  auto d = gradients(one(build), 2, {0});
  check(d, {tensor<float>({5}, {2, 5, 1, 5, 7}), ids, tensor<float>({3}, {3, 4, 5})},
        {tensor<float>({5}, {0, 2, 3, 2, 0})});
}

TEST(Segments, SoftmaxOfLargeNumbers) {
  auto build = [](Emit &e, const auto &in) {
    return segment_softmax(e, in[0], in[1], fill(e, DType::f32, 0, in[1], 0, {2}));
  };
  check(build, {tensor<float>({4}, {1e30f, -1e30f, 3e38f, 3e38f}), tensor<int32_t>({4}, {0, 0, 1, 1})},
        tensor<float>({4}, {1, 0, 0.5f, 0.5f}));
}

TEST(Segments, AnIdPastTheLastIsAFault) {
  for (int64_t segments : {3, 0})
    for (What what : {What::sum, What::max, What::softmax, What::gather}) {
      Case c = segment_case({1, 2, 4, 2}, what);
      c.inputs[1] = tensor<int64_t>({1, 2}, {-1, 3});
      auto build = [=](Emit &e, const std::vector<Id> &in) {
        Id like = fill(e, DType::f32, 0, in[1], 1, {segments});
        return std::vector<Id>{what == What::gather ? segment_gather(e, slice(e, in[0], 1, 0, segments), in[1])
                               : what == What::sum  ? segment_sum(e, in[0], in[1], like)
                               : what == What::max  ? segment_max(e, in[0], in[1], like)
                                                    : segment_softmax(e, in[0], in[1], like)};
      };
      Result r = evaluate(program_of(build, c.inputs), c.inputs);
      EXPECT_EQ(r.fault, kernels::Fault::index_out_of_range) << static_cast<int>(what);
      EXPECT_EQ(r.value, 3);
    }
}

TEST(Segments, Refuses) {
  auto sum = [](Emit &e, const auto &in) { return segment_sum(e, in[0], in[1], in[2]); };
  check_refused(sum, {Shape{4, 2}, Shape{5}, Shape{3}}, Code::shape_mismatch, "ids of shape (5,) do not fit (4, 2)");
  check_refused(sum, {Shape{2, 4}, Shape{2, 4}, Shape{3, 5}}, Code::shape_mismatch, "and (3, 5)");
  check_refused(sum, {Shape{4}, Shape{}, Shape{3}}, Code::shape_mismatch, "segment_sum");
  check_refused([](Emit &e, const auto &in) { return segment_gather(e, in[0], in[1]); }, {Shape{3, 4}, Shape{2, 5}},
                Code::shape_mismatch, "segment_gather");
}

TEST(Indices, CountAnAxis) {
  for (int64_t n : {0, 1, 5, 100})
    check([](Emit &e, const auto &in) { return indices(e, in[0], 1); }, {random({2, n}, 1)},
          dl4::test::naive(DType::i64, {n}, [](const auto &i) { return static_cast<double>(i[0]); }));
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
