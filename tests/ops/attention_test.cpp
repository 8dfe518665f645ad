// attention and its gradient: odd sizes, masks, causality, shared sources, NaN.
#include <algorithm>
#include <cmath>

#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;

struct Sizes {
  int64_t batch, queries, keys, depth, width;
  bool causal = false, mask = false;
  int64_t heads = 0, groups = 0;  // 0: operands without an axis of heads
  float scale = 1;
  std::vector<size_t> of_one = {};  // inputs of one sequence
};

// One head. Where its numbers lie: first, and from one row to the next.
struct Rows {
  int64_t first, row;
  int64_t at(int64_t t, int64_t d) const { return first + t * row + d; }
};
void naive_head(const std::vector<Array> &in, const Sizes &s, int64_t b, Rows q, Rows k, Rows v, Rows to, Array &y) {
  for (int64_t t = 0; t < s.queries; ++t) {
    std::vector<int64_t> keys;
    for (int64_t i = 0; i < s.keys; ++i)
      if (!(s.causal && i > t) && !(s.mask && in[3][b * s.keys + i] == 0)) keys.push_back(i);
    std::vector<double> w;
    double most = -INFINITY, sum = 0;
    for (int64_t i : keys) {
      double score = 0;
      for (int64_t d = 0; d < s.depth; ++d) score += in[0][q.at(t, d)] * in[1][k.at(i, d)];
      w.push_back(s.scale * score);
      most = std::max(most, w.back());
    }
    for (double &x : w) sum += x = std::exp(x - most);
    for (size_t i = 0; i < keys.size(); ++i)
      for (int64_t d = 0; d < s.width; ++d) y[to.at(t, d)] += w[i] / sum * in[2][v.at(keys[i], d)];
  }
}

// Inputs: q, k, v, and the mask where there is one. A query that sees no key gives 0.
std::vector<Array> naive(std::vector<Array> in, const Sizes &s) {
  for (size_t i : s.of_one) {
    const Array one = in[i];
    Shape all = one.shape;
    all = all.with(0, s.batch);
    in[i] = zeros(all);
    for (int64_t j = 0, n = one.shape.elements(); j < s.batch * n; ++j) in[i][j] = one[j % n];
  }
  const int64_t heads = std::max<int64_t>(s.heads, 1), groups = std::max<int64_t>(s.groups, 1);
  Array y = zeros(s.heads ? Shape{s.batch, s.queries, heads, s.width} : Shape{s.batch, s.queries, s.width});
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t g = h / (heads / groups);
      auto rows = [b](int64_t steps, int64_t of, int64_t head, int64_t n) {
        return Rows{(b * steps * of + head) * n, of * n};
      };
      naive_head(in, s, b, rows(s.queries, heads, h, s.depth), rows(s.keys, groups, g, s.depth),
                 rows(s.keys, groups, g, s.width), rows(s.queries, heads, h, s.width), y);
    }
  return {y};
}

Case attention_case(const Sizes &s) {
  Case c;
  c.build = one([=](Emit &e, const auto &in) {
    return attention(e, in[0], in[1], in[2], s.mask ? in[3] : none, {s.causal, s.heads > 0, s.scale}).y;
  });
  c.inputs = randoms({{s.batch, s.queries, s.depth}, {s.batch, s.keys, s.depth}, {s.batch, s.keys, s.width}});
  if (s.heads)
    c.inputs = randoms({{s.batch, s.queries, s.heads, s.depth},
                        {s.batch, s.keys, s.groups, s.depth},
                        {s.batch, s.keys, s.groups, s.width}});
  if (s.mask) c.inputs.push_back(random({s.batch, s.keys}, 4, 0, 1, DType::boolean));
  for (size_t i : s.of_one) {
    const DType type = i == 3 ? DType::boolean : DType::f32;
    c.inputs[i] =
        random(c.inputs[i].shape.with(0, 1), static_cast<unsigned>(i + 11), type == DType::f32 ? -1 : 0, 1, type);
  }
  c.reference = [=](const auto &in) { return naive(in, s); };
  c.gradient = s.batch * s.queries * s.keys * (s.depth + s.width) < 4000;
  return c;
}

