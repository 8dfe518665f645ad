// Convolution of any geometry as products of its windows, laid out block by block, and the weights of a group.
#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/patches.hpp"
#include "backend/cpu/kernels/gemm/by_blocks.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"
#include "base/error.hpp"

namespace dl4::kernels {
namespace {

// Windows of a pixel, without steps: they lie in the source as rows.
bool is_plain(const Conv &c) {
  for (int64_t size : {c.kd, c.kh, c.kw, c.stride_d, c.stride_h, c.stride_w})
    if (size != 1) return false;
  return c.od == c.d && c.oh == c.h && c.ow == c.w;
}

}  // namespace

std::unique_ptr<Kernel> blocked_conv(const Conv &c, int64_t slices, const Constant *weights) {
  if (c.is_empty()) return nullptr;
  const int64_t taps = window_floats(c), in = c.c / c.groups, out = c.oc / c.groups;
  Gemm g{.batch = c.groups, .m = checked_mul(c.n, c.od, c.oh, c.ow), .n = out, .k = taps};
  // Where there are more weights than pixels, each slice takes some of the filters and reads their weights alone.
  const bool by_filters = out >= checked_mul(slices, packed_panel) && checked_mul(taps, out) > checked_mul(g.m, in);
  const GemmCut cut = kernels::cut(g, slices, by_filters ? g.m + 1 : 16, 1, packed_panel);
  const Blocks most(g.m, g.n, g.k, g.k);
  const bool plain = is_plain(c) && !c.bfloat16;
  const LaidProduct multiply{c.bfloat16};
  const int64_t form_floats = packed_floats(taps, out);  // of a group
  std::shared_ptr<const Packed> form;
  if (weights)
    form = weights->packed(text(c.bfloat16 ? "conv bf16 panels " : "conv panels ", taps, 'x', c.oc, " in ", c.groups),
                           [&] {
                             auto all = std::make_shared<const PackedFloats>(checked_mul(c.groups, form_floats));
                             for (int64_t i = 0; i < c.groups; ++i) {
                               pack_b(taps, out, weights->data + i * out, c.oc, false, all->floats() + i * form_floats);
                               multiply.panels(taps, out, all->floats() + i * form_floats);
                             }
                             return all;
                           });
  const int64_t a_floats = plain ? 0 : most.a_floats();
  const int64_t each = round_up(checked_add(a_floats, form ? 0 : most.b_floats()), 16);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    const GemmPart p = cut.part_of(g, slice);
    float *const room = static_cast<float *>(r.scratch) + slice * each, *const panels = room + a_floats;
    const float *src = r.in<float>(0), *bias = c.bias ? r.in<float>(2) : nullptr;
    for (int64_t item = p.item0; item < p.item1; ++item) {
      const float *packed = form ? static_cast<const PackedFloats &>(*form).floats() + item * form_floats : nullptr;
      auto lay_weights = [&](int64_t j, int64_t n, int64_t, int64_t) {
        if (packed) return;
        pack_b(taps, n, r.in<float>(1) + item * out + j, c.oc, false, panels);
        multiply.panels(taps, n, panels);
      };
      auto lay_windows = [&](int64_t i, int64_t m, int64_t, int64_t) {
        if (plain) return;
        put_patches(c, src, item, i, m, 0, taps, room, most.lda, [](int64_t) {});
        multiply.rows(m, taps, room, most.lda);
      };
      by_blocks(most, {p.row0, p.row1}, {p.col0, p.col1}, taps, lay_windows, lay_weights,
                [&](int64_t i, int64_t m, int64_t j, int64_t n, int64_t, int64_t) {
                  float *to = r.out<float>(0) + i * c.oc + item * out + j;
                  multiply(m, n, taps, plain ? src + i * c.c + item * in : room, plain ? c.c : most.lda,
                           packed ? packed + j * taps : panels, bias ? bias + item * out + j : nullptr, 0, to, c.oc,
                           c.epilogue.relu);
                  if (c.epilogue && !c.epilogue.relu) c.epilogue(to, m, n, c.oc);
                });
    }
  };
  return make_kernel(c.bfloat16 ? "bf16_conv" : "blocked_conv", cut.slices, run, checked_mul(cut.slices, each, 4));
}

}  // namespace dl4::kernels
