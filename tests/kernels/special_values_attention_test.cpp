// Special values in everything attention and its gradient read, against plain double.
#include "backend/cpu/kernels/attention/attention.hpp"
#include "special_values.hpp"

namespace dl4::kernels::DL4_FILE {
namespace {

double &at(Values &v, int64_t i) { return v[static_cast<size_t>(i)]; }

struct Attention {
  AttentionSizes s;
  Edge<float> q{random_floats(s.queries * s.depth, -1, 1, 1)}, k{random_floats(s.keys * s.depth, -1, 1, 2)},
      v{random_floats(s.keys * s.width, -1, 1, 3)}, dy{random_floats(s.queries * s.width, -1, 1, 4)};
  Edge<uint8_t> mask{s.keys};
  bool masked;

  Attention(const AttentionSizes &sizes, bool masked) : s(sizes), masked(masked) {
    for (int64_t i = 0; i < s.keys; ++i) mask[i] = i % 3 != 0;
  }
  bool shown(int64_t i) { return !masked || mask[i] != 0; }

  void check() {
    Values y(static_cast<size_t>(s.queries * s.width)), sums(static_cast<size_t>(s.queries));
    Values dq(static_cast<size_t>(q.size())), dk(static_cast<size_t>(k.size())), dv(static_cast<size_t>(v.size()));
    for (int64_t t = 0; t < s.queries; ++t) {
      const int64_t block_end = std::min(s.queries, (t / attention_block + 1) * attention_block);
      const int64_t sees = s.causal ? std::min(s.keys, t + 1) : s.keys;
      const int64_t reach = s.causal ? std::min(s.keys, block_end) : s.keys;  // of the gradient's products
      Values w(static_cast<size_t>(s.keys)), ds(w);
      double peak = -HUGE_VAL, &sum = at(sums, t), mean = 0;
      for (int64_t i = 0; i < sees; ++i) {
        for (int64_t d = 0; d < s.depth; ++d) at(w, i) += value(q[t * s.depth + d]) * value(k[i * s.depth + d]);
        for (int64_t d = 0; d < s.width; ++d) at(ds, i) += value(dy[t * s.width + d]) * value(v[i * s.width + d]);
        if (shown(i)) peak = std::fmax(peak, at(w, i));
      }
      for (int64_t i = 0; i < sees; ++i) sum += at(w, i) = shown(i) ? std::exp(at(w, i) - peak) : 0;
      for (int64_t i = 0; i < sees; ++i) {
        if (shown(i)) at(w, i) /= sum;
        for (int64_t d = 0; d < s.width; ++d) at(y, t * s.width + d) += at(w, i) * value(v[i * s.width + d]);
        if (shown(i)) mean += at(w, i) * at(ds, i);
      }
      // What a query does not see has a gradient of 0, but 0 * NaN is NaN.
      for (int64_t i = 0; i < reach; ++i) {
        at(ds, i) = i < sees && shown(i) ? at(w, i) * (at(ds, i) - mean) : 0;
        for (int64_t d = 0; d < s.width; ++d) at(dv, i * s.width + d) += at(w, i) * value(dy[t * s.width + d]);
        for (int64_t d = 0; d < s.depth; ++d) {
          at(dq, t * s.depth + d) += at(ds, i) * value(k[i * s.depth + d]);
          at(dk, i * s.depth + d) += at(ds, i) * value(q[t * s.depth + d]);
        }
      }
    }
    compare(y, sums, dq, dk, dv);
  }

 private:
  Edge<float> got_y{s.queries * s.width}, got_peak{s.queries}, got_sum{s.queries};
  Edge<float> got_dq{q.size()}, got_dk{k.size()}, got_dv{v.size()};
  Edge<float> scratch{attention_forward_scratch(s)}, back{attention_backward_scratch(s)};

  void compare(const Values &y, const Values &sums, const Values &dq, const Values &dk, const Values &dv) {
    const uint8_t *m = masked ? mask.data() : nullptr;
    for (Edge<float> *unset : {&got_y, &scratch, &back}) std::fill_n(unset->data(), unset->size(), nan);
    for (Edge<float> *added : {&got_dq, &got_dk, &got_dv}) std::fill_n(added->data(), added->size(), 0.0f);
    attention_forward(s, {q, k, v, m, got_y, got_peak, got_sum}, 0, s.queries, scratch);
    attention_backward(s, {q, k, v, m, got_peak, got_sum, dy, got_dq, got_dk, got_dv}, back);
    auto same = [](const char *what, const Values &want, Edge<float> &got) {
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(near(want[i], value(got[static_cast<int64_t>(i)]), 2e-5, 1e-5)) << what << " at " << i;
    };
    same("y", y, got_y);
    same("sum", sums, got_sum);
    same("dq", dq, got_dq);
    same("dk", dk, got_dk);
    same("dv", dv, got_dv);
  }
};

TEST(SpecialValues, Attention) {
  on_every_target([] {
    for (const bool causal : {false, true})
      for (const bool masked : {false, true}) {
        SCOPED_TRACE(std::string(causal ? "causal " : "") + (masked ? "masked" : ""));
        for (const bool small : {true, false}) {
          Attention a(small ? AttentionSizes{3, 5, 3, 3, causal} : AttentionSizes{35, 37, 1, 5, causal}, masked);
          for (auto *x : {&a.q, &a.k, &a.v, &a.dy})
            at_each_place(
                *x, [&](int64_t) { a.check(); }, small ? 1 : 37);
        }
      }
  });
}

}  // namespace
}  // namespace dl4::kernels::DL4_FILE
