// attention: softmax(q k^T) v without a matrix of all scores; its gradient computes them again.
#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

using kernels::AttentionSizes;
using kernels::Kernel;

enum Source { src_q, src_k, src_v, src_mask, src_count };
enum Destination { dst_y, dst_peak, dst_sum };
enum GradSource { grad_peak = src_count, grad_sum, grad_dy, grad_count };

AttentionSizes sizes(const Site &site, bool causal) {
  const Shape &q = site.src[src_q].shape, &v = site.src[src_v].shape;
  return {q[-2], v[-2], q[-1], v[-1], causal};
}

// Microseconds for one sequence, with so many products over all pairs of steps; as product_microseconds() counts.
double cost(const AttentionSizes &s, double products) {
  double pairs = static_cast<double>(s.queries) * static_cast<double>(s.keys) * (s.causal ? 0.5 : 1);
  return pairs * (products * static_cast<double>(s.depth + s.width) / 60e3 + 0.3 * us_per_function);
}

template <class T>
T *item(const void *const *args, int i, int64_t offset) noexcept {
  auto *p = static_cast<T *>(const_cast<void *>(args[i]));
  return p ? p + offset : nullptr;
}

// The gradients of q, k and v, of which those that are one value are one sum.
struct AttentionGradOp final : NotDifferentiable<AttentionGradOp> {
  bool causal;
  std::array<int, 3> into;  // the destinations of dq, dk, dv; -1: not asked for

  AttentionGradOp(bool causal, std::array<int, 3> into) : causal(causal), into(into) {}
  void fields(auto &f) const { f("causal", causal), f("into", into); }
  std::string_view name() const override { return "attention_grad"; }
  std::vector<Operand> infer(Operands src) const override {
    std::vector<Operand> dst(static_cast<size_t>(1 + *std::max_element(into.begin(), into.end())));
    for (size_t i = 0; i < into.size(); ++i)
      if (into[i] >= 0) dst[static_cast<size_t>(into[i])] = {DType::f32, src[i].shape};
    return dst;
  }
  std::unique_ptr<Kernel> kernel(const Site &site) const override {
    AttentionSizes s = sizes(site, causal);
    const Shape &q = site.src[src_q].shape;
    int64_t batch = q.elements(0, q.rank() - 2);
    int64_t slices = site.cutting.slices(batch, static_cast<double>(batch) * cost(s, 5));
    int64_t scratch = round_up(kernels::attention_backward_scratch(s), 16);
    std::array<int64_t, 3> size{checked_mul(s.queries, s.depth), checked_mul(s.keys, s.depth),
                                checked_mul(s.keys, s.width)};
    auto run = [=, into = into](int64_t slice, const Run &r) noexcept {
      auto [begin, end] = kernels::part(batch, slices, slice);
      for (int64_t i = begin; i < end; ++i) {
        float *d[3] = {};
        for (size_t j = 0; j < 3; ++j) {
          if (into[j] < 0) continue;
          d[j] = item<float>(r.args, grad_count + into[j], i * size[j]);
          if (d[j] && std::find(into.begin(), into.begin() + j, into[j]) == into.begin() + j)
            std::fill_n(d[j], size[j], 0.0f);
        }
        auto of = [&](int source, int64_t n) { return item<const float>(r.args, source, i * n); };
        auto *mask = item<const uint8_t>(r.args, src_mask, i * s.keys);
        kernels::attention_backward(
            s,
            {of(src_q, size[0]), of(src_k, size[1]), of(src_v, size[2]), mask, of(grad_peak, s.queries),
             of(grad_sum, s.queries), of(grad_dy, s.queries * s.width), d[0], d[1], d[2]},
            static_cast<float *>(r.scratch) + slice * scratch);
      }
    };
    return kernels::make_kernel("attention_grad", slices, run, checked_mul(checked_mul(slices, scratch), 4));
  }
};

struct AttentionOp final : OpOf<AttentionOp> {
  bool causal;

