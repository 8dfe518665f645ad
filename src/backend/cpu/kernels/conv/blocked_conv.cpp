// Convolution of any geometry as products of patches (im2col), packed block by block, and the weights of a group.
#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/patches.hpp"
#include "backend/cpu/kernels/gemm/by_blocks.hpp"
#include "backend/cpu/kernels/gemm/gemm.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"
#include "base/error.hpp"

namespace dl4::kernels {
namespace {

// 1x1 windows without strides, whose patches are the rows of the source.
bool is_plain(const Conv &c) {
  for (int64_t size : {c.kd, c.kh, c.kw, c.stride_d, c.stride_h, c.stride_w})
    if (size != 1) return false;
  return c.od == c.d && c.oh == c.h && c.ow == c.w;
}

}  // namespace

std::unique_ptr<Kernel> blocked_conv(const Conv &given, int64_t slices, const Constant *weights, int tiles) {
  if (given.is_empty()) return nullptr;
  Conv c = given;
  if (tiles) c.epilogue.relu = false;
  const int64_t taps = window_floats(c), in = c.c / c.groups, out = c.oc / c.groups;
  Gemm g{.batch = c.groups, .m = checked_mul(c.n, c.od, c.oh, c.ow), .n = out, .k = taps};
  // With more weights than pixels, each slice takes some of the filters and reads only their weights.
  const bool by_filters = out >= checked_mul(slices, packed_panel) && checked_mul(taps, out) > checked_mul(g.m, in);
  const GemmCut cut = kernels::cut(g, slices, by_filters ? g.m + 1 : 16, 1, packed_panel);
  const LaidProduct how(c.bfloat16, tiles);
  const Blocks most = how.blocks(g.m, g.n, g.k, g.k);
  const bool plain = is_plain(c) && !c.bfloat16;
  std::shared_ptr<const PackedFloats> form;
  if (weights)
    form = how.form(
        *weights, text(c.bfloat16 ? "conv bf16 panels " : "conv panels ", taps, 'x', c.oc, " in ", c.groups), c.groups,
        taps, out, [&](int64_t i, float *panels) { pack_b(taps, out, weights->data + i * out, c.oc, false, panels); });
  if (weights && !form) return nullptr;
  const int64_t a_floats = plain ? 0 : most.a_floats(), b_floats = form && !tiles ? 0 : round_up(most.b_floats(), 16);
  const int64_t each = round_up(checked_add(a_floats, b_floats, how.words(most)), 16);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    const GemmPart p = cut.part_of(g, slice);
    float *const room = static_cast<float *>(r.scratch) + slice * each, *const panels = room + a_floats;
    LaidProduct multiply = how;
    multiply.lie_at(panels + b_floats, most);
    const float *src = r.in<float>(0), *bias = c.bias ? r.in<float>(2) : nullptr;
    for (int64_t item = p.item0; item < p.item1; ++item) {
      const float *packed = form ? form->floats() + item * how.form_floats(taps, out) : nullptr;
      auto pack = [&](int64_t j, int64_t n, int64_t l, int64_t ks) {
        pack_b(ks, n, r.in<float>(1) + l * c.oc + item * out + j, c.oc, false, panels);
      };
      auto lay_weights = [&](int64_t j, int64_t n, int64_t l, int64_t ks) {
        if (packed) return multiply.take(packed, j, l, taps);
        pack(j, n, l, ks);
        multiply.panels(ks, n, panels);
      };
      auto pixels = [&](int64_t i, int64_t l) { return plain ? src + i * c.c + item * in + l : room; };
      auto lay_windows = [&](int64_t i, int64_t m, int64_t l, int64_t ks) {
        if (plain) return tiles ? multiply.tiles_of_rows(m, ks, pixels(i, l), c.c) : void();
        put_patches(c, src, item, i, m, l, l + ks, room, most.lda, [](int64_t) {});
        multiply.rows(m, ks, room, most.lda);
      };
      by_blocks(most, {p.row0, p.row1}, {p.col0, p.col1}, taps, lay_windows, lay_weights,
                [&](int64_t i, int64_t m, int64_t j, int64_t n, int64_t l, int64_t ks) {
                  float *to = r.out<float>(0) + i * c.oc + item * out + j;
                  if (packed && multiply.falls_back(l > 0)) pack(j, n, l, ks);
                  multiply(m, n, ks, pixels(i, l), plain ? c.c : most.lda,
                           packed && !tiles ? packed + j * taps : panels,
                           l                ? to
                           : bias && !tiles ? bias + item * out + j
                                            : nullptr,
                           l ? c.oc : 0, to, c.oc, c.epilogue.relu);
                  if (l + ks < taps) return;
                  if (bias && tiles) add_bias(bias + item * out + j, to, m, n, c.oc);
                  if (c.epilogue && !c.epilogue.relu) c.epilogue(to, m, n, c.oc);
                });
    }
  };
  return make_kernel(how.name("conv"), cut.slices, run, checked_mul(cut.slices, each, 4));
}

}  // namespace dl4::kernels
