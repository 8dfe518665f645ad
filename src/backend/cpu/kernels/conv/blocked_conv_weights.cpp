// The weight gradient of a convolution as a product of the transposed destination gradient and the patches. The result
// is transposed too, so that patches are packed along their rows.
#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/patches.hpp"
#include "backend/cpu/kernels/gemm/by_blocks.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "backend/cpu/kernels/reduce/reduce.hpp"

namespace dl4::kernels {

std::unique_ptr<Kernel> blocked_conv_weights(const Conv &c, int64_t slices, int tiles) {
  constexpr int64_t most_k = 512;
  if (c.is_empty()) return nullptr;
  const int64_t out = c.oc / c.groups, pixels = checked_mul(c.n, c.od, c.oh, c.ow);
  const Gemm g{.batch = c.groups, .m = out, .n = window_floats(c), .k = pixels};
  // A slice of filters would pack all patches, so slices share them instead.
  const bool by_taps = g.n >= checked_mul(slices, packed_panel);
  const GemmCut cut = kernels::cut(g, slices, by_taps ? g.m + 1 : 4, 1, packed_panel);
  const LaidProduct how(c.bfloat16, tiles);
  const Blocks most = how.blocks(g.m, g.n, g.k, most_k);
  int64_t widest = 0;  // numbers in a slice's sums
  for (int64_t s = 0; s < cut.slices; ++s) {
    const GemmPart p = cut.part_of(g, s);
    widest = std::max(widest, checked_mul(p.rows(), p.cols()));
  }
  const int64_t a_floats = round_up(most.a_floats(), 16), b_floats = round_up(most.b_floats(), 16);
  const int64_t row_floats = round_up(most.cols, 16);
  widest = round_up(widest, 16);
  const int64_t each = checked_add(a_floats, b_floats, row_floats, checked_add(widest, how.words(most)));
  auto run = [=](int64_t slice, const Run &r) noexcept {
    const GemmPart p = cut.part_of(g, slice);
    const float *src = r.in<float>(0), *diff_dst = r.in<float>(1);
    float *const room = static_cast<float *>(r.scratch) + slice * each, *const panels = room + a_floats;
    float *const window = panels + b_floats, *const sums = window + row_floats;
    LaidProduct multiply = how;
    multiply.lie_at(sums + widest, most);
    if (float *diff_bias = c.bias ? r.out<float>(1) : nullptr) {
      const auto [first, last] = part(c.oc, cut.slices, slice, 16);
      if (first < last) reduce(Reduce::sum, diff_dst + first, diff_bias + first, 1, pixels, last - first, c.oc);
    }
    if (!r.out<float>(0)) return;
    for (int64_t item = p.item0; item < p.item1; ++item) {
      const float *of_group = diff_dst + item * out;
      by_blocks(
          most, {p.row0, p.row1}, {p.col0, p.col1}, pixels,
          [&](int64_t i, int64_t m, int64_t l, int64_t ks) {
            const int64_t dims[2] = {m, ks}, across[2] = {1, c.oc}, to[2] = {most.lda, 1};
            copy_strided(sizeof(float), 2, dims, of_group + l * c.oc + i, across, room, to);
            multiply.rows(m, ks, room, most.lda);
          },
          [&](int64_t j, int64_t n, int64_t l, int64_t ks) {
            const int64_t width = round_up(n, packed_panel);
            if (width == packed_panel) {
              auto pad = [&](int64_t row) { put_zeros(panels + row * packed_panel + n, packed_panel - n); };
              put_patches(c, src, item, l, ks, j, j + n, panels, packed_panel, pad);
            } else {
              put_zeros(window + n, width - n);
              put_patches(c, src, item, l, ks, j, j + n, window, 0, [&](int64_t row) {
                for (int64_t col = 0; col < width; col += packed_panel)
                  std::copy_n(window + col, packed_panel, panels + col * ks + row * packed_panel);
              });
            }
            multiply.panels(ks, n, panels);
          },
          [&](int64_t i, int64_t m, int64_t j, int64_t n, int64_t l, int64_t ks) {
            float *to = sums + (i - p.row0) * p.cols() + j - p.col0;
            multiply(m, n, ks, room, most.lda, panels, l ? to : nullptr, p.cols(), to, p.cols());
          });
      const int64_t dims[2] = {p.cols(), p.rows()}, across[2] = {1, p.cols()}, to[2] = {c.oc, 1};
      copy_strided(sizeof(float), 2, dims, sums, across, r.out<float>(0) + p.col0 * c.oc + item * out + p.row0, to);
    }
  };
  return make_kernel(how.name("conv_weights"), cut.slices, run, checked_mul(cut.slices, each, 4));
}

}  // namespace dl4::kernels