  explicit AttentionOp(bool causal) : causal(causal) {}
  void fields(auto &f) const { f("causal", causal); }
  std::string_view name() const override { return "attention"; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &q = src[src_q].shape, &k = src[src_k].shape, &v = src[src_v].shape;
    for (int i = 0; i < src_mask; ++i) want_float("attention", src[static_cast<size_t>(i)]);
    if (q.rank() < 2 || k.rank() != q.rank() || v.rank() != q.rank())
      fail(Code::shape_mismatch, "attention: expected query, key and value with as many axes, at least 2; got ", q,
           ", ", k, " and ", v);
    Shape batch = same_shape("attention", same_shape("attention", leading(q), leading(k)), leading(v));
    if (!compatible(Shape{q[-1]}, Shape{k[-1]}))
      fail(Code::shape_mismatch, "attention: query and key need the same features, got ", q, " and ", k);
    if (!compatible(Shape{k[-2]}, Shape{v[-2]}))
      fail(Code::shape_mismatch, "attention: key and value need as many steps, got ", k, " and ", v);
    if (const Operand &mask = src[src_mask]; mask.present) {
      want_type("attention mask", mask, DType::boolean);
      if (!compatible(mask.shape, batch.joined({k[-2]})))
        fail(Code::shape_mismatch, "attention: expected a mask of shape ", batch.joined({k[-2]}), ", got ", mask.shape);
    }
    Operand of_query{DType::f32, batch.joined({q[-2]})};
    return {{DType::f32, batch.joined({q[-2], v[-1]})}, of_query, of_query};
  }

  void gradient(Gradient &g) const override {
    if (g.diff_dst(dst_y) == none || g.diff_dst(dst_sum) != none) return;  // the sums have none
    std::array<int, 3> into{-1, -1, -1};
    int count = 0;
    for (int i = 0; i < 3; ++i) {
      if (!g.wants(i)) continue;
      for (int j = 0; j < i; ++j)
        if (g.src(j) == g.src(i)) into[static_cast<size_t>(i)] = into[static_cast<size_t>(j)];
      if (into[static_cast<size_t>(i)] >= 0) continue;
      into[static_cast<size_t>(i)] = count++;
    }
    if (count == 0) return;
    auto d = g.e.step(std::make_shared<AttentionGradOp>(causal, into),
                      {g.src(src_q), g.src(src_k), g.src(src_v), g.src(src_mask), g.dst(dst_peak), g.dst(dst_sum),
                       g.diff_dst(dst_y)});
    for (int i = 2; i >= 0; --i) {
      int to = into[static_cast<size_t>(i)];
      // A sum is handed over once.
      if (to >= 0 && std::find(into.begin(), into.begin() + i, to) == into.begin() + i)
        g.set(i, d[static_cast<size_t>(to)]);
    }
  }

  std::unique_ptr<Kernel> kernel(const Site &site) const override {
    AttentionSizes s = sizes(site, causal);
    const Shape &q = site.src[src_q].shape;
    int64_t batch = q.elements(0, q.rank() - 2);
    int64_t blocks = (s.queries + kernels::attention_block - 1) / kernels::attention_block;
    int64_t slices = site.cutting.slices(checked_mul(batch, blocks), static_cast<double>(batch) * cost(s, 2));
    int64_t scratch = round_up(kernels::attention_forward_scratch(s), 16);
    auto run = [=](int64_t slice, const Run &r) noexcept {
      auto [begin, end] = kernels::part(batch * blocks, slices, slice);
      while (begin < end) {
        int64_t i = begin / blocks, first = begin % blocks, last = std::min(blocks, first + end - begin);
        begin += last - first;
        auto of = [&](int at, int64_t n) { return item<float>(r.args, at, i * n); };
        auto to = [&](Destination at, int64_t n) { return item<float>(r.args, src_count + int{at}, i * n); };
        kernels::attention_forward(s,
                                   {of(src_q, s.queries * s.depth), of(src_k, s.keys * s.depth),
                                    of(src_v, s.keys * s.width), item<const uint8_t>(r.args, src_mask, i * s.keys),
                                    to(dst_y, s.queries * s.width), to(dst_peak, s.queries), to(dst_sum, s.queries)},
                                   first * kernels::attention_block,
                                   std::min(s.queries, last * kernels::attention_block),
                                   static_cast<float *>(r.scratch) + slice * scratch);
      }
    };
    return kernels::make_kernel("attention", slices, run, checked_mul(checked_mul(slices, scratch), 4));
  }

 private:
  static Shape leading(const Shape &s) { return s.first(s.rank() - 2); }
};

}  // namespace

AttentionValues attention(Emit &e, Id q, Id k, Id v, Id mask, bool causal) {
  auto dst = e.step(std::make_shared<AttentionOp>(causal), {q, k, v, mask});
  return {dst[dst_y], dst[dst_sum]};
}

}  // namespace dl4::ops
