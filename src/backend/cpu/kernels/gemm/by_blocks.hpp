// Products whose sides are packed block by block into scratch: B in panels, A in rows. Shared by general products and
// by convolutions of any geometry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/cpu/kernels/gemm/amx_gemm.hpp"
#include "backend/cpu/kernels/gemm/bf16_gemm.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "base/error.hpp"

namespace dl4::kernels {

// Block sizes: a block of A and the panels of B fit the L2 cache together.
struct Blocks {
  int64_t rows, cols, ks;
  int64_t lda;  // row stride of a block of A, such that rows start in different lines of the L1 cache

  // For [m, k] by [k, n]. most_k: largest block of k. Blocks start at multiples of row_step rows and of k_step.
  Blocks(int64_t m, int64_t n, int64_t k, int64_t most_k, int64_t row_step = 12, int64_t k_step = 8) {
    const int64_t cuts = k > most_k ? (k + most_k - 1) / most_k : 1;
    ks = cuts == 1 ? k : std::min(k, round_up((k + cuts - 1) / cuts, k_step));
    cols = std::min(round_up(n, packed_panel), std::max(2 * packed_panel, most_b / std::max<int64_t>(ks, 1) / 32 * 32));
    rows = std::min(m, std::max<int64_t>(2 * row_step, most_a / std::max<int64_t>(ks, 1) / row_step * row_step));
    lda = checked_add(round_up(ks, 16), 16);  // and hence at least ks rounded up to 32
  }
  int64_t a_floats() const { return checked_mul(round_up(rows, 16), lda); }
  int64_t b_floats() const { return checked_mul(cols, ks); }

 private:
  static constexpr int64_t most_a = 1 << 16, most_b = 1 << 17;  // floats
};

// How packed blocks are multiplied: as floats; rounded to bfloat16 in place; or as part products by tiles where the
// numbers fit (amx_gemm.hpp). Tiles are stored after the blocks of a slice.
class LaidProduct {
  struct Form : PackedFloats {
    using PackedFloats::PackedFloats;
    bool fits = true;
  };

 public:
  LaidProduct(bool bfloat16, int tiles) : bfloat16_(bfloat16), tiles_(tiles) {}

  std::string name(const char *what) const { return text(tiles_ ? "amx_" : bfloat16_ ? "bf16_" : "blocked_", what); }
  // most_k: for products without tiles.
  Blocks blocks(int64_t m, int64_t n, int64_t k, int64_t most_k) const {
    return tiles_ ? Blocks(m, n, k, most_tile_k, tile_rows, tile_ks) : Blocks(m, n, k, most_k);
  }
  int64_t words(const Blocks &most) const {
    return tiles_ ? round_up(checked_add(tile_words(most.rows, most.ks), tile_words(most.cols, most.ks)), 16) : 0;
  }
  void lie_at(float *words, const Blocks &most) noexcept {
    a_words_ = reinterpret_cast<uint32_t *>(words);
    b_words_ = a_words_ + (tiles_ ? tile_words(most.rows, most.ks) : 0);
  }

  void rows(int64_t m, int64_t k, float *a, int64_t lda) noexcept {
    if (bfloat16_) round_rows(m, k, a, lda, a, lda);
    if (tiles_) tiles_of_rows(m, k, a, lda);
  }
  // For rows that must not be changed in place.
  void tiles_of_rows(int64_t m, int64_t k, const float *a, int64_t lda) noexcept {
    rows_fit_ = lay_tile_rows(m, k, a, lda, a_words_);
  }
  void panels(int64_t k, int64_t n, float *b) noexcept {
    if (bfloat16_) round_panels(k, n, b);
    if (!tiles_) return;
    columns_fit_ = lay_panels(k, n, b, b_words_);
    b_ = b_words_, b_k_ = k;
  }

