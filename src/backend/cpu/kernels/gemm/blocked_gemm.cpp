// Products of any two matrices; every run packs the panels.
#include "backend/cpu/kernels/gemm/by_blocks.hpp"
#include "backend/cpu/kernels/gemm/gemm.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"

namespace dl4::kernels {

Gemm dense(const Gemm &g) {
  Gemm d = g;
  if (!d.lda) d.lda = d.trans_a ? d.m : d.k;
  if (!d.ldb) d.ldb = d.trans_b ? d.k : d.n;
  if (!d.ldc) d.ldc = d.n;
  // Leading dimensions of empty matrices are still at least 1.
  d.lda = std::max<int64_t>(1, d.lda);
  d.ldb = std::max<int64_t>(1, d.ldb);
  d.ldc = std::max<int64_t>(1, d.ldc);
  bool rows_follow = !d.trans_a && d.stride_a == checked_mul(d.m, d.lda) && d.stride_c == checked_mul(d.m, d.ldc);
  if (d.batch > 1 && d.stride_b == 0 && rows_follow) {  // one taller product
    d.m = checked_mul(d.m, d.batch);
    d.batch = 1;
  }
  if (d.batch == 1) d.stride_a = d.stride_b = d.stride_c = 0;
  return d;
}

namespace {

// All of B in panels of words, without the unused half that rounding in place leaves.
std::shared_ptr<const Packed> rounded_panels(const Gemm &g, const Constant &b) {
  return b.packed(text("bf16 panels ", g.k, 'x', g.n, ' ', g.ldb, g.trans_b ? " transposed" : ""), [&] {
    const int64_t words = checked_mul((g.k + 1) / 2, packed_panel);
    auto panels = std::make_shared<const PackedFloats>(checked_mul(words, round_up(g.n, packed_panel) / packed_panel));
    const PackedFloats one(packed_floats(g.k, packed_panel));
    for (int64_t j = 0; j < g.n; j += packed_panel) {
      const int64_t n = std::min(packed_panel, g.n - j);
      pack_b(g.k, n, b.data + (g.trans_b ? j * g.ldb : j), g.ldb, g.trans_b, one.floats());
      round_panels(g.k, n, one.floats());
      std::copy_n(one.floats(), words, panels->floats() + j / packed_panel * words);
    }
    return panels;
  });
}

}  // namespace

std::unique_ptr<Kernel> blocked_gemm(const Gemm &given, int64_t slices, const Constant *constant, int tiles) {
  constexpr int64_t most_k = 1024, page_floats = 1024, few_rows = 8;
  Gemm g = dense(given);
  if (g.k <= 0) return nullptr;
  const LaidProduct how(g.bfloat16, tiles);
  if (tiles) g.epilogue.relu = false;
  // A slice of rows packs all of B, so it takes many rows.
  const GemmCut cut = kernels::cut(g, slices, 64, tiles ? tile_rows : 12, packed_panel);
  Blocks most = how.blocks(g.m, g.n, g.k, most_k);
  std::shared_ptr<const Packed> form;
  const int64_t words = (g.k + 1) / 2;
  auto pack = [=](const float *b, int64_t j, int64_t n, int64_t l, int64_t ks, float *panels) {
    pack_b(ks, n, b + (g.trans_b ? j * g.ldb + l : l * g.ldb + j), g.ldb, g.trans_b, panels);
  };
  if (constant && tiles) {
    form = how.form(*constant, text(g.k, 'x', g.n, ' ', g.ldb, g.trans_b ? " transposed" : ""), 1, g.k, g.n,
                    [&](int64_t, float *panels) { pack(constant->data, 0, g.n, 0, g.k, panels); });
    if (!form) return nullptr;
  } else if (constant) {
    form = rounded_panels(g, *constant);
    most.cols = round_up(g.n, packed_panel);  // a block of A is packed once for all columns
  }
  // Rows that start at the same offset within a page evict each other from the L1 cache.
  const bool lays_a = g.trans_a || g.bfloat16 || (!tiles && g.lda % page_floats == 0 && g.m > few_rows);
  const int64_t a_floats = lays_a ? most.a_floats() : 0, b_floats = form && !tiles ? 0 : round_up(most.b_floats(), 16);
  const int64_t each = round_up(checked_add(a_floats, b_floats, how.words(most)), 16);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    const GemmPart p = cut.part_of(g, slice);
    float *const room = static_cast<float *>(r.scratch) + slice * each, *const panels = room + a_floats;
    LaidProduct multiply = how;
    multiply.lie_at(panels + b_floats, most);
    const float *laid = form ? static_cast<const PackedFloats &>(*form).floats() : nullptr;
    const float *bias = g.bias ? r.in<float>(2) : nullptr;
    for (int64_t item = p.item0; item < p.item1; ++item) {
      const float *a = r.in<float>(0) + item * g.stride_a, *b = r.in<float>(1) + item * g.stride_b;
      float *c = r.out<float>(0) + item * g.stride_c;
      auto lay_b = [&](int64_t j, int64_t n, int64_t l, int64_t ks) {
        if (laid) return multiply.take(laid, j, l, g.k);
        pack(b, j, n, l, ks, panels);
        multiply.panels(ks, n, panels);
      };
      auto lay_a = [&](int64_t i, int64_t m, int64_t l, int64_t ks) {
        if (tiles && !lays_a) return multiply.tiles_of_rows(m, ks, a + i * g.lda + l, g.lda);
        if (!lays_a) return;
        const int64_t dims[2] = {m, ks}, across[2] = {1, g.lda}, along[2] = {g.lda, 1}, to[2] = {most.lda, 1};
        copy_strided(sizeof(float), 2, dims, a + (g.trans_a ? l * g.lda + i : i * g.lda + l),
                     g.trans_a ? across : along, room, to);
        multiply.rows(m, ks, room, most.lda);
      };
      by_blocks(most, {p.row0, p.row1}, {p.col0, p.col1}, g.k, lay_a, lay_b,
                [&](int64_t i, int64_t m, int64_t j, int64_t n, int64_t l, int64_t ks) {
                  float *to = c + i * g.ldc + j;
                  const bool first = l == 0, last = l + ks == g.k, relu = last && g.epilogue.relu;
                  if (laid && multiply.falls_back(l > 0)) pack(b, j, n, l, ks, panels);
                  multiply(m, n, ks, lays_a ? room : a + i * g.lda + l, lays_a ? most.lda : g.lda,
                           laid && !tiles ? laid + j * words + l / 2 * packed_panel : panels,
                           !first           ? to
                           : bias && !tiles ? bias + j
                                            : nullptr,
                           first ? 0 : g.ldc, to, g.ldc, relu, laid ? words * packed_panel : 0);
                  // Tiles treat denormals in C as zeros.
                  if (last && bias && tiles) add_bias(bias + j, to, m, n, g.ldc);
                  if (last && g.epilogue && !relu) g.epilogue(to, m, n, g.ldc);
                });
    }
  };
  return make_kernel(how.name("gemm"), cut.slices, run, checked_mul(cut.slices, each, 4));
}

}  // namespace dl4::kernels
