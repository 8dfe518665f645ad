// Convolution as a product of packed weights and pixels in place: in NHWC the taps of a row are contiguous, so nothing
// is gathered. No code is generated, and weights are prefetched from memory.
#include <algorithm>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/conv_cut.hpp"
#include "backend/cpu/kernels/conv/pixel_rows.hpp"

namespace dl4::kernels {
std::unique_ptr<Kernel> packed_conv(const Conv &c, int64_t slices, const Constant *weights) {
  if (!weights || c.groups != 1 || c.is_3d() || c.is_empty() || (c.kw > 1 && c.dil_w > 1)) return nullptr;
  if (c.pad_top < 0 || c.pad_left < 0) return nullptr;
  const bool padded = c.pad_left > 0 || c.pad_right > 0;  // rows are padded; taps above and below are skipped
  const int64_t row = checked_mul(padded ? padded_width(c) : c.w, c.c), step = std::min(c.stride_h, c.kh);
  const int64_t taps = checked_mul(c.kh, c.kw, c.c), span = reach(c.kh, c.dil_h);

  // Destination rows per block.
  const int64_t rows = std::clamp<int64_t>(std::min(block_src / row / step, block_pixels / c.ow), 1, c.oh);
  const int64_t src_rows = std::min(c.h, checked_add(checked_mul(rows - 1, c.stride_h), span));
  const int64_t floats = padded ? round_up(checked_mul(src_rows, row), 16) : 0;
  if (floats > most_scratch) return nullptr;

  // With more weights than pixels, each slice takes some of the filters and reads only their weights.
  const int64_t panels = (c.oc + packed_panel - 1) / packed_panel;
  const bool by_filters = slices > 1 && panels >= slices && checked_mul(taps, c.oc) > checked_mul(c.n, c.h, c.w, c.c);
  const ConvCut cut(c, by_filters ? 1 : slices, c.oh);
  const int64_t count = by_filters ? slices : cut.slices;

  auto packed = packed_panels(*weights, taps, c.oc, c.oc);

  auto run = [=, inside = taps_inside(c)](int64_t slice, const Run &r) noexcept {
    const ConvPart whole = cut.by_destination(c, by_filters ? 0 : slice);
    const auto [first, last] = by_filters ? part(c.oc, count, slice, packed_panel) : std::pair{int64_t{0}, c.oc};
    const float *bias = c.bias ? r.in<float>(2) : nullptr;
    const float *panels = packed->floats();
    float *scratch = static_cast<float *>(r.scratch) + slice * floats;
    PackedGemm g{c.ow, 0, c.kw * c.c, nullptr, c.stride_w * c.c, nullptr, nullptr, 0, nullptr, c.oc};
    g.group_a = c.stride_h * row, g.group_c = c.ow * c.oc;
    g.parts = c.kh, g.part_a = c.dil_h * row;
    g.relu = c.epilogue.relu && inside.empty();
    for (int64_t n = whole.n0; n < whole.n1; ++n)
      for (int64_t y0 = whole.dst0; y0 < whole.dst1; y0 += rows) {
        ConvPart p = whole;
        p.dst0 = y0, p.dst1 = std::min(y0 + rows, whole.dst1);
        p = ConvCut::reading(c, p), p.pad_top = p.pad_bottom = 0;
        const float *src = r.in<float>(0) + (n * c.h + p.src0) * c.w * c.c;
        if (padded) pad_rows(c, p, src, scratch), src = scratch;
        float *dst = r.out<float>(0) + (n * c.oh + y0) * c.ow * c.oc;
        g.a = src + (y0 * c.stride_h - c.pad_top - p.src0) * row;
        g.groups = p.dst_rows(), g.used = inside.empty() ? nullptr : inside.data() + y0;
        for (int64_t j = first; j < last; j += packed_panel) {
          g.n = std::min(packed_panel, last - j), g.packed = panels + j * taps, g.d = bias ? bias + j : nullptr;
          g.c = dst + j;
          packed_gemm(g);
          if (c.epilogue && !g.relu) c.epilogue(g.c, g.groups * c.ow, g.n, c.oc);
        }
      }
  };
  return make_kernel("packed_conv" + (by_filters ? ", by filters" : cut.name()), count, run,
                     checked_mul(count, floats, 4));
}

}  // namespace dl4::kernels
