// Pixels are rounded once, in storage order: the taps of a window row become consecutive words.
#include "backend/cpu/kernels/conv/bf16_conv.hpp"

#include <algorithm>

#include "backend/cpu/kernels/conv/conv_cut.hpp"
#include "backend/cpu/kernels/conv/pixel_rows.hpp"
#include "backend/cpu/kernels/gemm/bf16_gemm.hpp"

namespace dl4::kernels {

std::unique_ptr<Kernel> bf16_conv(const Conv &c, int64_t slices, const Constant *weights) {
  if (c.groups != 1 || c.is_3d() || c.is_empty() || (c.kw > 1 && c.dil_w > 1)) return nullptr;
  if (c.pad_top < 0 || c.pad_left < 0) return nullptr;
  const bool padded = c.pad_left > 0 || c.pad_right > 0;
  const int64_t row = checked_mul(padded ? padded_width(c) : c.w, c.c), step = std::min(c.stride_h, c.kh);
  const int64_t taps = checked_mul(c.kh, c.kw, c.c), span = reach(c.kh, c.dil_h);
  for (int64_t numbers : {row, checked_mul(c.kw, c.c), checked_mul(c.stride_w, c.c)})
    if (numbers % 2 != 0) return nullptr;

  const int64_t rows = std::clamp<int64_t>(std::min(block_src / row / step, block_pixels / c.ow), 1, c.oh);
  const int64_t src_rows = std::min(c.h, checked_add(checked_mul(rows - 1, c.stride_h), span));
  const int64_t src_floats = round_up(checked_mul(src_rows, row), 32);
  if (src_floats > most_scratch) return nullptr;

  const int64_t panel_floats = packed_floats(taps, c.oc);
  auto lay_weights = [=](const float *from, float *panels) {
    pack_b(taps, c.oc, from, c.oc, false, panels);
    round_panels(taps, c.oc, panels);
  };
  std::shared_ptr<const Packed> form;
  if (weights)
    form = weights->packed(text("conv bf16 panels ", taps, 'x', c.oc, " in ", c.groups), [&] {
      auto all = std::make_shared<const PackedFloats>(panel_floats);
      lay_weights(weights->data, all->floats());
      return all;
    });
  const ConvCut cut(c, slices, c.oh);
  const int64_t each = checked_add(src_floats, form ? 0 : panel_floats);

  auto run = [=, inside = taps_inside(c)](int64_t slice, const Run &r) noexcept {
    const ConvPart whole = cut.by_destination(c, slice);
    float *const words = static_cast<float *>(r.scratch) + slice * each, *const panels = words + src_floats;
    if (!form) lay_weights(r.in<float>(1), panels);
    Bf16Gemm g{.m = c.ow, .n = c.oc, .k = c.kw * c.c, .lda = c.stride_w * c.c / 2, .ldc = c.oc};
    g.panels = form ? static_cast<const PackedFloats &>(*form).floats() : panels, g.panel_step = packed_panel * taps;
    g.d = c.bias ? r.in<float>(2) : nullptr;
    g.group_a = c.stride_h * row / 2, g.group_c = c.ow * c.oc;
    g.parts = c.kh, g.part_a = c.dil_h * row / 2;
    g.relu = c.epilogue.relu;
    for (int64_t n = whole.n0; n < whole.n1; ++n)
      for (int64_t y0 = whole.dst0; y0 < whole.dst1; y0 += rows) {
        ConvPart p = whole;
        p.dst0 = y0, p.dst1 = std::min(y0 + rows, whole.dst1);
        p = ConvCut::reading(c, p), p.pad_top = p.pad_bottom = 0;
        const float *src = r.in<float>(0) + (n * c.h + p.src0) * c.w * c.c;
        if (padded) pad_rows(c, p, src, words);
        const int64_t numbers = p.src_rows() * row;
        round_rows(1, numbers, padded ? words : src, numbers, words, numbers);
        g.a = words + (y0 * c.stride_h - c.pad_top - p.src0) * row / 2;
        g.c = r.out<float>(0) + (n * c.oh + y0) * c.ow * c.oc;
        g.groups = p.dst_rows(), g.used = inside.empty() ? nullptr : inside.data() + y0;
        bf16_gemm(g);
        if (c.epilogue && !g.relu) c.epilogue(g.c, g.groups * c.ow, c.oc, c.oc);
      }
  };
  return make_kernel("bf16_conv" + cut.name(), cut.slices, run, checked_mul(cut.slices, each, 4));
}

}  // namespace dl4::kernels
