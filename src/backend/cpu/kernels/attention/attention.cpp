// Attention by blocks of queries. Scores are stored transposed, a row per key, so that the softmax runs down columns
// and only queries are transposed.
#include "backend/cpu/kernels/attention/attention.hpp"

#include <algorithm>

#include "backend/cpu/kernels/gemm/amx_gemm.hpp"
#include "backend/cpu/kernels/gemm/small_gemm.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "base/checked.hpp"

#ifndef DL4_KERNELS_ATTENTION_WEIGHTS
#define DL4_KERNELS_ATTENTION_WEIGHTS
namespace dl4::kernels {
// The scores of a block, (keys, attention_block); the first `cols` columns are queries.
struct ScoreBlock {
  float *s;
  int64_t keys, cols;
  const uint8_t *mask;
  int64_t sees;  // keys visible to the first query; each next one sees one more. Past all keys unless causal
};
}  // namespace dl4::kernels
#endif

#include "backend/cpu/kernels/simd/simd.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/attention/attention.cpp"
#include "hwy/foreach_target.h"
#include "backend/cpu/kernels/simd/math-inl.hpp"
#include "backend/cpu/kernels/simd/sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dl4::kernels::HWY_NAMESPACE {
namespace {

template <int n>
struct Vectors {};

// f(column, vectors) over the columns, two vectors at a time. Columns past the last query are undefined.
template <class F>
HWY_INLINE void columns(const ScoreBlock &b, const F &f) {
  int64_t j = 0;
  for (; b.cols - j > lanes; j += 2 * lanes) f(j, Vectors<2>());
  if (j < b.cols) f(j, Vectors<1>());
}

// Over n keys from `first`: f(key) for keys visible to some query, others(key) for masked ones.
template <class F, class G>
HWY_INLINE void keys(const ScoreBlock &b, int64_t first, int64_t n, const F &f, const G &others) {
  if (!b.mask) {
    for (int64_t i = first; i < first + n; ++i) f(i);
    return;
  }
  for (int64_t i = first; i < first + n; ++i) {
    if (b.mask[i])
      f(i);
    else
      others(i);
  }
}

// Mask of the columns from j on that see key i.
HWY_INLINE auto seen(const ScoreBlock &b, int64_t i, int64_t j) {
  const VI column = hn::Iota(DI(), static_cast<int32_t>(j));
  const int64_t first = HWY_MIN(HWY_MAX(i - b.sees, -1), attention_block);
  return hn::RebindMask(D(), hn::Gt(column, hn::Set(DI(), static_cast<int32_t>(first))));
}
HWY_INLINE bool all_see(const ScoreBlock &b, int64_t i) { return i < b.sees; }

}  // namespace

// Replaces scores by exp(score - max), or 0 where masked.
void attention_weights(const ScoreBlock &b, float *max, float *sum) {
  columns(b, [&]<int n>(int64_t j, Vectors<n>) HWY_ATTR {
    V most[n];
    for (int64_t a = 0; a < n; ++a) most[a] = set(-infinity);
    keys(
        b, 0, b.keys,
        [&](int64_t i) HWY_ATTR {
          DL4_UNROLL
          for (int64_t a = 0; a < n; ++a) {
            V x = load(b.s + i * attention_block + j + a * lanes);
            if (!all_see(b, i)) x = hn::IfThenElse(seen(b, i, j + a * lanes), x, set(-infinity));
            most[a] = hn::Max(x, most[a]);  // NaN needs no care here: it reaches the sum
          }
        },
        [](int64_t) {});
    const auto few = [&](int64_t first, int64_t count) HWY_ATTR {
      Strip<n> total = zeros<n>();
      keys(
          b, first, count,
          [&](int64_t i) HWY_ATTR {
            DL4_UNROLL
            for (int64_t a = 0; a < n; ++a) {
              float *at = b.s + i * attention_block + j + a * lanes;
              V p = exp_negative(hn::Sub(load(at), most[a]));
              if (!all_see(b, i)) p = hn::IfThenElseZero(seen(b, i, j + a * lanes), p);
              total.v[a] = hn::Add(total.v[a], p);
              store(p, at);
            }
          },
          [&](int64_t i) HWY_ATTR {
            DL4_UNROLL
            for (int64_t a = 0; a < n; ++a) store(hn::Zero(D()), b.s + i * attention_block + j + a * lanes);
          });
      return total;
    };
    const Strip<n> total = by_halves<n>(0, b.keys, few);
    for (int64_t a = 0; a < n; ++a) {
      store(most[a], max + j + a * lanes);
      store(total.v[a], sum + j + a * lanes);
    }
  });
}

