// Attention kernels.
#include <algorithm>

#include "backend/cpu/dispatch/products.hpp"
#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/attention/heads.hpp"
#include "backend/cpu/kernels/attention/latest.hpp"
#include "ops/matched.hpp"

namespace dl4::cpu {
namespace {

using kernels::AttentionBatch;
using kernels::AttentionSizes;

enum Source { src_q, src_k, src_v, src_mask, src_count };
enum Destination { dst_y, dst_peak, dst_sum };
enum GradSource { grad_peak = src_count, grad_sum, grad_dy };

// y: shape of the result, or of its gradient. kernel: name of the kernel whose products may use tiles.
AttentionBatch batch_of(const Site &site, const Shape &y, const ops::Attention &how, const char *kernel) {
  const Shape &q = site.src[src_q].shape, &v = site.src[src_v].shape;
  const int time = how.heads ? -3 : -2, leading = q.rank() + time;
  AttentionBatch s{{q[time], v[time], q[-1], v[-1], how.causal, how.scale}, y.elements(0, leading)};
  if (how.heads) s.heads = q[-2], s.groups = v[-2];
  const auto of_one = [&](int i) { return site.src[static_cast<size_t>(i)].shape.elements(0, leading) != s.batch; };
  s.one_q = of_one(src_q), s.one_k = of_one(src_k), s.one_v = of_one(src_v);
  s.one_mask = site.src[src_mask].present && of_one(src_mask);
  s.one.q_row = checked_mul(s.heads, s.one.depth);
  s.one.k_row = checked_mul(s.groups, s.one.depth);
  s.one.v_row = checked_mul(s.groups, s.one.width);
  s.one.y_row = checked_mul(s.heads, s.one.width);
  const AttentionSizes &one = s.one;
  s.one.tiles = dispatch::tile_products(site, kernel, one.queries, one.keys, std::min(one.depth, one.width));
  return s;
}

// Microseconds of one sequence with `products` products over all pairs of steps; calibrated like
// product_microseconds().
double cost(const AttentionSizes &s, double products) {
  double pairs = static_cast<double>(s.queries) * static_cast<double>(s.keys) * (s.causal ? 0.5 : 1);
  return pairs * (products * static_cast<double>(s.depth + s.width) / 60e3 + 0.3 * us_per_function);
}

std::unique_ptr<Kernel> attention(const attributes::Attention &op, const Site &site) {
  const AttentionBatch s = batch_of(site, site.dst[dst_y].shape, op.how, "amx_attention");
  const AttentionSizes &one = s.one;
  const int64_t items = checked_mul(s.batch, s.heads);
  int64_t blocks = (one.queries + kernels::attention_block - 1) / kernels::attention_block;
  int64_t slices = site.cutting.short_slices(checked_mul(items, blocks), static_cast<double>(items) * cost(one, 2));
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
  return kernels::make_kernel(one.tiles ? "amx_attention" : "attention", slices, run,
                              checked_mul(checked_mul(slices, scratch), 4));
}

std::unique_ptr<Kernel> attention_grad(const attributes::AttentionGrad &op, const Site &site) {
  const AttentionBatch s = batch_of(site, site.src[grad_dy].shape, op.how, "amx_attention_grad");
  const int64_t items = s.heads ? checked_mul(s.batch, s.groups) : 0;
  const double us = static_cast<double>(s.batch) * static_cast<double>(s.heads) * cost(s.one, 5);
  int64_t slices = site.cutting.short_slices(items, us);
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
  return kernels::make_kernel(s.one.tiles ? "amx_attention_grad" : "attention_grad", slices, run,
                              checked_mul(checked_mul(slices, scratch), 4));
}

std::unique_ptr<Kernel> band_mask(const attributes::BandMask &op, const Site &site) {
  int64_t queries = site.dst[0].shape[0], keys = site.dst[0].shape[1];
  double us = us_per_byte * static_cast<double>(checked_mul(queries, keys));
  return sliced("band_mask", site, keys ? queries : 0, us,
                [=, before = op.before, after = op.after](int64_t begin, int64_t end, const Run &r) {
                  kernels::band_mask(keys, before, after, r.out<uint8_t>(0), begin, end);
                });
}

// A slice is one or several heads of a sequence.
std::unique_ptr<Kernel> cached_attention(const ops::CachedAttentionOp &op, const Site &site) {
  const ops::CachedAttention how = op.how;
  const Shape &q = site.src[0].shape, &k = site.src[1].shape, &v = site.src[2].shape;
  const int64_t n = q[1], capacity = k[1], heads = how.heads ? q[2] : 1, groups = how.heads ? k[2] : 1;
  const int64_t depth = q.last(), width = v.last(), items = checked_mul(q[0], heads);
  const kernels::LatestSizes sizes{depth, width, checked_mul(groups, depth), checked_mul(groups, width), how.scale};
  const double us = static_cast<double>(checked_mul(items, n)) * static_cast<double>(how.window) *
                    (static_cast<double>(depth + width) / 60e3 + 0.1 * us_per_function);
  const bool fresh = site.src.size() > 5;
  const int64_t slices = site.cutting.short_slices(items, us), room = round_up(checked_add(how.window, 16), 16);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    const int64_t first_row = *r.in<int64_t>(4) * how.each;
    auto *scores = static_cast<float *>(r.scratch) + slice * room;
    const auto [begin, end] = kernels::part(items, slices, slice);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / heads, h = i % heads, g = h / (heads / groups);
      const float *keys = r.in<float>(1) + (b * capacity * groups + g) * depth;
      const float *values = r.in<float>(2) + (b * capacity * groups + g) * width;
      const uint8_t *mask = r.in<uint8_t>(3) ? r.in<uint8_t>(3) + b * capacity : nullptr;
      kernels::LatestKeys newest{};
      if (fresh) {
        newest.k = r.in<float>(5) + (b * n * groups + g) * depth;
        newest.v = r.in<float>(6) + (b * n * groups + g) * width;
        newest.mask = r.in<uint8_t>(7) ? r.in<uint8_t>(7) + b * n : nullptr;
      }
      const auto stretch = [&](int64_t from, int64_t count) -> kernels::LatestKeys {
        return {keys + from * sizes.k_row, values + from * sizes.v_row, mask ? mask + from : nullptr, count};
      };
      for (int64_t j = 0; j < n; ++j) {
        const int64_t last = first_row + j, least = std::max(how.first, last - how.window + 1);
        const int64_t end = fresh ? first_row : last + 1;  // keys in the rings
        const int64_t count = std::max<int64_t>(0, end - least), from = least & (capacity - 1);
        const int64_t head = std::min(count, capacity - from), at = (b * n + j) * heads + h;
        const int64_t left_out = std::max<int64_t>(0, least - first_row);  // new keys before the window
        kernels::LatestKeys behind = newest;
        if (fresh) {
          behind.k += left_out * sizes.k_row, behind.v += left_out * sizes.v_row;
          behind.mask = newest.mask ? newest.mask + left_out : nullptr;
          behind.keys = std::max<int64_t>(0, j + 1 - left_out);
        }
        float *sum = r.out<float>(1) ? r.out<float>(1) + (b * heads + h) * n + j : scores + room - 1;
        kernels::attention_latest(sizes, r.in<float>(0) + at * depth,
                                  {stretch(from, head), stretch(0, count - head), behind}, scores,
                                  r.out<float>(0) + at * width, sum);
      }
    }
  };
  return kernels::make_kernel("cached_attention", slices, run, checked_mul(checked_mul(slices, room), 4));
}

}  // namespace

std::span<const Row> attention_kernels() {
  static const Row rows[] = {
      row<attributes::Attention, attention>(),
      row<attributes::AttentionGrad, attention_grad>(),
      row<attributes::BandMask, band_mask>(),
      row<ops::CachedAttentionOp, cached_attention>(),
  };
  return rows;
}

}  // namespace dl4::cpu
