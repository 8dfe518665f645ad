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
enum GradSource { grad_peak = src_count, grad_sum, grad_dy };

// The sequences of a site, and how the operands of one lie: (batch, T, D), or (batch, T, heads, D) where each of
// `heads` heads of queries reads one of fewer `groups` of keys and values.
struct Sequences {
  AttentionSizes one;
  int64_t batch, heads = 1, groups = 1;

  // From one sequence of the batch to the next.
  int64_t q() const { return checked_mul(one.queries, one.q_row); }
  int64_t k() const { return checked_mul(one.keys, one.k_row); }
  int64_t v() const { return checked_mul(one.keys, one.v_row); }
  int64_t y() const { return checked_mul(one.queries, one.y_row); }
};

Sequences sequences(const Site &site, const Attention &how) {
  const Shape &q = site.src[src_q].shape, &v = site.src[src_v].shape;
  const int time = how.heads ? -3 : -2, leading = q.rank() + time;
  Sequences s{{q[time], v[time], q[-1], v[-1], how.causal, how.scale}, q.elements(0, leading)};
  if (how.heads) s.heads = q[-2], s.groups = v[-2];
  s.one.q_row = checked_mul(s.heads, s.one.depth);
  s.one.k_row = checked_mul(s.groups, s.one.depth);
  s.one.v_row = checked_mul(s.groups, s.one.width);
  s.one.y_row = checked_mul(s.heads, s.one.width);
  return s;
}

// Microseconds for one sequence, with so many products over all pairs of steps; as product_microseconds() counts.
double cost(const AttentionSizes &s, double products) {
  double pairs = static_cast<double>(s.queries) * static_cast<double>(s.keys) * (s.causal ? 0.5 : 1);
  return pairs * (products * static_cast<double>(s.depth + s.width) / 60e3 + 0.3 * us_per_function);
}

// Where one item begins of an operand that may be absent.
template <class T>
T *item(T *all, int64_t offset) noexcept {
  return all ? all + offset : nullptr;
}

// The gradients of q, k and v, of which those that are one value are one sum.
struct AttentionGradOp final : NotDifferentiable<AttentionGradOp> {
  Attention how;
  std::array<int, 3> into;  // the destinations of dq, dk, dv; -1: not asked for

  AttentionGradOp(const Attention &how, std::array<int, 3> into) : how(how), into(into) {}
  void fields(auto &f) const { how.fields(f), f("into", into); }
  std::string_view name() const override { return "attention_grad"; }
  std::vector<Operand> infer(Operands src) const override {
    std::vector<Operand> dst(static_cast<size_t>(1 + *std::max_element(into.begin(), into.end())));
    for (size_t i = 0; i < into.size(); ++i)
      if (into[i] >= 0) dst[static_cast<size_t>(into[i])] = {DType::f32, src[i].shape};
    return dst;
  }
  std::unique_ptr<Kernel> kernel(const Site &site) const override {
    const Sequences s = sequences(site, how);
    const int64_t items = s.heads ? checked_mul(s.batch, s.groups) : 0;
    const double us = static_cast<double>(s.batch) * static_cast<double>(s.heads) * cost(s.one, 5);
    int64_t slices = site.cutting.slices(items, us);
    int64_t scratch = round_up(kernels::attention_backward_scratch(s.one), 16);
    auto run = [=, into = into](int64_t slice, const Run &r) noexcept {
      auto [begin, end] = kernels::part(items, slices, slice);
      for (int64_t i = begin; i < end; ++i) group(s, into, r, i, static_cast<float *>(r.scratch) + slice * scratch);
    };
    return kernels::make_kernel("attention_grad", slices, run, checked_mul(checked_mul(slices, scratch), 4));
  }

 private:
  // All heads of one group, whose gradients are one sum.
  static void group(const Sequences &s, const std::array<int, 3> &into, const Run &r, int64_t i,
                    float *scratch) noexcept {
    const AttentionSizes &one = s.one;
    const int64_t b = i / s.groups, g = i % s.groups, heads = s.heads / s.groups;
    const int64_t rows[3] = {one.queries, one.keys, one.keys}, row[3] = {one.q_row, one.k_row, one.v_row};
    const int64_t width[3] = {heads * one.depth, one.depth, one.width}, start[3] = {b * s.q(), b * s.k(), b * s.v()};
    float *d[3] = {};
    for (size_t j = 0; j < 3; ++j) {
      if (into[j] < 0) continue;
      d[j] = item(r.out<float>(into[j]), start[j] + g * width[j]);
      if (!d[j] || std::find(into.begin(), into.begin() + j, into[j]) != into.begin() + j) continue;
      for (int64_t t = 0; t < rows[j]; ++t) std::fill_n(d[j] + t * row[j], width[j], 0.0f);
    }
    auto *mask = item(r.in<uint8_t>(src_mask), b * one.keys);
    for (int64_t h = g * heads; h < (g + 1) * heads; ++h) {
      auto of = [&](int source, int64_t offset) { return item(r.in<float>(source), offset); };
      const int64_t stat = (b * s.heads + h) * one.queries;
      kernels::attention_backward(
          one,
          {of(src_q, start[0] + h * one.depth), of(src_k, start[1] + g * one.depth),
           of(src_v, start[2] + g * one.width), mask, of(grad_peak, stat), of(grad_sum, stat),
           of(grad_dy, b * s.y() + h * one.width), d[0] ? d[0] + (h - g * heads) * one.depth : nullptr, d[1], d[2]},
          scratch);
    }
  }
};