// Recomputes the normalised weights in s, and turns their gradient d into the gradient of the scores times `scale`.
void attention_weights_grad(const ScoreBlock &b, const float *max, const float *inverse, float scale, float *d) {
  const V by = set(scale);
  columns(b, [&]<int n>(int64_t j, Vectors<n>) HWY_ATTR {
    V most[n], part[n];
    for (int64_t a = 0; a < n; ++a) {
      most[a] = load(max + j + a * lanes);
      part[a] = load(inverse + j + a * lanes);
    }
    const auto few = [&](int64_t first, int64_t count) HWY_ATTR {
      Strip<n> sum = zeros<n>();
      keys(
          b, first, count,
          [&](int64_t i) HWY_ATTR {
            DL4_UNROLL
            for (int64_t a = 0; a < n; ++a) {
              const int64_t c = j + a * lanes, at = i * attention_block + c;
              V p = hn::Mul(exp_negative(hn::Sub(load(b.s + at), most[a])), part[a]), g = load(d + at);
              if (!all_see(b, i)) {
                p = hn::IfThenElseZero(seen(b, i, c), p);
                g = hn::IfThenElseZero(seen(b, i, c), g);
              }
              sum.v[a] = hn::MulAdd(p, g, sum.v[a]);
              store(p, b.s + at);
            }
          },
          [&](int64_t i) HWY_ATTR {
            DL4_UNROLL
            for (int64_t a = 0; a < n; ++a) {
              store(hn::Zero(D()), b.s + i * attention_block + j + a * lanes);
              store(hn::Zero(D()), d + i * attention_block + j + a * lanes);
            }
          });
      return sum;
    };
    const Strip<n> mean = by_halves<n>(0, b.keys, few);
    keys(
        b, 0, b.keys,
        [&](int64_t i) HWY_ATTR {
          DL4_UNROLL
          for (int64_t a = 0; a < n; ++a) {
            const int64_t c = j + a * lanes, at = i * attention_block + c;
            V g = hn::Mul(hn::Mul(load(b.s + at), hn::Sub(load(d + at), mean.v[a])), by);
            if (!all_see(b, i)) g = hn::IfThenElseZero(seen(b, i, c), g);
            store(g, d + at);
          }
        },
        [](int64_t) {});
  });
}

// Multiplies each row by its factor.
void scale_rows(float *y, int64_t rows, int64_t n, int64_t row, const float *factor) {
  for (int64_t i = 0; i < rows; ++i, y += row) {
    const V f = set(factor[i]);
    map(y, y, n, [=](V v) HWY_ATTR { return hn::Mul(v, f); });
  }
}

}  // namespace dl4::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dl4::kernels {
HWY_EXPORT(attention_weights);
HWY_EXPORT(attention_weights_grad);
HWY_EXPORT(scale_rows);

namespace {

constexpr int64_t block = attention_block;

// Transposes rows x n to (n, block) and scales.
void turn(const float *x, int64_t rows, int64_t n, int64_t row, float scale, float *y) {
  const int64_t dims[2] = {n, rows}, from[2] = {1, row}, to[2] = {block, 1};
  copy_strided(sizeof(float), 2, dims, x, from, y, to);
  if (scale == 1) return;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < rows; ++j) y[i * block + j] *= scale;
}

// Number of keys visible to queries [t, t + cols).
int64_t keys_for(const AttentionSizes &s, int64_t t, int64_t cols) {
  return s.causal ? std::min(s.keys, t + cols) : s.keys;
}