TEST(Attention, EverySize) {
  for (bool causal : {false, true})
    for (bool mask : {false, true}) {
      check(attention_case({2, 3, 5, 4, 3, causal, mask}));
      check(attention_case({1, 1, 1, 1, 1, causal, mask}));
      check(attention_case({3, 9, 2, 3, 5, causal, mask}));
      check(attention_case({1, 33, 3, 2, 1, causal, mask}));
      check(attention_case({2, 70, 67, 17, 33, causal, mask}));
      check(attention_case({3, 32, 130, 64, 16, causal, mask}));
      check(attention_case({1, 100, 40, 5, 9, causal, mask}));
    }
}

TEST(Attention, Heads) {
  for (bool causal : {false, true})
    for (bool mask : {false, true}) {
      check(attention_case({2, 3, 5, 4, 3, causal, mask, 2, 2, 0.5f}));
      check(attention_case({2, 3, 4, 2, 3, causal, mask, 6, 2, 0.7f}));
      check(attention_case({1, 4, 3, 2, 1, causal, mask, 3, 1, -1.5f}));
      check(attention_case({2, 70, 67, 17, 33, causal, mask, 4, 2, 0.25f}));
      check(attention_case({0, 3, 5, 4, 3, causal, mask, 2, 1}));
      check(attention_case({2, 0, 5, 4, 3, causal, mask, 2, 1}));
      check(attention_case({2, 3, 0, 4, 3, causal, mask, 2, 1}));
    }
  // One value in several places.
  const Sizes s{2, 5, 5, 4, 4, true, false, 3, 3, 0.5f};
  Case c = attention_case(s);
  c.inputs.resize(1);
  c.build = one([](Emit &e, const auto &in) { return attention(e, in[0], in[0], in[0], none, {true, true, 0.5f}).y; });
  c.reference = [=](const auto &in) { return naive({in[0], in[0], in[0]}, s); };
  check(c);
}

// A source of one sequence serves all; its gradient is a sum over the batch.
TEST(Attention, SourcesOfOneSequence) {
  const std::vector<std::vector<size_t>> some{{0}, {1, 2}, {1}, {2}, {3}, {0, 3}, {0, 1, 2}, {1, 2, 3}};
  for (const std::vector<size_t> &of_one : some)
    for (bool free : {false, true})
      for (bool heads : {false, true}) {
        Sizes s{3, 4, 5, 4, 3, false, true, heads ? 4 : 0, heads ? 2 : 0, 0.5f};
        s.of_one = of_one;
        Case c = attention_case(s);
        if (free) c.free_axes = {0};
        check(c);
      }
  Sizes large{3, 70, 67, 17, 33, true, true, 4, 2, 0.25f};
  large.of_one = {1, 2};
  check(attention_case(large));
}

TEST(Attention, ZeroSizes) {
  for (bool causal : {false, true}) {
    check(attention_case({0, 3, 5, 4, 3, causal}));
    check(attention_case({2, 0, 5, 4, 3, causal}));
    check(attention_case({2, 3, 0, 4, 3, causal}));
    check(attention_case({2, 3, 5, 0, 3, causal}));
    check(attention_case({2, 3, 5, 4, 0, causal}));
  }
}

TEST(Attention, FreeSizes) {
  Case c = attention_case({2, 3, 5, 4, 3, true, true});
  c.free_axes = {0, 1};
  check(c);
}

