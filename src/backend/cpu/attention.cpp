// Kernels of attention.
#include <algorithm>

#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/attention/heads.hpp"

namespace dl4::cpu {
namespace {

using kernels::AttentionBatch;
using kernels::AttentionSizes;

enum Source { src_q, src_k, src_v, src_mask, src_count };
enum Destination { dst_y, dst_peak, dst_sum };
enum GradSource { grad_peak = src_count, grad_sum, grad_dy };

AttentionBatch batch_of(const Site &site, const ops::Attention &how) {
  const Shape &q = site.src[src_q].shape, &v = site.src[src_v].shape;
  const int time = how.heads ? -3 : -2, leading = q.rank() + time;
  AttentionBatch s{{q[time], v[time], q[-1], v[-1], how.causal, how.scale}, q.elements(0, leading)};
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

std::unique_ptr<Kernel> attention(const attributes::Attention &op, const Site &site) {
  const AttentionBatch s = batch_of(site, op.how);
  const AttentionSizes &one = s.one;
  const int64_t items = checked_mul(s.batch, s.heads);
  int64_t blocks = (one.queries + kernels::attention_block - 1) / kernels::attention_block;
  int64_t slices = site.cutting.slices(checked_mul(items, blocks), static_cast<double>(items) * cost(one, 2));
  int64_t scratch = round_up(kernels::attention_forward_scratch(one), 16);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    const kernels::AttentionForward all{r.in<float>(src_q),      r.in<float>(src_k),  r.in<float>(src_v),
                                        r.in<uint8_t>(src_mask), r.out<float>(dst_y), r.out<float>(dst_peak),
                                        r.out<float>(dst_sum)};
    auto [begin, end] = kernels::part(items * blocks, slices, slice);
    while (begin < end) {
      int64_t i = begin / blocks, first = begin % blocks, last = std::min(blocks, first + end - begin);
      begin += last - first;
      kernels::attention_forward(s, all, i, first * kernels::attention_block,
                                 std::min(s.one.queries, last * kernels::attention_block),
                                 static_cast<float *>(r.scratch) + slice * scratch);
    }
  };
  return kernels::make_kernel("attention", slices, run, checked_mul(checked_mul(slices, scratch), 4));
}

std::unique_ptr<Kernel> attention_grad(const attributes::AttentionGrad &op, const Site &site) {
  const AttentionBatch s = batch_of(site, op.how);
  const int64_t items = s.heads ? checked_mul(s.batch, s.groups) : 0;
  const double us = static_cast<double>(s.batch) * static_cast<double>(s.heads) * cost(s.one, 5);
  int64_t slices = site.cutting.slices(items, us);
  int64_t scratch = round_up(kernels::attention_backward_scratch(s.one), 16);
  auto run = [=, into = op.into](int64_t slice, const Run &r) noexcept {
    auto [begin, end] = kernels::part(items, slices, slice);
    auto to = [&](size_t i) { return into[i] < 0 ? nullptr : r.out<float>(into[i]); };
    const kernels::AttentionBackward all{r.in<float>(src_q),
                                         r.in<float>(src_k),
                                         r.in<float>(src_v),
                                         r.in<uint8_t>(src_mask),
                                         r.in<float>(grad_peak),
                                         r.in<float>(grad_sum),
                                         r.in<float>(grad_dy),
                                         to(0),
                                         to(1),
                                         to(2)};
    for (int64_t i = begin; i < end; ++i)
      kernels::attention_backward(s, all, i, static_cast<float *>(r.scratch) + slice * scratch);
  };
  return kernels::make_kernel("attention_grad", slices, run, checked_mul(checked_mul(slices, scratch), 4));
}

std::unique_ptr<Kernel> band_mask(const attributes::BandMask &op, const Site &site) {
  int64_t queries = site.dst[0].shape[0], keys = site.dst[0].shape[1];
  double us = us_per_byte * static_cast<double>(checked_mul(queries, keys));
  return sliced("band_mask", site, keys ? queries : 0, us,
                [=, before = op.before, after = op.after](int64_t begin, int64_t end, const Run &r) {
                  kernels::band_mask(keys, before, after, r.out<uint8_t>(0), begin, end);
                });
}

}  // namespace

std::span<const Row> attention_kernels() {
  static const Row rows[] = {
      row<attributes::Attention, attention>(),
      row<attributes::AttentionGrad, attention_grad>(),
      row<attributes::BandMask, band_mask>(),
  };
  return rows;
}

}  // namespace dl4::cpu