// Sums values by the weights of queries [t, t + cols). Values a causal query does not see must not be touched even with
// weight 0: they may be NaN.
void weigh(const AttentionSizes &s, const float *weights, int64_t keys, int64_t t, int64_t cols, const float *v,
           float *y) {
  auto sum = [&](int64_t i, int64_t rows, int64_t begin, int64_t end, const float *add) {
    small_gemm_at(rows, s.width, end - begin, weights + begin * block + i, block, v + begin * s.v_row, s.v_row, add,
                  s.y_row, y + i * s.y_row, s.y_row);
  };
  if (!s.causal || t >= keys) return sum(0, cols, 0, keys, nullptr);
  constexpr int64_t step = 8;
  for (int64_t i = 0; i < cols; i += step) {
    const int64_t rows = std::min(step, cols - i), shared = std::min(keys, t + i);
    sum(i, rows, 0, shared, nullptr);
    for (int64_t r = i; r < i + rows; ++r) sum(r, 1, shared, std::min(keys, t + r + 1), y + r * s.y_row);
  }
}

// Packs columns of x [n, width] as rows in tiles. room: for 16 of them.
void lay_turned(const float *x, int64_t n, int64_t width, int64_t row, float *room, TileRows &to) {
  to.k = n, to.fit = true;
  for (int64_t i = 0; i < width; i += tile_rows) {
    const int64_t dims[2] = {std::min(tile_rows, width - i), n}, from[2] = {1, row}, side_by_side[2] = {n, 1};
    copy_strided(sizeof(float), 2, dims, x + i, from, room, side_by_side);
    to.fit &= lay_tile_rows(dims[0], n, room, n, to.words + tile_words(i, n));
  }
}

int64_t turned_floats(const AttentionSizes &s) {
  return checked_mul(block, s.tiles ? std::max(s.depth, s.width) : s.depth);
}

}  // namespace

// Transposed queries, scores and two values per query; the gradient also needs transposed dy and the scores' gradient.
// With tiles, also keys and values, plain and transposed, and the other operands.
int64_t attention_forward_scratch(const AttentionSizes &s) {
  const int64_t floats = checked_add(turned_floats(s), checked_mul(block, checked_add(s.keys, 2)));
  if (!s.tiles) return floats;
  return checked_add(floats, tile_words(s.keys, s.depth), tile_words(s.width, s.keys),
                     tile_words(block, std::max(s.keys, s.depth)));
}
int64_t attention_backward_scratch(const AttentionSizes &s) {
  const int64_t floats = checked_mul(block, checked_add(s.depth, s.width, s.keys, s.keys, 2));
  if (!s.tiles) return floats;
  return checked_add(floats, tile_words(s.keys, s.depth), tile_words(s.depth, s.keys), tile_words(s.keys, s.width),
                     checked_add(tile_words(s.keys, block), tile_words(block, std::max({s.keys, s.depth, s.width}))));
}

void attention_forward(const AttentionSizes &s, const AttentionForward &f, int64_t begin, int64_t end,
                       float *scratch) noexcept {
  float *turned = scratch, *scores = turned + turned_floats(s), *max = scores + block * s.keys, *sum = max + block;
  TileRows k_rows{s.tiles}, v_columns{s.tiles};
  uint32_t *room = nullptr;
  if (s.tiles) {
    const int64_t seen = keys_for(s, begin, end - begin);
    k_rows.words = reinterpret_cast<uint32_t *>(sum + block);
    v_columns.words = k_rows.words + tile_words(s.keys, s.depth);
    room = v_columns.words + tile_words(s.width, s.keys);
    k_rows.lay(seen, s.depth, f.k, s.k_row);
    if (f.y) lay_turned(f.v, seen, s.width, s.v_row, scores, v_columns);
  }
  for (int64_t t = begin; t < end; t += block) {
    const int64_t cols = std::min(block, end - t), keys = keys_for(s, t, cols);
    turn(f.q + t * s.q_row, cols, s.depth, s.q_row, s.scale, turned);
    if (!k_rows.multiply(keys, cols, s.depth, turned, block, room, false, scores, block))
      small_gemm(keys, cols, s.depth, f.k, s.k_row, turned, block, nullptr, 0, scores, block);
    HWY_DYNAMIC_DISPATCH(attention_weights)({scores, keys, cols, f.mask, s.causal ? t + 1 : s.keys}, max, sum);
    if (f.max) std::copy_n(max, cols, f.max + t);
    if (f.sum) std::copy_n(sum, cols, f.sum + t);
    if (!f.y) continue;
    float *y = f.y + t * s.y_row;
    if (v_columns.multiply(s.width, cols, keys, scores, block, room, false, turned, block)) {
      const int64_t dims[2] = {cols, s.width}, from[2] = {1, block}, to[2] = {s.y_row, 1};
      copy_strided(sizeof(float), 2, dims, turned, from, y, to);
    } else {
      weigh(s, scores, keys, t, cols, f.v, y);
    }
    for (int64_t i = 0; i < cols; ++i) sum[i] = sum[i] == 0 ? 0 : 1 / sum[i];
    HWY_DYNAMIC_DISPATCH(scale_rows)(y, cols, s.width, s.y_row, sum);
  }
}

