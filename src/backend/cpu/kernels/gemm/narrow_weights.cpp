// Packs narrow weights.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/kernels/gemm/narrow_gemm.hpp"
#include "base/error.hpp"

namespace dl4::kernels {
namespace {

constexpr int64_t panel = packed_panel;

int64_t rows_at_once(WeightType type) { return type == WeightType::int4 ? 8 : type == WeightType::int8 ? 4 : 1; }
int64_t bytes_at_once(WeightType type) { return type == WeightType::bfloat16 ? 2 * panel : 4 * panel; }
int64_t groups_of(WeightType type, int64_t k) {
  return type == WeightType::int4 ? std::max<int64_t>(1, (k + int4_group - 1) / int4_group) : 1;
}

// Address and strides of B.
struct Source {
  const float *data;
  int64_t row, column;
  float at(int64_t i, int64_t j) const { return data[i * row + j * column]; }
};

uint16_t to_bfloat16(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  if (std::isnan(v)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

void pack_bfloat16(const NarrowWeights &w, const Source &b) {
  for (int64_t j = 0; j < w.n; j += panel) {
    auto *to = reinterpret_cast<uint16_t *>(w.codes.as<std::byte>() + j * w.k * 2);
    const int64_t cols = std::min(panel, w.n - j);
    for (int64_t i = 0; i < w.k; ++i, to += panel)
      for (int64_t c = 0; c < cols; ++c) to[c % 16 * 2 + c / 16] = to_bfloat16(b.at(i, j + c));
  }
}

// Codes and scales of rows [first, last) of a panel's columns.
void pack_integers(const NarrowWeights &w, const Source &b, int64_t j, int64_t group, int64_t first, int64_t last) {
  const bool four = w.type == WeightType::int4;
  const int64_t cols = std::min(panel, w.n - j), whole = round_up(w.n, panel), once = rows_at_once(w.type);
  float largest[panel] = {}, factor[panel] = {};
  int32_t sums[panel] = {};
  for (int64_t i = first; i < last; ++i)
    for (int64_t c = 0; c < cols; ++c) {
      const float v = std::fabs(b.at(i, j + c));
      if (std::isnan(v) || v > largest[c]) largest[c] = v;  // NaN sticks: no comparison with it is true
    }
  const float most = four ? 7 : 127;
  for (int64_t c = 0; c < cols; ++c) {
    // The scale times its factors must stay finite.
    if (!(largest[c] <= 1e30f))
      fail(Code::invalid_argument, "weights in ", weight_type_names[static_cast<size_t>(w.type)],
           ": expected numbers between -1e30 and 1e30, got ", largest[c], " in column ", j + c);
    float scale = largest[c] / most;
    const bool zeros = scale < std::numeric_limits<float>::min();
    factor[c] = zeros ? 0 : most / largest[c];
    // int4 codes are multiplied in the upper halves of bytes, as 16 times their value.
    w.scales.as<float>()[group * whole + j + c] = zeros ? 0 : four ? scale / 16 : scale;
  }
  std::byte *to = w.codes.as<std::byte>() + j / panel * ((w.k + once - 1) / once) * 4 * panel;
  for (int64_t i = first; i < last; ++i)
    for (int64_t c = 0; c < cols; ++c) {
      const auto code = static_cast<int32_t>(std::nearbyint(b.at(i, j + c) * factor[c]));
      sums[c] += code;
      std::byte &place = to[i / once * 4 * panel + c * 4 + i % 4];
      if (four)
        place |= static_cast<std::byte>((code & 15) << (i % 8 < 4 ? 0 : 4));
      else
        place = static_cast<std::byte>(code);
    }
  for (int64_t c = 0; c < cols; ++c) w.offsets.as<int32_t>()[group * whole + j + c] = sums[c] * (four ? 16 * 128 : 128);
}

}  // namespace

int64_t narrow_bytes(WeightType type, int64_t k, int64_t n) {
  const int64_t once = rows_at_once(type), panels = (n + panel - 1) / panel;
  const int64_t codes = checked_mul(panels, (k + once - 1) / once, bytes_at_once(type));
  return type == WeightType::bfloat16 ? codes : checked_add(codes, checked_mul(groups_of(type, k), panels, panel, 8));
}

std::shared_ptr<const NarrowWeights> narrow_weights(const Constant &b, WeightType type, int64_t k, int64_t n,
                                                    int64_t ldb, bool transposed, int64_t first) {
  const auto name = weight_type_names[static_cast<size_t>(type)];
  auto form = b.packed(text(name, ' ', k, 'x', n, ' ', ldb, transposed ? " transposed" : "", " from ", first), [&] {
    auto w = std::make_shared<NarrowWeights>();
    w->type = type, w->k = k, w->n = n;
    w->bytes_at_once = multiplies_bytes();
    w->bytes = narrow_bytes(type, k, n);
    const Source from{b.data + first * (transposed ? ldb : 1), transposed ? 1 : ldb, transposed ? ldb : 1};
    const int64_t groups = groups_of(type, k), whole = round_up(n, panel);
    const int64_t tables = type == WeightType::bfloat16 ? 0 : checked_mul(groups, whole);
    w->codes = make_zeros(DType::u8, {w->bytes - checked_mul(tables, 8)});
    w->scales = make_zeros(DType::f32, {tables});
    w->offsets = make_zeros(DType::i32, {tables});
    if (type == WeightType::bfloat16) {
      pack_bfloat16(*w, from);
    } else {
      const int64_t step = type == WeightType::int4 ? int4_group : std::max<int64_t>(k, 1);
      for (int64_t j = 0; j < n; j += panel)
        for (int64_t g = 0; g < groups; ++g) pack_integers(*w, from, j, g, g * step, std::min(k, (g + 1) * step));
    }
    return w;
  });
  return std::static_pointer_cast<const NarrowWeights>(form);
}

}  // namespace dl4::kernels
