// attention and its gradient: odd sizes, masks, causality, shared sources, NaN.
#include <algorithm>
#include <limits>

#include "every_way.hpp"

namespace dl4::ops {
namespace {

using namespace every_way;

struct Sizes {
  int64_t batch, queries, keys, depth, width;
  bool causal = false, mask = false;
};

// Inputs: q, k, v, and the mask where there is one. A query that sees no key gives 0.
std::vector<Array> naive(const std::vector<Array> &in, const Sizes &s) {
  Array y = zeros({s.batch, s.queries, s.width});
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t t = 0; t < s.queries; ++t) {
      std::vector<int64_t> keys;
      for (int64_t i = 0; i < s.keys; ++i)
        if (!(s.causal && i > t) && !(s.mask && in[3][b * s.keys + i] == 0)) keys.push_back(i);
      std::vector<double> w;
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t i : keys) {
        double score = 0;
        for (int64_t d = 0; d < s.depth; ++d)
          score += in[0][(b * s.queries + t) * s.depth + d] * in[1][(b * s.keys + i) * s.depth + d];
        w.push_back(score);
        most = std::max(most, score);
      }
      for (double &v : w) sum += v = std::exp(v - most);
      for (size_t i = 0; i < keys.size(); ++i)
        for (int64_t d = 0; d < s.width; ++d)
          y[(b * s.queries + t) * s.width + d] += w[i] / sum * in[2][(b * s.keys + keys[i]) * s.width + d];
    }
  return {y};
}

Case attention_case(const Sizes &s) {
  Case c;
  c.name = text("batch ", s.batch, " queries ", s.queries, " keys ", s.keys, " depth ", s.depth, " width ", s.width,
                s.causal ? " causal" : "", s.mask ? " mask" : "");
  c.inputs = {{{s.batch, s.queries, s.depth}}, {{s.batch, s.keys, s.depth}}, {{s.batch, s.keys, s.width}}};
  if (s.mask) c.inputs.push_back({{s.batch, s.keys}, DType::boolean});
  c.emit = [=](Emit &e, const std::vector<Id> &in) {
    return std::vector<Id>{attention(e, in[0], in[1], in[2], s.mask ? in[3] : none, s.causal).y};
  };
  c.reference = [=](const std::vector<Array> &in) { return naive(in, s); };
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
  Case all = attention_case(s), two = all;
  all.name = "q = k = v";
  all.inputs.resize(1);
  all.emit = [](Emit &e, const std::vector<Id> &in) {
    return std::vector<Id>{attention(e, in[0], in[0], in[0], none, true).y};
  };
  all.reference = [=](const std::vector<Array> &in) { return naive({in[0], in[0], in[0]}, s); };
  check(all);
  two.name = "k = v";
  two.inputs.resize(2);
  two.emit = [](Emit &e, const std::vector<Id> &in) {
    return std::vector<Id>{attention(e, in[0], in[1], in[1], none, true).y};
  };
  two.reference = [=](const std::vector<Array> &in) { return naive({in[0], in[1], in[1]}, s); };
  check(two);
}

TEST(Attention, LargeScoresAndInfinities) {
  Case c = attention_case({1, 35, 40, 4, 3});
  for (double value : {1e4, -1e4, -std::numeric_limits<double>::infinity()}) {
    auto in = draw(c, 3);
    for (int64_t d = 0; d < 4; ++d) in[0][33 * 4 + d] = 1, in[1][7 * 4 + d] = value;
    for (int64_t t = 0; t < 35; ++t)
      for (int64_t d = 0; d < 4; ++d) in[0][t * 4 + d] = std::abs(in[0][t * 4 + d]) + 0.1;
    check_forward(c, in);
  }
}

TEST(Attention, NanStaysWhereItIsSeen) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (bool causal : {false, true}) {
    Case c = attention_case({1, 70, 70, 4, 18, causal});
    for (size_t source : {0, 1, 2}) {
      auto in = draw(c, 5);
      in[source][41 * in[source].shape[2] + 1] = nan;
      check_forward(c, in);
    }
  }
  // A key that is masked may be NaN; its value must not.
  Case c = attention_case({1, 40, 50, 4, 3, false, true});
  auto in = draw(c, 6);
  in[3][7] = 0;
  in[1][7 * 4] = nan;
  check_forward(c, in);
}

TEST(Attention, SumTellsWhoSeesNothing) {
  Case c = attention_case({2, 3, 3, 2, 2, true, true});
  c.emit = [](Emit &e, const std::vector<Id> &in) {
    auto [y, sum] = attention(e, in[0], in[1], in[2], in[3], true);
    return std::vector<Id>{cast(e, binary(e, Binary::equal, sum, e.scalar(0)), DType::f32)};
  };
  c.reference = [](const std::vector<Array> &) { return std::vector<Array>{{{2, 3}, {1, 1, 0, 1, 1, 1}}}; };
  auto in = draw(c, 1);
  in[3].v = {0, 0, 1, 0, 0, 0};
  check_forward(c, in);
}

TEST(Attention, Refuses) {
  auto emit = [](Shape q, Shape k, Shape v, Shape mask = {}) {
    return [=](Emit &e) {
      auto in = [&](const Shape &s, DType t = DType::f32) { return e.input("x", t, s); };
      attention(e, in(q), in(k), in(v), mask.rank() ? in(mask, DType::boolean) : none, false);
    };
  };
  expect_refusal(emit({2, 3, 4}, {2, 5, 3}, {2, 5, 4}), "query and key need the same features");
  expect_refusal(emit({2, 3, 4}, {2, 5, 4}, {2, 6, 4}), "key and value need as many steps");
  expect_refusal(emit({2, 3, 4}, {1, 5, 4}, {1, 5, 4}), "attention wants equal shapes");
  expect_refusal(emit({3, 4}, {2, 5, 4}, {2, 5, 4}), "with as many axes");
  expect_refusal(emit({2, 3, 4}, {2, 5, 4}, {2, 5, 4}, {2, 4}), "expected a mask of shape (2, 5)");
}

}  // namespace
}  // namespace dl4::ops