struct AttentionOp final : OpOf<AttentionOp> {
  Attention how;

  explicit AttentionOp(const Attention &how) : how(how) {}
  void fields(auto &f) const { how.fields(f); }
  std::string_view name() const override { return "attention"; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &q = src[src_q].shape, &k = src[src_k].shape, &v = src[src_v].shape;
    for (int i = 0; i < src_mask; ++i) want_float("attention", src[static_cast<size_t>(i)]);
    const int least = how.heads ? 3 : 2;
    if (q.rank() < least || k.rank() != q.rank() || v.rank() != q.rank())
      fail(Code::shape_mismatch, "attention: expected query, key and value with as many axes, at least ", least,
           "; got ", q, ", ", k, " and ", v);
    auto leading = [&](const Shape &s) { return s.first(s.rank() - least); };
    Shape batch = same_shape("attention", same_shape("attention", leading(q), leading(k)), leading(v));
    if (!compatible(Shape{q[-1]}, Shape{k[-1]}))
      fail(Code::shape_mismatch, "attention: query and key need the same features, got ", q, " and ", k);
    if (!compatible(Shape{k[-least]}, Shape{v[-least]}))
      fail(Code::shape_mismatch, "attention: key and value need as many steps, got ", k, " and ", v);
    if (how.heads) need_groups(q, k, v);
    if (const Operand &mask = src[src_mask]; mask.present) {
      want_type("attention mask", mask, DType::boolean);
      if (!compatible(mask.shape, batch.joined({k[-least]})))
        fail(Code::shape_mismatch, "attention: expected a mask of shape ", batch.joined({k[-least]}), ", got ",
             mask.shape);
    }
    Shape y = batch.joined({q[-least]}), facts = y;
    if (how.heads) y = y.joined({q[-2]}), facts = batch.joined({q[-2], q[-3]});
    Operand of_query{DType::f32, facts};
    return {{DType::f32, y.joined({v[-1]})}, of_query, of_query};
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
    auto d = g.e.step(std::make_shared<AttentionGradOp>(how, into),
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
    const Sequences s = sequences(site, how);
    const AttentionSizes &one = s.one;
    const int64_t items = checked_mul(s.batch, s.heads);
    int64_t blocks = (one.queries + kernels::attention_block - 1) / kernels::attention_block;
    int64_t slices = site.cutting.slices(checked_mul(items, blocks), static_cast<double>(items) * cost(one, 2));
    int64_t scratch = round_up(kernels::attention_forward_scratch(one), 16);
    auto run = [=](int64_t slice, const Run &r) noexcept {
      auto [begin, end] = kernels::part(items * blocks, slices, slice);
      while (begin < end) {
        int64_t i = begin / blocks, first = begin % blocks, last = std::min(blocks, first + end - begin);
        begin += last - first;
        head(s, r, i, first * kernels::attention_block, std::min(s.one.queries, last * kernels::attention_block),
             static_cast<float *>(r.scratch) + slice * scratch);
      }
    };
    return kernels::make_kernel("attention", slices, run, checked_mul(checked_mul(slices, scratch), 4));
  }

 private:
  static void need_groups(const Shape &q, const Shape &k, const Shape &v) {
    const int64_t heads = q[-2], groups = k[-2];
    if (groups != v[-2] || groups < 1 || heads < 1 || heads % groups != 0)
      fail(Code::shape_mismatch, "attention: expected as many heads of values as of keys, by which those of queries ",
           "divide; got ", q, ", ", k, " and ", v);
  }

  // Queries [begin, end) of one head of one sequence.
  static void head(const Sequences &s, const Run &r, int64_t i, int64_t begin, int64_t end, float *scratch) noexcept {
    const AttentionSizes &one = s.one;
    const int64_t b = i / s.heads, h = i % s.heads, g = h / (s.heads / s.groups);
    auto of = [&](int source, int64_t offset) { return item(r.in<float>(source), offset); };
    auto to = [&](Destination at, int64_t offset) { return item(r.out<float>(at), offset); };
    kernels::attention_forward(
        one,
        {of(src_q, b * s.q() + h * one.depth), of(src_k, b * s.k() + g * one.depth),
         of(src_v, b * s.v() + g * one.width), item(r.in<uint8_t>(src_mask), b * one.keys),
         to(dst_y, b * s.y() + h * one.width), to(dst_peak, i * one.queries), to(dst_sum, i * one.queries)},
        begin, end, scratch);
  }
};

}  // namespace

AttentionValues attention(Emit &e, Id q, Id k, Id v, Id mask, const Attention &how) {
  auto dst = e.step(std::make_shared<AttentionOp>(how), {q, k, v, mask});
  return {dst[dst_y], dst[dst_sum]};
}

}  // namespace dl4::ops
