// Attention and its gradients against sums in double.
#pragma once

#include "backend/cpu/kernels/attention/attention.hpp"

#include "targets.hpp"

namespace dl4::kernels::testing {

inline double value(float v) { return static_cast<double>(v); }

// Weights (queries, keys) as they should be; a query that sees nothing has none.
inline std::vector<double> weights_of(const AttentionSizes &s, const std::vector<float> &q, const std::vector<float> &k,
                                      const std::vector<uint8_t> &mask) {
  std::vector<double> w(static_cast<size_t>(s.queries * s.keys), 0);
  for (int64_t t = 0; t < s.queries; ++t) {
    double sum = 0;
    auto row = w.begin() + t * s.keys;
    for (int64_t i = 0; i < s.keys; ++i) {
      if ((s.causal && i > t) || (!mask.empty() && !mask[static_cast<size_t>(i)])) continue;
      double score = 0;
      for (int64_t d = 0; d < s.depth; ++d)
        score += value(q[static_cast<size_t>(t * s.depth + d)]) * value(k[static_cast<size_t>(i * s.depth + d)]);
      sum += row[i] = std::exp(score);
    }
    for (int64_t i = 0; i < s.keys && sum > 0; ++i) row[i] /= sum;
  }
  return w;
}

// Forward and backward, of numbers between -1 and 1.
inline void check(const AttentionSizes &s, bool masked) {
  SCOPED_TRACE(std::to_string(s.queries) + " queries, " + std::to_string(s.keys) + " keys, depth " +
               std::to_string(s.depth) + ", width " + std::to_string(s.width) + (s.causal ? ", causal" : "") +
               (masked ? ", masked" : ""));
  const auto q = random_floats(s.queries * s.depth, -1, 1, 1), k = random_floats(s.keys * s.depth, -1, 1, 2),
             v = random_floats(s.keys * s.width, -1, 1, 3), dy = random_floats(s.queries * s.width, -1, 1, 4);
  std::vector<uint8_t> mask;
  for (int64_t i = 0; masked && i < s.keys; ++i) mask.push_back(i % 3 != 0);
  const auto w = weights_of(s, q, k, mask);
  std::vector<double> y(static_cast<size_t>(s.queries * s.width)), dq(static_cast<size_t>(s.queries * s.depth)),
      dk(static_cast<size_t>(s.keys * s.depth)), dv(static_cast<size_t>(s.keys * s.width));
  auto at = [](const auto &x, int64_t i, int64_t n, int64_t j) {
    return static_cast<double>(x[static_cast<size_t>(i * n + j)]);
  };
  for (int64_t t = 0; t < s.queries; ++t) {
    std::vector<double> dw(static_cast<size_t>(s.keys));
    double delta = 0;
    for (int64_t i = 0; i < s.keys; ++i)
      for (int64_t d = 0; d < s.width; ++d) {
        y[static_cast<size_t>(t * s.width + d)] += at(w, t, s.keys, i) * at(v, i, s.width, d);
        dv[static_cast<size_t>(i * s.width + d)] += at(w, t, s.keys, i) * at(dy, t, s.width, d);
        dw[static_cast<size_t>(i)] += at(dy, t, s.width, d) * at(v, i, s.width, d);
      }
    for (int64_t i = 0; i < s.keys; ++i) delta += dw[static_cast<size_t>(i)] * at(w, t, s.keys, i);
    for (int64_t i = 0; i < s.keys; ++i)
      for (int64_t d = 0; d < s.depth; ++d) {
        const double ds = at(w, t, s.keys, i) * (dw[static_cast<size_t>(i)] - delta);
        dq[static_cast<size_t>(t * s.depth + d)] += ds * at(k, i, s.depth, d);
        dk[static_cast<size_t>(i * s.depth + d)] += ds * at(q, t, s.depth, d);
      }
  }

  Edge<float> eq(q), ek(k), ev(v), edy(dy), ey(static_cast<int64_t>(y.size())), max(s.queries), sum(s.queries);
  Edge<uint8_t> emask(mask);
  Edge<float> scratch(std::vector<float>(static_cast<size_t>(attention_forward_scratch(s)), nan));
  Edge<float> back(std::vector<float>(static_cast<size_t>(attention_backward_scratch(s)), nan));
  const uint8_t *m = masked ? emask.data() : nullptr;
  // Blocks in any order.
  for (int64_t t = (s.queries - 1) / attention_block * attention_block; t >= 0; t -= attention_block)
    attention_forward(s, {eq, ek, ev, m, ey, max, sum}, t, std::min(s.queries, t + attention_block), scratch);
  auto compare = [](const char *what, const std::vector<double> &want, const float *got) {
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_TRUE(near(want[i], value(got[i]), 2e-5, 1e-5)) << what << " at " << i;
  };
  compare("y", y, ey);
  Edge<float> edq(std::vector<float>(q.size(), 1.0f)), edk(std::vector<float>(k.size(), 1.0f)),
      edv(std::vector<float>(v.size(), 1.0f));
  for (auto *d : {&dq, &dk, &dv})
    for (double &x : *d) x += 1;  // gradients are added
  attention_backward(s, {eq, ek, ev, m, max, sum, edy, edq, edk, edv}, back);
  compare("dq", dq, edq);
  compare("dk", dk, edk);
  compare("dv", dv, edv);
  Edge<float> alone(std::vector<float>(k.size(), 1.0f));
  attention_backward(s, {eq, ek, ev, m, max, sum, edy, nullptr, alone, nullptr}, back);
  compare("dk alone", dk, alone);
}

}  // namespace dl4::kernels::testing