// One value in several places: its gradient is the sum of theirs.
TEST(Attention, OfOneValue) {
  const Sizes s{2, 5, 5, 4, 4, true};
  Case c = attention_case(s);
  c.inputs.resize(2);
  c.build = one([](Emit &e, const auto &in) { return attention(e, in[0], in[1], in[1], none, {.causal = true}).y; });
  c.reference = [=](const auto &in) { return naive({in[0], in[1], in[1]}, s); };
  check(c);
  c.inputs.resize(1);
  c.build = one([](Emit &e, const auto &in) { return attention(e, in[0], in[0], in[0], none, {.causal = true}).y; });
  c.reference = [=](const auto &in) { return naive({in[0], in[0], in[0]}, s); };
  check(c);
}

TEST(Attention, LargeScoresAndInfinities) {
  for (float value : {1e4f, -1e4f, -INFINITY}) {
    Case c = attention_case({1, 35, 40, 4, 3});
    c.gradient = false;
    float *q = c.inputs[0].as<float>();
    for (int d = 0; d < 4; ++d) q[33 * 4 + d] = 1, c.inputs[1].as<float>()[7 * 4 + d] = value;
    for (int i = 0; i < 35 * 4; ++i) q[i] = std::abs(q[i]) + 0.1f;
    check(c);
  }
}

TEST(Attention, NanStaysWhereItIsSeen) {
  for (bool causal : {false, true})
    for (size_t source : {0, 1, 2}) {
      Case c = attention_case({1, 70, 70, 4, 18, causal});
      c.inputs[source].as<float>()[41 * c.inputs[source].shape[2] + 1] = NAN;
      check(c);
    }
  // A key that is masked may be NaN; its value must not.
  Case c = attention_case({1, 40, 50, 4, 3, false, true});
  c.inputs[3].as<uint8_t>()[7] = 0;
  c.inputs[1].as<float>()[7 * 4] = NAN;
  check(c);
}

TEST(Attention, SumTellsWhoSeesNothing) {
  auto build = [](Emit &e, const auto &in) {
    return binary(e, Binary::equal, attention(e, in[0], in[1], in[2], in[3], {.causal = true}).sum, e.scalar(0));
  };
  auto in = attention_case({2, 3, 3, 2, 2, true}).inputs;
  in.push_back(tensor<bool>({2, 3}, {false, false, true, false, false, false}));
  check(build, in, tensor<bool>({2, 3}, {true, true, false, true, true, true}));
}

TEST(Attention, Refuses) {
  auto refuse = [](const std::vector<Shape> &qkv, const std::string &words, Shape mask = {}, bool heads = false) {
    std::vector<Operand> in;
    for (const Shape &s : qkv) in.push_back({DType::f32, s});
    if (mask.rank()) in.push_back({DType::boolean, mask});
    auto build = [=](Emit &e, const auto &v) {
      return attention(e, v[0], v[1], v[2], v.size() > 3 ? v[3] : none, {.heads = heads}).y;
    };
    check_refused(build, in, Code::shape_mismatch, words);
  };
  refuse({{2, 3, 4}, {2, 5, 3}, {2, 5, 4}}, "query and key need the same features");
  refuse({{2, 3, 4}, {2, 5, 4}, {2, 6, 4}}, "key and value need as many steps");
  refuse({{2, 3, 4}, {3, 5, 4}, {3, 5, 4}}, "shapes (2,) and (3,) do not broadcast");
  refuse({{2, 1, 3, 4}, {1, 3, 5, 4}, {1, 3, 5, 4}}, "expected sequences of batch (2, 3) or one, got (2, 1)");
  refuse({{3, 4}, {2, 5, 4}, {2, 5, 4}}, "with as many axes");
  refuse({{2, 3, 4}, {2, 5, 4}, {2, 5, 4}}, "expected a mask of shape (2, 5)", {2, 4});
  refuse({{2, 3, 4, 4}, {2, 5, 3, 4}, {2, 5, 3, 4}}, "by which those of queries divide", {}, true);
  refuse({{2, 3, 4, 4}, {2, 5, 2, 4}, {2, 5, 4, 4}}, "by which those of queries divide", {}, true);
  refuse({{2, 3}, {2, 5}, {2, 5}}, "with as many axes, at least 3", {}, true);
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