void attention_backward(const AttentionSizes &s, const AttentionBackward &b, float *scratch) noexcept {
  float *q_turned = scratch, *dy_turned = q_turned + block * s.depth, *weights = dy_turned + block * s.width,
        *diffs = weights + block * s.keys, *max = diffs + block * s.keys, *inverse = max + block;
  TileRows k_rows{s.tiles}, k_columns{s.tiles}, v_rows{s.tiles}, of_keys{s.tiles};
  uint32_t *room = nullptr;
  if (s.tiles) {
    k_rows.words = reinterpret_cast<uint32_t *>(inverse + block);
    k_columns.words = k_rows.words + tile_words(s.keys, s.depth);
    v_rows.words = k_columns.words + tile_words(s.depth, s.keys);
    of_keys.words = v_rows.words + tile_words(s.keys, s.width);
    room = of_keys.words + tile_words(s.keys, block);
    k_rows.lay(s.keys, s.depth, b.k, s.k_row);
    v_rows.lay(s.keys, s.width, b.v, s.v_row);
    if (b.dq) lay_turned(b.k, s.keys, s.depth, s.k_row, weights, k_columns);
  }
  // Sums that floats were added to continue in floats: tiles treat denormals as zeros.
  bool v_tiles = s.tiles > 0, k_tiles = v_tiles;
  for (int64_t t = 0; t < s.queries; t += block) {
    const int64_t cols = std::min(block, s.queries - t), keys = keys_for(s, t, cols);
    const float *q = b.q + t * s.q_row, *dy = b.dy + t * s.y_row;
    turn(q, cols, s.depth, s.q_row, s.scale, q_turned);
    turn(dy, cols, s.width, s.y_row, 1, dy_turned);
    if (!k_rows.multiply(keys, cols, s.depth, q_turned, block, room, false, weights, block))
      small_gemm(keys, cols, s.depth, b.k, s.k_row, q_turned, block, nullptr, 0, weights, block);
    if (!v_rows.multiply(keys, cols, s.width, dy_turned, block, room, false, diffs, block))
      small_gemm(keys, cols, s.width, b.v, s.v_row, dy_turned, block, nullptr, 0, diffs, block);
    std::copy_n(b.max + t, cols, max);
    for (int64_t i = 0; i < cols; ++i) inverse[i] = b.sum[t + i] == 0 ? 0 : 1 / b.sum[t + i];
    HWY_DYNAMIC_DISPATCH(attention_weights_grad)
    ({weights, keys, cols, b.mask, s.causal ? t + 1 : s.keys}, max, inverse, s.scale, diffs);
    // Adds these queries' share to the gradient of each key.
    auto give = [&](const float *from, int64_t n, const float *x, int64_t x_row, float *d, int64_t d_row, bool &tiles) {
      if (tiles) of_keys.lay(keys, cols, from, block);
      tiles = tiles && of_keys.multiply(keys, n, cols, x, x_row, room, true, d, d_row);
      if (!tiles) small_gemm(keys, n, cols, from, block, x, x_row, d, d_row, d, d_row);
    };
    if (b.dv) give(weights, s.width, dy, s.y_row, b.dv, s.v_row, v_tiles);
    if (b.dk) give(diffs, s.depth, q, s.q_row, b.dk, s.k_row, k_tiles);
    float *dq = b.dq ? b.dq + t * s.q_row : nullptr;
    if (!dq) continue;
    if (k_columns.multiply(s.depth, cols, keys, diffs, block, room, false, q_turned, block)) {
      for (int64_t i = 0; i < cols; ++i)
        for (int64_t j = 0; j < s.depth; ++j) dq[i * s.q_row + j] += q_turned[j * block + i];
    } else {
      small_gemm_at(cols, s.depth, keys, diffs, block, b.k, s.k_row, dq, s.q_row, dq, s.q_row);
    }
  }
}

}  // namespace dl4::kernels
#endif