  // Constant panels in the format they are multiplied in, `groups` of them.
  int64_t form_floats(int64_t k, int64_t n) const {
    return tiles_ ? tile_words(round_up(n, packed_panel), k) : packed_floats(k, n);
  }
  // pack(group, panels) packs the panels of a group. Returns nullptr if they do not fit.
  template <class Pack>
  std::shared_ptr<const PackedFloats> form(const Constant &b, const std::string &key, int64_t groups, int64_t k,
                                           int64_t n, const Pack &pack) const {
    auto found = std::static_pointer_cast<const PackedFloats>(b.packed(text(tiles_ ? "tiles of " : "", key), [&] {
      auto all = std::make_shared<Form>(checked_mul(groups, form_floats(k, n)));
      const PackedFloats one(tiles_ ? packed_floats(k, n) : 0);
      for (int64_t i = 0; i < groups; ++i) {
        float *const to = all->floats() + i * form_floats(k, n), *const panels = tiles_ ? one.floats() : to;
        pack(i, panels);
        if (bfloat16_) round_panels(k, n, panels);
        if (tiles_) all->fits &= lay_panels(k, n, panels, reinterpret_cast<uint32_t *>(to));
      }
      return all;
    }));
    return tiles_ && !static_cast<const Form &>(*found).fits ? nullptr : found;
  }
  // Selects from a form with columns of k numbers the block at column j and number l.
  void take(const float *form, int64_t j, int64_t l, int64_t k) noexcept {
    if (!tiles_) return;
    b_ = reinterpret_cast<const uint32_t *>(form) + tile_words(j, k) + tile_words(tile_rows, l), b_k_ = k;
    columns_fit_ = true;
  }
  // Whether the blocks are multiplied as floats although there are tiles. Sums that floats were added to continue in
  // floats: tiles would treat denormal sums as zeros.
  bool falls_back(bool add) const { return tiles_ && (!(rows_fit_ && columns_fit_) || (add && fell_back_)); }

  // As packed_gemm(). panel_step: distance of panels where b is a part of them. With tiles D is C or nothing, and relu
  // is not applied.
  void operator()(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, const float *d,
                  int64_t ldd, float *c, int64_t ldc, bool relu = false, int64_t panel_step = 0) noexcept {
    if (bfloat16_)
      return bf16_gemm({m, n, k, a, lda, b, d, ldd, c, ldc, relu, panel_step ? panel_step : packed_panel * k});
    const bool adds = d != nullptr, by_tiles = tiles_ && !falls_back(adds);
    if (by_tiles) return tile_gemm({tiles_, m, n, k, a_words_, b_, k, b_k_, adds, c, ldc});
    packed_gemm(m, n, k, a, lda, b, d, ldd, c, ldc, relu);
    fell_back_ = true;
  }

 private:
  static bool lay_panels(int64_t k, int64_t n, const float *b, uint32_t *to) noexcept {
    bool fit = true;
    for (int64_t j = 0; j < n; j += packed_panel)
      fit &= lay_tile_columns(k, std::min(packed_panel, n - j), b + j * k, packed_panel, to + tile_words(j, k));
    return fit;
  }

  bool bfloat16_;
  int tiles_;
  uint32_t *a_words_ = nullptr, *b_words_ = nullptr;
  const uint32_t *b_ = nullptr;
  int64_t b_k_ = 0;
  bool rows_fit_ = false, columns_fit_ = false, fell_back_ = false;
};

struct BlockRange {
  int64_t first, last;
};

// Loops over blocks of columns, k and rows: b(column, columns, k, ks) packs or selects the columns, a(row, rows, k, ks)
// packs the rows, multiply(row, rows, column, columns, k, ks) multiplies them.
template <class A, class B, class Multiply>
void by_blocks(const Blocks &most, BlockRange rows, BlockRange cols, int64_t k, const A &a, const B &b,
               const Multiply &multiply) {
  for (int64_t l = 0; l < k; l += most.ks) {
    const int64_t ks = std::min(most.ks, k - l);
    for (int64_t j = cols.first; j < cols.last; j += most.cols) {
      const int64_t n = std::min(most.cols, cols.last - j);
      b(j, n, l, ks);
      for (int64_t i = rows.first; i < rows.last; i += most.rows) {
        const int64_t m = std::min(most.rows, rows.last - i);
        a(i, m, l, ks);
        multiply(i, m, j, n, l, ks);
      }
    }
  }
}

}  // namespace dl4::kernels
